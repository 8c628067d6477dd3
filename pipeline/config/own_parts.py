"""Whether a user's own classes, which a run names by where they are, can do their work: each is made and tried.

    optimizer.kind, network.torso     compute a little (`pipeline.optimizers.trial`, `pipeline.networks.torso_trial`)
    network.kind                      is made for the run's game
    algorithm.kind                    has a role, and a whole one

Of a new run only: who reads a finished one may have changed them since, and needs none of them to read it.
Not here: modules as networks, which who plays needs (`pipeline.networks.config`); topologies, which a run asks for its
roles (`pipeline.experiments.specs`); is a class there (`pipeline.kinds`)?
"""

from pipeline.config.run_config import RunConfig
from pipeline.envs.rom import num_actions
from pipeline.errors import ConfigError, in_words
from pipeline.kinds import is_own
from pipeline.networks.config import LayeredConfig


def faults_of_own_parts(run: RunConfig) -> list[str]:
    """Mistakes of a run that has no others, a line each; what a class raises stands in its line."""
    return [*_of_optimizer(run), *_of_network(run), *_of_algorithm(run)]


def _of_optimizer(run: RunConfig) -> list[str]:
    if not is_own(run.optimizer.kind):
        return []
    from pipeline.optimizers.trial import faults

    return [f"optimizer.kind={run.optimizer.kind} {line}" for line in faults(run.optimizer)]


def _of_network(run: RunConfig) -> list[str]:
    network, environment = run.network, run.environment
    stack, frame_shape = environment.stack, environment.frame_shape
    if isinstance(network, LayeredConfig) and is_own(network.torso):
        from pipeline.networks.torso_trial import faults_of_torso

        found = faults_of_torso(
            network.torso, stack, frame_shape, centred=network.centred_pixels, precision=run.precision
        )
        if found:
            return [f"network.torso={network.torso} {line}" for line in found]
    if not is_own(network.kind):
        return []
    size = stack, frame_shape, num_actions(run.game, environment.full_action_set)
    try:
        network.make(*size)
    except Exception as error:  # whatever it raises
        return [f"network.kind={network.kind} cannot be made for {size}: {in_words(error)}"]
    return []


def _of_algorithm(run: RunConfig) -> list[str]:
    if not is_own(run.algorithm.kind):
        return []
    from pipeline.roles.role import role_of

    try:
        role_of(type(run.algorithm))
    except ConfigError as error:
        return [f"algorithm.kind={run.algorithm.kind}: {line}" for line in error.mistakes]
    return []
