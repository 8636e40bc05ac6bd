"""The whole page as HTML: its files and what a browser may load, the verdict, and the request path as plain lists, which are read aloud in their order."""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from reporter.model.instant import rfc3339
from reporter.sinks.page import findings, overview
from reporter.sinks.page.episodes import day
from reporter.sinks.page.markup import (
    LANES,
    SYMBOLS,
    Bounds,
    Child,
    Markup,
    breakable,
    element,
    join,
    lead,
    linked,
    moment,
    shape,
    since,
)
from reporter.sinks.page.view import (
    FIRING,
    LONGEST,
    Explanation,
    Lane,
    Lost,
    PageView,
    PathView,
    Station,
)
from reporter.sinks.words import NOT_SEEN

LISTED: Final = 50
"""Most mutes, faults of mutes and malformed objects; how many more there are is said."""

_AGAIN_SECONDS: Final = 60
"""How often a browser without script loads a served page again."""


def page_html(view: PageView, *, version: str = "", whole: bool = False) -> str:
    about = view.about
    bounds = Bounds(cut=about.live and not whole, query=view.query)
    body = element(
        "body",
        SYMBOLS,
        element("a", "Skip to the causes", href="#causes", class_="skip"),
        *masthead(view),
        element("main", *_sections(view, bounds), id="main"),
        _footer(view),
        data_version=version if about.live else None,
        data_now=rfc3339(view.at) if about.live else None,
        data_old=about.is_old,
        data_saved=not about.live,
    )
    head = element("head", *_head(view))
    return f"<!doctype html>\n{element('html', head, body, lang='en').html}\n"


def _head(view: PageView) -> Iterator[Child]:
    if not view.about.live:
        yield element("meta", http_equiv="Content-Security-Policy", content=policy_of_file())
    yield element("meta", charset="utf-8")
    yield element("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield element("meta", name="color-scheme", content="light dark")
    yield element("meta", name="robots", content="noindex")
    yield element("title", page_title(view))
    if view.about.live:
        # Without script a page that stayed would be taken for the present.
        again = element("meta", http_equiv="refresh", content=str(_AGAIN_SECONDS))
        yield element("noscript", again)
        yield element("link", rel="icon", href="icon.svg", type="image/svg+xml")
        yield element("link", rel="stylesheet", href="page.css")
        yield element("script", src="page.js", defer=True)
    else:
        # Text of ours in which a browser looks for nothing but the end of the element.
        yield element("style", Markup(asset("page.css")))


def _sections(view: PageView, bounds: Bounds) -> Iterator[Markup]:
    narrowed = f" that names “{view.query}”" if view.query else ""
    causes = (
        findings.causes(view.causes, view.at, bounds)
        if view.causes
        else element("p", f"No cause fires{narrowed}.", class_="quiet")
    )
    more = [
        element(
            "section", element("h3", heading, class_="title"), draw(found, view.at, bounds), id=id_
        )
        for id_, heading, found, draw in (
            ("notices", "Notices, which are no faults", view.notices, findings.causes),
            ("others", "Not firing", view.others, findings.rows),
        )
        if found
    ]
    yield _section("causes", "What is wrong", causes, *more)
    yield _section("path", title(view.path), *picture(view.path, bounds))
    if view.not_seen or view.unknown:
        yield _section("unknown", NOT_SEEN, *_not_seen(view, bounds))
    yield _section("stack", "Stack", *(overview.layer(each, bounds) for each in view.layers))
    yield _section("day", "Last day", day(view.strip, bounds))
    if view.skipped:
        told = lead("These objects are malformed and were left out.")
        yield _section("skipped", "Skipped", told, _pairs(view.skipped))
    if view.mutes or view.mute_faults:
        yield _section("mutes", "Mutes", *_mutes(view))
    if view.reasons:
        reasons = element("div", *map(_explanation, view.reasons), class_="columns")
        yield _section("reasons", "Reasons on this page", reasons)
    if view.about.notes:
        notes = [element("li", each) for each in view.about.notes]
        yield _section("notes", "Notes", element("ul", *notes))


def _not_seen(view: PageView, bounds: Bounds) -> Iterator[Child]:
    if view.not_seen:
        yield lead(
            "This is no cause of the stack: the reporter itself lacks a right, a connection or a way."
        )
        yield findings.rows(view.not_seen, view.at, bounds)
    if view.unknown:
        yield lead("These cannot be read. What rests on them is neither healthy nor at fault.")
        yield _pairs(_by_cause(view.unknown))


def _by_cause(unknown: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    found: dict[str, list[str]] = defaultdict(list)
    for resource, cause in unknown:
        found[cause].append(resource)
    return tuple((cause, ", ".join(resources)) for cause, resources in found.items())


def _mutes(view: PageView) -> Iterator[Child]:
    if view.mutes:
        yield lead("Annotations on these objects keep these reasons from being told.")
        yield _pairs(view.mutes)
    if view.mute_faults:
        yield lead("These annotations have errors. The part that is wrong mutes nothing.")
        yield _pairs(view.mute_faults)


def _section(id_: str, title: str, *children: Child) -> Markup:
    heading = element("h2", title, id=f"{id_}-title")
    return element(
        "section", heading, *children, id=id_, aria_labelledby=f"{id_}-title", tabindex="-1"
    )


def _pairs(pairs: tuple[tuple[str, str], ...]) -> Markup:
    more = len(pairs) - LISTED
    rest = lead(f"And {more} more; the report as JSON (-o json) lists all.") if more > 0 else None
    return join((element("dl", *_entries(pairs[:LISTED]), class_="pairs"), rest))


def _entries(pairs: tuple[tuple[str, str], ...]) -> Iterator[Markup]:
    for left, right in pairs:
        yield from (element("dt", left), element("dd", right))


def _explanation(explanation: Explanation) -> Markup:
    return element(
        "details",
        element("summary", element("b", breakable(explanation.reason))),
        element("dl", *_entries(explanation.facts)),
        id=f"reason-{explanation.reason}",
    )


def _footer(view: PageView) -> Markup:
    about = view.about
    told = [f"status-reporter {about.version}."] if about.version else []
    if about.leading is not None:
        leads = (
            "leads and writes Events." if about.leading else "does not lead: it writes no Events."
        )
        told.append(f"This replica {leads}")
    return element("footer", element("p", " ".join(told)) if told else None)


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


_STAYS: Final = "This page does not renew itself without script: it is loaded again every minute."


def masthead(view: PageView) -> tuple[Markup | None, ...]:
    """Return what stands above everything: how old the page is comes first."""
    live = view.about.live
    return (
        element("div", role="alert", id="alarm", class_="banner", hidden=True) if live else None,
        element(
            "header",
            element("div", *_state(view), id="state"),
            # The script says something else here.
            element("p", _STAYS, id="live", class_="quiet") if live else None,
            element("p", id="said", class_="unseen", role="status") if live else None,
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
        _knows_nothing(view),
    )


def _knows_nothing(view: PageView) -> Markup | None:
    if view.causes or view.models or not view.unknown:
        return None
    causes = list(_by_cause(view.unknown))
    why = "; ".join(f"{cause}: {names}" for cause, names in causes[:_KINDS])
    more = element("a", "All that cannot be read", href="#unknown")
    return element(
        "p", f"No model can be seen, as this cannot be read: {why}. ", more, id="nothing"
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
        begin = "The reporter answers but has not looked at the cluster since "
        end = ". What you see is old."
        return element("p", begin, moment(view.at), end, id="lost", class_="banner")
    lost = about.lost
    return element("p", _lost(lost, view.at), id="lost", class_="banner") if lost else None


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


_NAMED: Final = 8
"""Most namespaces that are named where nothing is wrong."""


def title(view: PathView) -> str:
    stops = any(each.mark is FIRING for lane in view.lanes for each in lane.stations)
    return "Where requests stop" if stops else "The request path"


def picture(view: PathView, bounds: Bounds) -> tuple[Markup | None, ...]:
    lanes = [_lane(each) for each in bounds.first(view.lanes, LANES)]
    return (
        _shared(view),
        element("ol", *lanes, class_="lanes") if lanes else None,
        bounds.rest(view.lanes, LANES),
        _well(view.well, after=bool(lanes)),
    )


def _shared(view: PathView) -> Markup:
    faults = list(map(linked, view.shared))
    word = "all that is needed works" if view.shared_mark.name == "ready" else view.shared_mark.word
    rest = [element("li", shape(view.shared_mark), element("span", word))]
    return element(
        "div",
        element("h3", "Shared parts"),
        element("ul", *(faults or rest)),
        class_=f"shared is-{view.shared_mark.name}",
    )


def _lane(lane: Lane) -> Markup:
    stops = f"requests stop at: {lane.stops_at}" if lane.stops_at else ""
    told = " · ".join(filter(None, (stops, lane.serving)))
    summary = element("summary", element("h3", lane.name), element("span", told, class_="serving"))
    stations = element("ol", *map(_station, lane.stations), class_="stations")
    lines = element("details", summary, stations, open=bool(stops))
    return element("li", lines, data_words=lane.words, class_="lane")


def _station(station: Station) -> Markup:
    text = element("span", station.text, class_="said")
    said = element("a", text, href=f"#{station.id}") if station.id else text
    return element(
        "li",
        shape(station.mark),
        element("span", element("b", station.title), " ", said),
        class_=f"station is-{station.mark.name}{' is-behind' if station.behind else ''}",
    )


def _well(names: tuple[str, ...], *, after: bool) -> Markup | None:
    if not names:
        return None
    named = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    listed = f"{named} and {more} more" if more > 0 else named
    others = " other" if after else ""
    count = f"{len(names)}{others} namespace{'' if len(names) == 1 else 's'}"
    return lead(f"No fault is known in {count}: {listed}.")
