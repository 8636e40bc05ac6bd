"""What can go wrong before there is anything to check; each message says what to do."""


class EngineError(Exception):
    """The engine could not be installed, started or asked."""
