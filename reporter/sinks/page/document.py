"""The page as HTML, by its templates: escaped, from nowhere else, and bounded."""

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
    "lines": 100,  # findings of a list, and subjects of a group
    "below": 30,  # findings below a cause
    "names": 200,  # of what is ready
    "lanes": 12,  # namespaces in the picture
    "well": 8,  # namespaces that are named where nothing is wrong
    "rows": 30,  # of the history
    "episodes": 5,  # of one reason and subject that are told, unless all are asked for
    "listed": 50,  # mutes, faults of mutes and malformed objects; how many more there are is said
    "hits": 5,  # models that a cause names in its line; the others are one click away
    "kinds": 3,  # that are named where some cannot be read at the moment
    "laid_out": 40,  # lines of a list; of a longer one only what is on the screen is laid out
    "query": LONGEST,
    "day": _DAY,  # seconds of the history
    "bar": _DAY // 150,  # least seconds of a bar: what is shorter could not be seen
}
"""How much of a long list a served page has; the rest is one click or one word away."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Whether long lists are cut; a file has everything, for nobody can be asked for the rest."""

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
    # Four megabytes that a replica of which nobody asks a page does without.
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
    """Return a template without the line ends and the indentation next to its elements."""
    text = (files(__package__) / "templates" / name).read_text("utf-8")
    return _INDENTED.sub("", text)


_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def breakable(name: str) -> "Markup":
    """Return a name in camel case that a narrow screen may break between its words."""
    from markupsafe import Markup

    return Markup("<wbr>").join(_HUMP.split(name))


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content security policy of the served page: nothing inline, nothing from elsewhere."""

TYPES: Final = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
"""The files, and what they are."""


@cache
def asset(name: str) -> str:
    return (files(__package__) / "static" / name).read_text("utf-8")


def policy_of_file() -> str:
    digest = b64encode(sha256(asset("page.css").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
