"""HTML from typed pieces: whatever is not a piece made here is escaped, in this one place.

A template engine would be a dependency whose templates mypy cannot read; a page of a dozen parts
needs no more than this.

The shapes of the states, as SVG symbols: each can be told from the others without its colour.

How much of a long list a served page has; the rest is one click or one word away.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Final, TypeAlias, TypeVar
from urllib.parse import urlencode

from reporter.model.instant import rfc3339
from reporter.sinks.page.view import Link, Mark
from reporter.sinks.words import age

_VOID: Final = frozenset({"br", "input", "link", "meta", "wbr"})
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RENAMED: Final = {"class_": "class", "for_": "for"}


class Markup:
    """Well-formed HTML. It is no `str`, so that it cannot be mixed up with text."""

    __slots__ = ("html",)

    def __init__(self, html: str) -> None:
        self.html = html


Child: TypeAlias = Markup | str | None
Attribute: TypeAlias = str | int | bool | None


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Attributes are named as in HTML, with `_` for `-`, and `class_` and `for_`. True stands for
    an attribute without value; False and None leave it out.
    """
    head = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{head}>")
    return Markup(f"<{head}>{''.join(map(_html, children))}</{tag}>")


def join(pieces: Iterable[Child]) -> Markup:
    return Markup("".join(map(_html, pieces)))


def breakable(name: str) -> Markup:
    """Return a name in camel case that a narrow screen may break between its words."""
    words = _HUMP.split(name)
    return Markup("<wbr>".join(map(escape, words)))


def _html(child: Child) -> str:
    if isinstance(child, Markup):
        return child.html
    return escape(child) if child else ""


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = _RENAMED.get(name, name.replace("_", "-"))
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def moment(at: datetime) -> Markup:
    """In UTC, with room for the reader's own time, which only a script knows."""
    exact = rfc3339(at)
    return join((element("time", exact, datetime=exact), element("span", class_="local")))


def since(at: datetime, now: datetime, relation: str = "since") -> Markup:
    """Return how long ago a moment was, or with `until` how far it is, kept up to date by the script."""
    passed = now - at if relation == "since" else max(at, now) - now
    exact = rfc3339(at)
    return element("time", age(passed), datetime=exact, title=exact, data_relation=relation)


_LINE: Final = 'fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round"'

_SHAPES: Final = {
    # An octagon, filled: stop.
    "firing": '<path fill="currentColor" d="M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5z"/>'
    '<path fill="none" stroke="var(--card)" stroke-width="2" stroke-linecap="round" d="M8 4.4v4.2M8 11.6v.01"/>',
    # A triangle.
    "degraded": f'<g {_LINE}><path d="M8 1.8 14.9 14H1.1z"/><path d="M8 6.2v3.6M8 11.9v.01"/></g>',
    "notice": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/><path d="M8 7.5v3.7M8 4.8v.01"/></g>',
    "pending": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/><path d="M8 4.2V8l2.6 1.8"/></g>',
    "clearing": f'<g {_LINE}><path d="M14.5 8A6.5 6.5 0 1 1 11 2.2"/><path d="m5.2 8 2.2 2.2L14 3.6"/></g>',
    "held": f'<g {_LINE}><rect x="1.5" y="1.5" width="13" height="13" rx="2"/><path d="M6 5.2v5.6M10 5.2v5.6"/></g>',
    "secondary": f'<g {_LINE}><rect x="1.5" y="1.5" width="8.5" height="8.5" rx="1.5"/><path d="M6.5 14.5h6a2 2 0 0 0 2-2v-6"/></g>',
    "suppressed": f'<g {_LINE}><path d="M3 1.8v6.4a2.5 2.5 0 0 0 2.5 2.5H13"/><path d="m10 7.5 3.3 3.2L10 14"/></g>',
    "muted": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/><path d="m3.5 12.5 9-9"/></g>',
    "unknown": f'<g {_LINE}><circle cx="8" cy="8" r="6.5" stroke-dasharray="2.2 2.6"/>'
    '<path d="M6.3 6.4a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.9.6-.9 1.3M8 11.6v.01"/></g>',
    # The style sheet of an old page hides the tick and shows a question mark in its place.
    "ready": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/>'
    '<path stroke="var(--tick, currentColor)" d="m5 8.3 2.1 2L11 6"/>'
    '<path stroke="var(--asked, none)" d="M6.3 6.4a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.9.6-.9 1.3M8 11.6v.01"/></g>',
}

SYMBOLS: Final = Markup(
    '<svg width="0" height="0" class="symbols" aria-hidden="true" focusable="false">'
    + "".join(
        f'<symbol id="s-{name}" viewBox="0 0 16 16">{shape}</symbol>'
        for name, shape in _SHAPES.items()
    )
    + "</svg>"
)
"""To be put on the page once."""


def shape(mark: Mark) -> Markup:
    """Return the shape of a state; its word has to be next to it."""
    use = element("use", href=f"#s-{mark.name}")
    return element("svg", use, class_=f"shape is-{mark.name}", aria_hidden="true")


def lead(*said: Child) -> Markup:
    return element("p", *said, class_="quiet lead")


def linked(link: Link) -> Markup:
    text = element("a", link.text, href=f"#{link.id}")
    return element("li", shape(link.mark), element("span", link.mark.word, " ", text))


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
    """Whether long lists are cut; a file has everything, because nobody can be asked for the rest."""

    cut: bool = False
    query: str = ""

    def first(self, items: Sequence[T], most: int) -> Sequence[T]:
        return items[:most] if self.cut else items

    def rest(self, items: Sequence[object], most: int) -> Markup | None:
        more = len(items) - most
        if not self.cut or more <= 0:
            return None
        asked = {"q": self.query, "all": "1"} if self.query else {"all": "1"}
        link = element("a", "show all", href=f"?{urlencode(asked)}")
        return lead(f"{more} more: narrow the page, or ", link, ".")
