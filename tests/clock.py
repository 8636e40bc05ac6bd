"""A clock for what asks for the time."""


class Clock:
    """Stands still until a test moves it."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now
