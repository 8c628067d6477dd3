"""What an exported agent says of itself: `README.md`, a model card as hubs of models read it, and `config.json`.

Not here: who asks for it (`pipeline.experiments.exports.folder`), scores (`pipeline.results`).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from pipeline.config.run_config import RunConfig
from pipeline.config.tree import to_yaml
from pipeline.rows import RANDOM, HowPlayed
from pipeline.settings import as_settings

FORMAT = 1
"""Of `config.json`."""

_OF_PICTURES = ("fire_on_reset", "max_pool", "frame_height", "frame_width", "stack")
"""Settings of the games that no row tells, and that whoever plays needs. Only training clips rewards and ends returns
with a life."""


class Exported(NamedTuple):
    """What the texts are made of."""

    config: RunConfig
    version: int
    """Updates behind the parameters."""
    total_frames: int
    """Emulator frames of training behind them."""
    commit: str | None
    """Of the code that trained."""
    action_meanings: tuple[str, ...]
    played: HowPlayed
    """How the run's final evaluation is played."""
    files: Mapping[str, str]
    """Format -> name of its file."""
    distances: Mapping[str, float]
    """Format -> how far its answers lay from the agent's when it was loaded again."""
    scores: Sequence[Mapping[Any, Any]]
    """Rows of `run_scores` of these parameters."""


def config_of(exported: Exported) -> dict[str, Any]:
    """What a program needs to use the files: shapes, actions, and how the games look."""
    config = exported.config
    evaluation = config.evaluation
    pictures = {name: getattr(evaluation.environment, name) for name in _OF_PICTURES}
    height_width = (config.environment.frame_height, config.environment.frame_width)
    channels = config.environment.stack * (1 if config.environment.grey else 3)
    return {
        "format": FORMAT,
        "library": "pytorch",
        "experiment": config.experiment,
        "algorithm": config.algorithm.kind,
        "game": config.game,
        "seed": config.seed,
        "version": exported.version,
        "total_frames": exported.total_frames,
        "commit": exported.commit,
        "network": as_settings(config.network),
        "num_actions": len(exported.action_meanings),
        "action_meanings": list(exported.action_meanings),
        "input": {
            "name": "frames",
            "dtype": "uint8",
            "shape": ["batch", channels, *height_width],
            "range": [0, 255],
            "order": "the stack's frames as channels, the oldest first; three a frame for RGB",
            "scaling": "inside the model: divided by 255",
            "centring": getattr(config.network, "centred_pixels", None),
        },
        "output": ["values"] if config.network.answers == "q" else ["logits", "value"],
        "stack": config.environment.stack,
        "size": list(height_width),
        "grey": config.environment.grey,
        "protocol": {
            "name": evaluation.protocol,
            "num_episodes": evaluation.num_episodes,
            **asdict(exported.played),
            **pictures,
        },
        "files": dict(exported.files),
    }


def card(exported: Exported) -> str:
    """The model card."""
    config = exported.config
    name = f"{config.experiment} on {config.game}, seed {config.seed}"
    parts = [
        _front_matter(exported),
        f"# {name}\n\nAn agent for the Atari game {config.game}, trained by `{config.experiment}` "
        f"({config.algorithm.kind}) for {exported.total_frames:,} emulator frames; parameters of update "
        f"{exported.version:,}. Trained with code of commit {exported.commit or 'unknown'}.",
        "## Score\n\n" + _scores(exported),
        "## What it sees and does\n\n" + _interface(exported),
        "## Loading\n\n" + "\n\n".join(_LOADING[form] for form in exported.files),
        "## Files\n\n" + _files(exported),
        "## Licence\n\nNobody has given these parameters a licence yet: add yours to this page and its front matter. "
        "The code that trained them is MIT. The games are played with ale-py, which is GPL-2.0-only; the files here "
        "hold nothing of it, nor of a game's ROM.",
        "## Configuration\n\n```yaml\n" + to_yaml(config).rstrip() + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(exported: Exported) -> str:
    config = exported.config
    results = [
        {
            "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
            "dataset": {"name": f"ALE/{config.game}", "type": "atari"},
            "metrics": [
                {
                    "type": "mean_reward",
                    "name": f"mean score of {row['episodes']} games, {row['protocol']}, {row['entry']}",
                    "value": round(float(row["score"]), 2),
                    "verified": False,
                }
            ],
        }
        for row in exported.scores
        if row["agent"] != RANDOM
    ]
    fields = {
        "library_name": "pytorch",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "deep-reinforcement-learning", "atari", config.game, config.experiment],
        "metrics": ["mean_reward"],
        "model-index": [{"name": f"{config.experiment}-{config.game}-{config.seed}", "results": results}],
    }
    # JSON is YAML.
    return "\n".join(["---", *(f"{name}: {json.dumps(value)}" for name, value in fields.items()), "---"])


def _scores(exported: Exported) -> str:
    if not exported.scores:
        return "These parameters were not evaluated."
    lines = ["| player | protocol | score | 95 % interval | games | frames |", "|---|---|---|---|---|---|"]
    for row in exported.scores:
        low, high = float(row["low"]), float(row["high"])
        interval = "unknown" if math.isnan(low) else f"[{low:,.1f}, {high:,.1f}]"
        frames = "-" if row["agent"] == RANDOM else f"{row['total_frames']:,}"
        lines.append(
            f"| {row['entry']} | {row['protocol']} | {row['score']:,.1f} | {interval} | {row['episodes']} | {frames} |"
        )
    differing = sorted({f"{row['protocol']}: {row['differs']}" for row in exported.scores if row["differs"]})
    differs = "".join(f"\n- not as published scores are played: {line}" for line in differing)
    return "\n".join(lines) + (
        f"\n\n- One run, training seed {exported.config.seed}: another seed may learn more or less. The interval is "
        f"over its games, each with an emulator seed of its own, as `evaluations.csv` says.{differs}"
    )


def _interface(exported: Exported) -> str:
    facts = config_of(exported)
    of_input, protocol = facts["input"], facts["protocol"]
    answers = (
        "the value of each action, (batch, num_actions)"
        if facts["output"] == ["values"]
        else "the policy's logits, (batch, num_actions), and the value of the state, (batch)"
    )
    return "\n".join(
        [
            f"- In: `frames`, uint8, {of_input['shape']}, 0 to 255; {of_input['order']}. The model scales them itself.",
            f"- Out: {answers}.",
            f"- Actions: {', '.join(f'{index} {name}' for index, name in enumerate(exported.action_meanings))}.",
            f"- Protocol {protocol['name']}: epsilon {protocol['epsilon']:g}, "
            + ", ".join(f"{name} {value}" for name, value in protocol.items() if name not in ("name", "epsilon"))
            + ".",
        ]
    )


def _files(exported: Exported) -> str:
    lines = ["| file | what |", "|---|---|", "| `config.json` | shapes, actions, protocol, network |"]
    lines.append("| `evaluations.csv` | each game of the table above, with its seed |")
    for form, file in exported.files.items():
        apart = f"answers at most {exported.distances[form]:.1e} from the agent's when it was loaded again"
        lines.append(f"| `{file}` | {form}; {apart} |")
    return "\n".join(lines)


_LOADING: Mapping[str, str] = {
    "safetensors": """\
The tensors have the names and the order of an ordinary `torch.nn.Module`, the one that `as_module` gives.

```python
from safetensors.torch import load_file

module = api.load_policy("results/runs/…").as_module()  # or layers of yours of these shapes
module.load_state_dict(load_file("model.safetensors"))
```""",
    "pt2": """\
```python
import torch

model = torch.export.load("model.pt2").module()
answer = model(torch.zeros(1, *shape, dtype=torch.uint8))  # shape: "input" of config.json
```""",
    "torchscript": """\
```python
import torch

model = torch.jit.load("model.torchscript")  # or torch::jit::load in C++
answer = model(torch.zeros(1, *shape, dtype=torch.uint8))  # shape: "input" of config.json
```""",
    "onnx": """\
```python
import onnxruntime

session = onnxruntime.InferenceSession("model.onnx")
answer = session.run(None, {"frames": frames})  # uint8, as config.json says
```""",
}
"""Format -> what to type."""
