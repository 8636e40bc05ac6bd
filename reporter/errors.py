"""Errors of the user; the message says what to do instead."""


class UsageError(Exception):
    """A setting, an argument or a file that cannot be used. Commands print it and exit with 2."""
