"""The stacks that deploy models; each brings subjects of its own."""

from enum import StrEnum


class Stack(StrEnum):
    """A stack; the value is its name in settings."""

    KAITO = "kaito"
    KTHENA = "kthena"
    OTTERSCALE = "otterscale"
    KSERVE = "kserve"
