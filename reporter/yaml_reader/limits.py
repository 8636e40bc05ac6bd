"""How much YAML is read, and what is said of a text that cannot be read."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a text is read before it is refused.

    The defaults are far above what a cluster of a thousand models needs, and low enough for a
    laptop. Where anybody may write the text, and many such texts are read, the caller sets lower
    ones.

    Attributes:
        size: most bytes of a file, and most characters of a text.
        depth: deepest nesting; schemas in CustomResourceDefinitions stay below 100.
        nodes: most scalars, mappings, lists and aliases of one text, keys included. Half a GiB of
            ordinary YAML has fewer; a text of nothing but brackets has five times as many.
        aliases: most nodes that aliases may add, over all texts of one reader.

    """

    size: int = 512 * 1024 * 1024
    depth: int = 200
    nodes: int = 50_000_000
    aliases: int = 1_000_000


LIMITS: Final = Limits()


class Unreadable(Exception):  # noqa: N818 - it says what the text is
    """A text that cannot be read; as text it is the line, if that is known, and the cause.

    `part` is what could be read before the fault, None if nothing could: of a mapping the keys
    that have a value, and of a list in it the entries that were complete. `unfinished` is the
    entry of that list that was not, as far as it goes.
    """

    def __init__(self, cause: str, line: int | None = None) -> None:
        """Say why it cannot be read, and in which line of its file, counted from 1."""
        super().__init__(cause if line is None else f"line {line}: {cause}")
        self.cause = cause
        self.line = line
        self.part: object = None
        self.unfinished: object = None


class BeyondLimits(Unreadable):
    """A text that may be right, but is more than is read."""
