"""`python -m pipeline.export run=results/runs/gorila/Breakout/0 format=safetensors,onnx`: an agent for other programs.

Writes a folder as hubs of models take them: a model card, `config.json`, the files, the games that were scored. Each
file is loaded again and compared with the agent; the folder appears whole or not at all.
`format` may name several: safetensors, pt2 (torch.export), torchscript, onnx.
Not here: what is written (`pipeline.experiments.exports`).
"""

from dask_jobs.terminal import begin

if __name__ == "__main__":
    begin()  # before the other imports, which take seconds

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.arguments import parse_words
from pipeline.disk import told_if_refused
from pipeline.errors import PipelineError, status_of
from pipeline.experiments.exports.formats import mistakes_of
from pipeline.experiments.files.run_folder import CONFIG
from pipeline.experiments.scoring.request import NEWEST


@dataclass(frozen=True)
class ExportArguments:
    """What the command line may say, as `name=value`."""

    run: Path | None = None
    """Folder of a run."""
    format: str = "safetensors"
    """safetensors, pt2, torchscript or onnx, or several with commas between them."""
    checkpoint: str = NEWEST
    """"newest", "best" (of the evaluations during training) or a version that is there."""
    out: Path | None = None
    """The folder to write; null: `exports/<version>` in the run folder."""
    overwrite: bool = False
    """Replace an exported agent that is there."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The names in `format`."""
        names = self.format.removeprefix("[").removesuffix("]").split(",")
        return tuple(name.strip() for name in names if name.strip())

    def mistakes(self) -> list[str]:
        """What is missing or cannot be, one line each, beginning with the field's name."""
        found = []
        if self.run is None:
            found.append("run is missing: name a run folder, e.g. run=results/runs/gorila/Breakout/0")
        elif not (self.run / CONFIG).is_file():
            found.append(f"run={self.run}: no run folder is there, which would hold a {CONFIG}")
        if not self.formats:
            found.append("format is empty: name one, e.g. format=safetensors")
        return found + mistakes_of(self.formats)


def main(words: Sequence[str] | None = None) -> int:
    """Export; the exit status is 0 unless there was an error, which is printed."""
    try:
        arguments = parse_words(ExportArguments, sys.argv[1:] if words is None else words)
        assert arguments.run is not None  # checked with the other mistakes
        # torch and the emulator, which a command line with mistakes has no use for.
        from pipeline.experiments.exports.folder import export_policy

        with told_if_refused(arguments.out):
            done = export_policy(
                arguments.run, arguments.formats, arguments.checkpoint, out=arguments.out, overwrite=arguments.overwrite
            )
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return status_of(error)
    for name, distance in done.distances.items():
        print(f"{name}: loaded again, answers at most {distance:.1e} from the agent's")
    print(f"exported to {done.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
