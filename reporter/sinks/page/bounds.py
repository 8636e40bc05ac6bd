"""How much of a long list a served page has; the rest is one click or one word away."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlencode

from reporter.sinks.page.markup import Markup, element

LINES: Final = 100
"""Most findings of a list, and most subjects of a group."""

BELOW: Final = 30
"""Most findings below a cause."""

NAMES: Final = 200
"""Most names of what is ready."""

LANES: Final = 12
"""Most namespaces in the picture."""

ROWS: Final = 30
"""Most rows of the history."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Whether long lists are cut, and where all of them are.

    Attributes:
        cut: a file has everything, because nobody can be asked for the rest.
        query: what the page is narrowed to.

    """

    cut: bool = False
    query: str = ""

    def first(self, items: Sequence[T], most: int) -> Sequence[T]:
        """Return what is drawn of a list."""
        return items[:most] if self.cut else items

    def rest(self, items: Sequence[object], most: int) -> Markup | None:
        """Return a line that says how many more there are, None where there are none."""
        more = len(items) - most
        if not self.cut or more <= 0:
            return None
        asked = {"q": self.query, "all": "1"} if self.query else {"all": "1"}
        link = element("a", "show all", href=f"?{urlencode(asked)}")
        return element("p", f"{more} more: narrow the page, or ", link, ".", class_="quiet lead")
