"""How much YAML is read, and the exceptions for texts that cannot be read."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits beyond which a text is refused.

    The defaults are far above the needs of a cluster with a thousand models; with values of up to
    90 bytes, the result takes less than a GiB. Callers set lower limits for texts that a tenant may
    write.

    `nodes` includes keys, aliases and JSON values, over all texts of one reader; a pod as printed
    by kubectl has about 350. `aliases` limits the nodes that aliases add.
    """

    size: int = 96 * 1024 * 1024
    depth: int = 200
    nodes: int = 4_000_000
    aliases: int = 1_000_000


LIMITS: Final = Limits()


class Unreadable(Exception):  # noqa: N818 - it says what the text is
    """A text cannot be read; the message has the line, if known, and the cause.

    `part` is the value read before the fault, or None: the keys of a mapping that have a value, and
    the complete entries of a list in it. `unfinished` is the incomplete entry of that list.
    """

    def __init__(self, cause: str, line: int | None = None) -> None:
        super().__init__(cause if line is None else f"line {line}: {cause}")
        self.cause = cause
        self.line = line
        self.part: object = None
        self.unfinished: object = None


class BeyondLimits(Unreadable):
    """A text may be valid, but exceeds a limit."""
