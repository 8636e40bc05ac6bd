"""Renders the page as HTML from its templates: escaped, self-contained and bounded."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlencode

from reporter.model.instant import rfc3339
from reporter.sinks.history import KEPT
from reporter.sinks.page import view as marks
from reporter.sinks.page.view import LONGEST, PageView
from reporter.sinks.words import NOT_SEEN, age

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

_DAY: Final = int(KEPT.total_seconds())

LIMITS: Final = {
    "lines": 100,  # findings in a list, subjects in a group
    "below": 30,  # findings below a cause
    "names": 200,  # ready subjects
    "lanes": 12,  # namespaces in the picture
    "well": 8,  # names of healthy namespaces
    "rows": 30,  # rows of the history
    "episodes": 5,  # episodes of one reason and subject
    "listed": 50,  # mutes, faulty mutes, malformed objects; the page says how many more there are
    "hits": 5,  # models that a cause names in its line; the others are one click away
    "kinds": 3,  # names of kinds that cannot be read now
    "laid_out": 40,  # lines of a list; a longer list lays out only what is on the screen
    "query": LONGEST,
    "day": _DAY,  # seconds of the history
    "bar": _DAY // 150,  # shortest bar, in seconds; a shorter one could not be seen
}
"""How much of a long list a served page has; the rest is one click or one search away."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Whether long lists are cut. A saved file has everything, as it cannot request the rest."""

    cut: bool
    query: str

    def first(self, items: Sequence[T], most: int) -> Sequence[T]:
        return items[:most] if self.cut else items

    @property
    def all_asked(self) -> str:
        return urlencode({"q": self.query, "all": "1"} if self.query else {"all": "1"})


def page_html(view: PageView, *, version: str = "", whole: bool = False) -> str:
    bounds = Bounds(cut=view.about.live and not whole, query=view.query)
    return _template().render(view=view, version=version, bounds=bounds) + "\n"


@cache
def _template() -> "Template":
    # Jinja takes four megabytes; a replica that serves no page does without.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True, loader=FunctionLoader(_source), undefined=StrictUndefined
    )
    environment.filters.update(age=age, rfc3339=rfc3339, breakable=breakable)
    environment.globals.update(
        limits=LIMITS, marks=marks, asset=asset, policy=policy_of_file(), not_seen_title=NOT_SEEN
    )
    return environment.get_template("page.html")


_INDENTED: Final = re.compile(r"(?<=[>}])\n\s*+|(?<!\s)\n\s*+(?=[<{])")


def _source(name: str) -> str:
    """Return a template without the line breaks and indentation next to its elements."""
    text = (files(__package__) / "templates" / name).read_text("utf-8")
    return _INDENTED.sub("", text)


_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def breakable(name: str) -> "Markup":
    """Return a camel-case name that a narrow screen may break between its words."""
    from markupsafe import Markup

    return Markup("<wbr>").join(_HUMP.split(name))


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content security policy of the served page: nothing inline, nothing from other origins."""

TYPES: Final = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
"""Static files and their content types."""


@cache
def asset(name: str) -> str:
    return (files(__package__) / "static" / name).read_text("utf-8")


def policy_of_file() -> str:
    digest = b64encode(sha256(asset("page.css").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
