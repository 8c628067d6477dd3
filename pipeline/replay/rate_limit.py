"""Keeps learners and actors of a global replay in step: so many agent steps added for each minibatch drawn.

In a bundle the actor and the learner take turns, so one gradient per `steps_per_update` agent steps is a fact. Around a
global replay they are strangers, and whichever is faster would run away. So a shard holds back whoever is ahead:

    due = (agent steps added since learning could begin) / steps_per_batch          minibatches that should be drawn
    a learner waits while  drawn + 1 > due + slack        "ahead of the actors"
    an actor waits while   due - drawn > slack            "ahead of the learners"

With slack >= 1 never both. The idea is Reverb's samples-per-insert limit (Cassirer et al. 2021, section 4).
Departure: Gorila's actors and learners ran freely (Nair et al. 2015); `slack_updates: null` does that.
Not here: who waits, and for how long (`pipeline.replay.client`).
"""


class RateLimit:
    """Judges by counts alone; `steps_per_batch` agent steps are due for each minibatch."""

    def __init__(self, steps_per_batch: int, slack_batches: int | None, min_transitions: int) -> None:
        """`slack_batches` None: nobody is held back, except learners until `min_transitions` were added."""
        self._steps_per_batch = steps_per_batch
        self._slack = slack_batches
        self._min_transitions = min_transitions
        self._steps_at_start: int | None = None

    def why_no_sample(self, num_added: int, num_steps: int, num_batches: int) -> str:
        """Why a learner has to wait; empty if it may draw. `num_added`: transitions, those overwritten since, too."""
        self._look(num_added, num_steps)
        if self._steps_at_start is None:
            return f"the replay holds {num_added:,} of the {self._min_transitions:,} transitions to begin with"
        due = self._due(num_steps)
        if self._slack is not None and num_batches + 1 > due + self._slack:
            return f"the learners are ahead of the actors: {self._standing(num_batches, due)}"
        return ""

    def why_no_add(self, num_added: int, num_steps: int, num_batches: int) -> str:
        """Why an actor has to wait; empty if it may add."""
        self._look(num_added, num_steps)
        if self._steps_at_start is None or self._slack is None:
            return ""
        due = self._due(num_steps)
        if due - num_batches > self._slack:
            return f"the actors are ahead of the learners: {self._standing(num_batches, due)}"
        return ""

    def _look(self, num_added: int, num_steps: int) -> None:
        if self._steps_at_start is None and num_added >= self._min_transitions:
            self._steps_at_start = num_steps

    def _due(self, num_steps: int) -> float:
        return (num_steps - (self._steps_at_start or 0)) / self._steps_per_batch

    def _standing(self, num_batches: int, due: float) -> str:
        return (
            f"{num_batches:,} minibatches drawn, {due:,.0f} due at one per {self._steps_per_batch} agent steps, "
            f"slack {self._slack}"
        )
