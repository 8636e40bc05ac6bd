"""The head of the page as HTML: the verdict, how old it is, and what it is narrowed to."""

from datetime import datetime, timedelta
from typing import Final

from reporter.sinks.page.filter import LONGEST
from reporter.sinks.page.markup import Markup, element, join
from reporter.sinks.page.moments import moment, since
from reporter.sinks.page.symbols import shape
from reporter.sinks.page.view import Lost, PageView

_KINDS: Final = 3
"""Most kinds that are named where some cannot be read at the moment."""


_LATER: Final = timedelta(minutes=1)
"""A page that was saved so soon after what it shows says only one time."""


def page_title(view: PageView) -> str:
    """Return the title of the page: of one that is not live or is old, with its time in front."""
    at = f"{view.at:%Y-%m-%d %H:%M} UTC"
    if not view.about.live:
        return f"Saved, {at}: {view.verdict} · status reporter"
    old = "OLD · " if view.about.is_old else ""
    return f"{old}{view.verdict} · status reporter"


def masthead(view: PageView) -> tuple[Markup | None, ...]:
    """Return what stands above everything: how old the page is comes first."""
    live = view.about.live
    return (
        element("div", role="alert", id="alarm", class_="banner", hidden=True) if live else None,
        element(
            "header",
            element("div", *_state(view), id="state"),
            *(_following() if live else ()),
            _search(view) if live else None,
        ),
    )


def _state(view: PageView) -> tuple[Markup | None, ...]:
    rest = " ".join(filter(None, (view.models, f"{view.rest}." if view.rest else ""))) + " "
    return (
        _old(view),
        element("p", "Status reporter", class_="product"),
        element("h1", shape(view.mark), element("span", view.verdict), id="verdict"),
        element("p", rest, element("span", _as_of(view), id="as-of"), id="rest"),
    )


def _following() -> tuple[Markup, ...]:
    # The script says something else here.
    text = "This page does not renew itself without script: it is loaded again every minute."
    return (
        element("p", text, id="live", class_="quiet"),
        element("p", id="said", class_="unseen", role="status"),
    )


def _old(view: PageView) -> Markup | None:
    """Return why the page may be wrong by now, None where it is as new as can be."""
    about = view.about
    if not about.live:
        saved = about.saved
        is_later = saved is not None and saved - view.at > _LATER
        said = (
            "A saved page: it shows the cluster as of ",
            moment(view.at),
            f" ({about.time})" if about.time else "",
            *((", was saved ", moment(saved)) if saved and is_later else ()),
            ", and does not change any more.",
        )
        return element("p", *said, id="saved", class_="banner is-quiet")
    if about.overdue:
        said = (
            "The reporter answers but has not looked at the cluster since ",
            moment(view.at),
            ". What you see is old.",
        )
        return element("p", *said, id="lost", class_="banner")
    return (
        element("p", _lost(about.lost, view.at), id="lost", class_="banner") if about.lost else None
    )


def _as_of(view: PageView) -> Markup | None:
    if not view.about.live or view.about.is_old:
        # It is said above, or the report is newer than what it rests on.
        return None
    return join(("As of ", moment(view.at), "."))


def _lost(lost: Lost, now: datetime) -> Markup:
    said = "The API server is out of reach: what has changed since "
    if lost.resources:
        named, more = lost.resources[:_KINDS], len(lost.resources) - _KINDS
        names = ", ".join([*named, f"{more} more"] if more > 0 else named)
        said = f"The connection is lost for {names}: what has changed of them since "
    ago = (moment(lost.since), " (", since(lost.since, now), " ago) may be missing here.")
    return join((said, *ago))


def _search(view: PageView) -> Markup:
    return element(
        "form",
        element("label", "Show only what names", for_="q"),
        element(
            "input",
            type="search",
            name="q",
            id="q",
            value=view.query,
            maxlength=LONGEST,
            placeholder="a namespace, a model, a reason",
            autocomplete="off",
        ),
        element("button", "Show", type="submit"),
        element("a", "Show all", href="?") if view.query else None,
        element("p", view.found, id="shown", class_="quiet", role="status"),
        role="search",
        method="get",
        id="search",
    )
