"""A clock that a test moves, to stand where a module has imported `time` or takes a function that tells it."""


class Clock:
    """Stands still until `now` is set or somebody sleeps."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.sleeps: list[float] = []
        """Each sleep so far, in seconds."""

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
