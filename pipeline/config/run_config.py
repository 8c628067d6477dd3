"""What one run is asked to do: `RunConfig`, its checks across groups, and what a resume may not change.

The groups' dataclasses live where they are used (`pipeline.*.config`, `pipeline.envs.protocol`, ...); here they meet.
Not here: YAML and nested dictionaries (`tree`), Hydra and the command line (`overrides`).
"""

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.placement import Demand
from pipeline.config.course import BudgetConfig, CheckpointConfig, TrainingEvaluationConfig
from pipeline.config.determinism import undeterministic
from pipeline.config.factors import without_factors
from pipeline.config.hosts import hosts_mistakes
from pipeline.config.words import no_folder_name, no_such, none_of
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.envs.rom import num_actions
from pipeline.errors import in_words
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.games import GAMES
from pipeline.kinds import is_own
from pipeline.networks.config import NetworkConfig
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.replay.config import ReplayConfig
from pipeline.replay.memory import fit_mistakes
from pipeline.run_folders import at_home
from pipeline.seeding import seed_mistakes
from pipeline.settings import MISSING, NAMES_OF_CLASSES, as_settings, flat, is_of_the_course, shown
from pipeline.topologies.config import TopologyConfig
from pipeline.topologies.needs import RoleNeeds

DEVICES, PRECISIONS = ("auto", "cpu", "cuda"), ("auto", "float32", "bfloat16")
PROGRESS_KINDS = ("auto", "bar", "lines", "none")
TENSORBOARD, MLFLOW, WANDB = "tensorboard", "mlflow", "wandb"
LOGGING_TOOLS = (TENSORBOARD, MLFLOW, WANDB)

EVALUATOR = "evaluator"
"""Name of the host that evaluations during training are played on."""


@runtime_checkable
class _Group(Protocol):
    def mistakes(self) -> list[str]: ...


@dataclass(frozen=True)
class RunConfig:
    """One experiment, one game, one seed. Sources of the values stand in `conf/`."""

    experiment: str
    """Name of a file in `conf/experiment/`."""
    game: str
    """One of `pipeline.games.GAMES`."""
    seed: int
    """Every random stream of the run follows from it; 0 or more."""
    device: str
    """"auto" (CUDA if there is any), "cpu" or "cuda"."""
    deterministic: bool
    """Roles take turns, so that the run repeats itself and goes on bit for bit."""
    precision: str
    """Of the networks of learners and actors: "auto" (what each host is made for), "float32" or "bfloat16"."""
    results_dir: str
    """Run folders are `<results_dir>/<experiment>/<game>/<seed>`."""
    resume: bool
    """Go on in a run folder that is there."""
    init_from: str | None
    """A run's folder, a checkpoint or an exported agent whose parameters a new run begins with; None: fresh ones."""
    init_from_optimizer: bool
    """Take the optimizer's state with them."""
    overwrite: bool
    """Delete a run folder that is there and start anew."""
    plan: bool
    """Print which host would run what, and stop."""
    progress: str
    """"auto" (a bar on a terminal, else lines), "bar", "lines" or "none"."""
    logging: tuple[str, ...] | str | None
    """Which of LOGGING_TOOLS get the rows as well: one, several, or none."""
    budget: BudgetConfig
    checkpoint: CheckpointConfig
    training_evaluation: TrainingEvaluationConfig
    algorithm: AlgorithmConfig
    network: NetworkConfig
    optimizer: OptimizerConfig
    environment: EnvironmentConfig
    replay: ReplayConfig | None
    """None: an algorithm that learns from each step once."""
    param_server: ParamServerConfig
    topology: TopologyConfig
    cluster: ClusterConfig
    evaluation: EvaluationConfig

    @property
    def logging_tools(self) -> tuple[str, ...]:
        """The names in `logging`, each once."""
        names = (self.logging,) if isinstance(self.logging, str) else self.logging or ()
        return tuple(dict.fromkeys(names))

    def num_frames(self, num_steps: int) -> int:
        """Emulator frames of so many agent steps; with a random frame skip, the number to be expected."""
        return round(num_steps * self.environment.mean_frame_skip)

    @property
    def own_modules(self) -> tuple[str, ...]:
        """Modules of the user's own that hold classes which this run names."""
        named = flat(as_settings(self))
        paths = [value for name, value in named if name.rpartition(".")[2] in NAMES_OF_CLASSES and "." in str(value)]
        return tuple(dict.fromkeys(path.rpartition(".")[0] for path in paths))

    @property
    def folder(self) -> Path:
        """Where the run lives."""
        return Path(at_home(self.results_dir)) / self.experiment / self.game / str(self.seed)

    def mistakes(self) -> list[str]:
        """Everything that is out of range or cannot go together, one line each, beginning with the setting's name.

        Settings of two groups are compared only where both groups are in order by themselves.
        """
        found = self._own_mistakes()
        sound: set[str] = set()
        for field in dataclasses.fields(self):
            group = getattr(self, field.name)
            if isinstance(group, _Group):
                lines = group.mistakes()
                found += [f"{field.name}.{line}" for line in lines]
                if not lines:
                    sound.add(field.name)
        return found + self._impossible_combinations(sound)

    def _own_mistakes(self) -> list[str]:
        found = no_folder_name("experiment", self.experiment)
        if self.game == MISSING:
            found.append("game is missing: name one, e.g. game=Breakout")
        elif self.game not in GAMES:
            found.append(no_such("game", f"game={self.game}", _bare_name(self.game), GAMES, most=3))
        found += seed_mistakes(self.seed)
        for name, allowed in (("device", DEVICES), ("precision", PRECISIONS), ("progress", PROGRESS_KINDS)):
            found += none_of(name, getattr(self, name), allowed)
        found += [
            no_such("tool", f"logging={name}", name, LOGGING_TOOLS)
            for name in self.logging_tools
            if name not in LOGGING_TOOLS
        ]
        if not self.results_dir:
            found.append("results_dir is empty: name a folder, e.g. results/runs")
        if self.init_from_optimizer and self.init_from is None:
            found.append("init_from_optimizer=true needs init_from: whose optimizer's state is it?")
        if self.resume and self.overwrite:
            found.append("resume=true and overwrite=true exclude each other: go on in the run folder, or replace it")
        return found

    def _impossible_combinations(self, sound: set[str]) -> list[str]:
        found = self._unfit_for_algorithm()
        if self.deterministic:
            found += undeterministic(
                self.algorithm,
                self.budget,
                self.topology,
                self.cluster,
                self.param_server,
                self.training_evaluation,
                self.device,
            )
        if self.budget.score is not None and self.training_evaluation.every_frames is None:
            found.append(
                f"budget.score={self.budget.score} needs training_evaluation.every_frames: without it nobody plays "
                "before the end"
            )
        can_be_started = not self.topology.unfit_for(self.algorithm)
        if can_be_started and {"topology", "algorithm", "param_server", "cluster"} <= sound:
            found += self._unfit_hosts()
        if {"network", "environment"} <= sound and self.game in GAMES and self.precision in PRECISIONS:
            found += self._unfit_network()
        found += without_factors(self.network, self.param_server) if {"network", "param_server"} <= sound else []
        if {"topology", "environment", "algorithm"} <= sound and self.replay is not None:
            found += self._too_small_replay(self.replay)
        if {"environment", "evaluation"} <= sound:
            found += _other_network_in_evaluation(self.environment, self.evaluation.environment)
        return found

    def _unfit_for_algorithm(self) -> list[str]:
        algorithm, kind = self.algorithm, self.algorithm.kind
        found = [f"topology.{line}" for line in self.topology.unfit_for(algorithm)]
        if (line := self.network.unfit_for(kind, algorithm.NETWORK)) is not None:
            found.append(f"network.{line}")
        found += [f"algorithm.{line}" for line in algorithm.unfit_for_distribution(self.network.distribution)]
        if self.replay is not None and not algorithm.NEEDS_REPLAY:
            found.append(
                f"replay must be null with algorithm.kind={kind}, which learns from each step once: replay=none"
            )
        if self.replay is None and algorithm.NEEDS_REPLAY:
            found.append(f"replay is missing: algorithm.kind={kind} needs one, e.g. replay=uniform")
        if self.checkpoint.replay and not algorithm.NEEDS_REPLAY:
            found.append(f"checkpoint.replay=true: algorithm.kind={kind} has no replay, leave it false")
        if algorithm.EXCHANGES_EVERY_GRADIENT:
            found += [
                f"param_server.{name}={getattr(self.param_server, name)} must be 1 with algorithm.kind={kind}"
                for name in ("actor_pull_every_steps", "learner_pull_every_updates", "push_every_updates")
                if getattr(self.param_server, name) != 1
            ]
        if algorithm.NEEDS_TARGET_NETWORK and self.param_server.target_period_updates is None:
            found.append(
                f"param_server.target_period_updates=null must be a number with algorithm.kind={kind}, which "
                "learns from a target network"
            )
        if algorithm.TAKES_LANES_TOGETHER and self.environment.min_frame_skip != self.environment.frame_skip:
            found.append(
                f"environment.min_frame_skip={self.environment.min_frame_skip} must equal environment.frame_skip="
                f"{self.environment.frame_skip} with algorithm.kind={kind}, whose replay takes all lanes together"
            )
        if self.topology.quorum is not None and self.param_server.overlap:
            found.append(
                "param_server.overlap=true must be false with topology.sync=true: a worker waits for its quorum"
            )
        return found

    def _unfit_network(self) -> list[str]:
        environment = self.environment
        lines = self.network.unfit_for_games(
            environment.stack,
            environment.frame_shape,
            lambda: num_actions(self.game, environment.full_action_set),
            self.precision,
        )
        return [f"network.{line}" for line in lines]

    def _unfit_hosts(self) -> list[str]:
        if self.cluster.num_hosts is None and not self.cluster.groups:
            return []
        try:
            wanted = self.topology.demands(self.algorithm, self.param_server.num_shards, RoleNeeds(0, 0, 0, 0, 0))
            beside = [] if self.training_evaluation.every_frames is None else [Demand(EVALUATOR, 1, 0)]
            return [f"cluster.{line}" for line in hosts_mistakes(self.cluster, [*wanted, *beside])]
        except Exception as error:
            if is_own(self.topology.kind):
                return [f"topology.kind={self.topology.kind} has no sound `demands`: {in_words(error)}"]
            raise

    def _too_small_replay(self, replay: ReplayConfig) -> list[str]:
        if replay.mistakes() or not self.algorithm.NEEDS_REPLAY:
            return []
        lanes, environment, n_step = self.topology.num_lanes, self.environment, self.algorithm.steps_per_transition
        writers = self.topology.writers_per_replay
        too_small = fit_mistakes(replay, writers, lanes, environment.frame_shape, environment.stack, n_step)
        return [f"replay.{line}" for line in too_small]


def differences(saved: RunConfig, now: RunConfig) -> list[str]:
    """What a resume would change and may not, one line per setting; empty if the run may go on.

    Budget, checkpoints, cluster, threads, results folder, progress and logging may: `settings.is_of_the_course`.
    """
    before, after = (dict(flat(as_settings(config))) for config in (saved, now))
    return [
        f"{name}: {shown(before.get(name, 'not set'))} in the run folder, {shown(after.get(name, 'not set'))} now"
        for name in dict.fromkeys([*before, *after])
        if not is_of_the_course(name) and before.get(name, _UNSET) != after.get(name, _UNSET)
    ]


_UNSET = object()


def _bare_name(game: str) -> str:
    """The game of an environment's id: Breakout of ALE/Breakout-v5 and of BreakoutNoFrameskip-v4."""
    return re.sub(r"^ALE/|(-ram)?(NoFrameskip|Deterministic)?(-v\d+)?$", "", game)


def unlike_training(config: RunConfig) -> str | None:
    """A warning when the final games look or move otherwise than those that the network learns from; None if alike.

    Sticky actions, no-ops and caps are a protocol's own matter and left out.
    """
    played, learned = config.evaluation.environment, config.environment
    different = [
        f"{name}={shown(getattr(played, name))}, in training {shown(getattr(learned, name))}"
        for name in ("frame_skip", "min_frame_skip", "max_pool")
        if getattr(played, name) != getattr(learned, name)
    ]
    if not different:
        return None
    return (
        f"evaluation={config.evaluation.protocol} plays other games than the training ({'; '.join(different)}), and "
        "the best action there may be a bad one: choose an evaluation of the same kind of games"
    )


def _other_network_in_evaluation(training: EnvironmentConfig, evaluation: EnvironmentConfig) -> list[str]:
    return [
        f"evaluation.environment.{name}={shown(getattr(evaluation, name))} must equal environment.{name}="
        f"{shown(getattr(training, name))}: one network plays both, so choose an evaluation of games that look the same"
        for name in ("full_action_set", "grey", "frame_height", "frame_width", "stack")
        if getattr(evaluation, name) != getattr(training, name)
    ]
