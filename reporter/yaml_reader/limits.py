"""How much YAML is read, and what is said of a text that cannot be read."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a text is read before it is refused.

    The defaults are far above what a cluster of a thousand models needs; with values of up to 90
    bytes all of it is less than a GiB. Where anybody may write the text, the caller sets lower
    ones.

    `nodes` counts keys, aliases and JSON, over all texts of one reader; a pod as kubectl prints it
    has about 350. `aliases` are the nodes that they may add.
    """

    size: int = 96 * 1024 * 1024
    depth: int = 200
    nodes: int = 4_000_000
    aliases: int = 1_000_000


LIMITS: Final = Limits()


class Unreadable(Exception):  # noqa: N818 - it says what the text is
    """A text that cannot be read; as text it is the line, if that is known, and the cause.

    `part` is what could be read before the fault, None if nothing could: of a mapping the keys
    that have a value, and of a list in it the entries that were complete. `unfinished` is the
    entry of that list that was not, as far as it goes.
    """

    def __init__(self, cause: str, line: int | None = None) -> None:
        super().__init__(cause if line is None else f"line {line}: {cause}")
        self.cause = cause
        self.line = line
        self.part: object = None
        self.unfinished: object = None


class BeyondLimits(Unreadable):
    """A text that may be right, but is more than is read."""
