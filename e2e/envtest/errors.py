"""Errors around a control plane; each message says what to do."""


class EnvtestError(Exception):
    """The control plane, or a program used on it, could not do what a test needs."""
