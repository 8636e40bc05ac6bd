"""HTML from typed pieces: whatever is not a piece made here is escaped, in this one place.

A template engine would be a dependency whose templates mypy cannot read; a page of a dozen parts
needs no more than this.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

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

NOTHING: Final = Markup("")


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element.

    Attributes are named as in HTML, with `_` for `-`, and `class_` and `for_`. True stands for an
    attribute without value; False and None leave it out.
    """
    head = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{head}>")
    return Markup(f"<{head}>{''.join(map(_html, children))}</{tag}>")


def join(pieces: Iterable[Child]) -> Markup:
    """Return pieces one after another."""
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
