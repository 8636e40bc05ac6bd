"""The whole page as HTML."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from reporter.model.instant import rfc3339
from reporter.sinks.page import findings, overview
from reporter.sinks.page.assets import asset, policy_of_file
from reporter.sinks.page.filter import LONGEST
from reporter.sinks.page.markup import Child, Markup, breakable, element, join
from reporter.sinks.page.symbols import SYMBOLS, shape
from reporter.sinks.page.view import Explanation, Lost, PageView
from reporter.sinks.verdict import NOT_SEEN

LISTED: Final = 50
"""Most mutes, faults of mutes and malformed objects; how many more there are is said."""

_KINDS: Final = 3
"""Most kinds that are named where some cannot be read at the moment."""


def page_html(view: PageView, *, version: str = "") -> str:
    """Return the page: with links to its style sheet and script where a daemon serves it, else in
    one file that needs neither a server nor a script.

    Args:
        view: what it shows.
        version: of what it shows; a served page asks whether there is a newer one.

    """
    live = view.about.live
    body = element(
        "body",
        SYMBOLS,
        element("a", "Skip to the causes", href="#causes", class_="skip"),
        _header(view),
        element("main", *_sections(view), id="main"),
        _footer(view),
        data_version=version if live else None,
        data_now=rfc3339(view.at) if live else None,
    )
    head = element("head", *(_served_head(view) if live else _file_head(view)))
    return f"<!doctype html>\n{element('html', head, body, lang='en').html}\n"


def _head(view: PageView) -> Iterator[Child]:
    yield element("meta", charset="utf-8")
    yield element("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield element("meta", name="color-scheme", content="light dark")
    yield element("meta", name="robots", content="noindex")
    yield element("title", f"{view.verdict} · status reporter")


def _served_head(view: PageView) -> Iterator[Child]:
    yield from _head(view)
    yield element("link", rel="icon", href="icon.svg", type="image/svg+xml")
    yield element("link", rel="stylesheet", href="page.css")
    yield element("script", src="page.js", defer=True)


def _file_head(view: PageView) -> Iterator[Child]:
    yield element("meta", http_equiv="Content-Security-Policy", content=policy_of_file())
    yield from _head(view)
    # Text of ours in which a browser looks for nothing but the end of the element.
    yield element("style", Markup(asset("page.css")))


def _header(view: PageView) -> Markup:
    about = view.about
    rest = " ".join(filter(None, (view.models, f"{view.rest}." if view.rest else ""))) + " "
    state = join((_lost(about.lost, view.at) if about.lost else None, rest, _as_of(view)))
    live = None
    if about.live:
        # The script says something else here.
        text = "This page does not renew itself without script: reload it."
        live = element("p", text, id="live", class_="quiet")
    said = element("p", id="said", class_="unseen", role="status") if about.live else None
    return element(
        "header",
        element("p", "Status reporter", class_="product"),
        element("h1", shape(view.mark), element("span", view.verdict), id="verdict"),
        element("p", state, id="rest"),
        live,
        said,
        overview.overview(view.layers),
        _search(view) if about.live else None,
    )


def _as_of(view: PageView) -> Markup | None:
    if view.about.lost and not view.about.lost.resources:
        # The report is newer than what it rests on.
        return None
    source = f" ({view.about.time})" if view.about.time else ""
    return join(("As of ", _moment(view.at), f"{source}."))


def _lost(lost: Lost, now: datetime) -> Markup:
    said = "The API server is out of reach: what has changed since "
    if lost.resources:
        named, more = lost.resources[:_KINDS], len(lost.resources) - _KINDS
        names = ", ".join([*named, f"{more} more"] if more > 0 else named)
        said = f"The connection is lost for {names}: what has changed of them since "
    ago = (_moment(lost.since), " (", findings.since(lost.since, now), " ago) may be missing here.")
    return join((element("strong", said, *ago), " "))


def _moment(moment: datetime) -> Markup:
    return element("time", rfc3339(moment), datetime=rfc3339(moment))


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
        element("p", id="shown", class_="quiet", role="status"),
        role="search",
        method="get",
        id="search",
    )


def _sections(view: PageView) -> Iterator[Markup]:
    narrowed = f" that names “{view.query}”" if view.query else ""
    causes = (
        findings.cards(view.causes, view.at)
        if view.causes
        else element("p", f"No cause fires{narrowed}.", class_="quiet")
    )
    notices = others = None
    if view.notices:
        notices = element(
            "section",
            element("h3", "Notices, which are no faults"),
            findings.cards(view.notices, view.at),
            id="notices",
        )
    if view.others:
        others = element(
            "section",
            element("h3", "Not firing"),
            findings.rows(view.others, view.at),
            id="others",
        )
    yield _section("causes", "What is wrong", causes, notices, others)
    yield _section("stack", "Stack", *map(overview.layer, view.layers))
    yield _section("hour", "Last hour", overview.hour(view.strip))
    if view.not_seen or view.unknown:
        yield _section("unknown", NOT_SEEN, *_not_seen(view))
    if view.skipped:
        lead = "These objects are malformed and were left out."
        yield _section(
            "skipped", "Skipped", element("p", lead, class_="quiet lead"), _pairs(view.skipped)
        )
    if view.mutes or view.mute_faults:
        yield _section("mutes", "Mutes", *_mutes(view))
    if view.reasons:
        reasons = element("div", *map(_explanation, view.reasons), class_="columns")
        yield _section("reasons", "Reasons on this page", reasons)
    if view.about.notes:
        notes = [element("li", each) for each in view.about.notes]
        yield _section("notes", "Notes", element("ul", *notes))


def _not_seen(view: PageView) -> Iterator[Child]:
    if view.not_seen:
        lead = "This is no cause of the stack: the reporter itself lacks a right, a connection or a way."
        yield element("p", lead, class_="quiet lead")
        yield findings.rows(view.not_seen, view.at)
    if view.unknown:
        lead = "These cannot be read. What rests on them is neither healthy nor at fault."
        yield element("p", lead, class_="quiet lead")
        yield _pairs(view.unknown)


def _mutes(view: PageView) -> Iterator[Child]:
    if view.mutes:
        lead = "Annotations on these objects keep these reasons from being told."
        yield element("p", lead, class_="quiet lead")
        yield _pairs(view.mutes)
    if view.mute_faults:
        lead = "These annotations have errors. The part that is wrong mutes nothing."
        yield element("p", lead, class_="quiet lead")
        yield _pairs(view.mute_faults)


def _section(id_: str, title: str, *children: Child) -> Markup:
    heading = element("h2", title, id=f"{id_}-title")
    return element(
        "section", heading, *children, id=id_, aria_labelledby=f"{id_}-title", tabindex="-1"
    )


def _pairs(pairs: tuple[tuple[str, str], ...]) -> Markup:
    entries = [join((element("dt", left), element("dd", right))) for left, right in pairs[:LISTED]]
    more = len(pairs) - LISTED
    rest = f"And {more} more; the report as JSON (-o json) lists all."
    return join(
        (
            element("dl", *entries, class_="pairs"),
            element("p", rest, class_="quiet lead") if more > 0 else None,
        )
    )


def _explanation(explanation: Explanation) -> Markup:
    entries = [
        join((element("dt", title), element("dd", text))) for title, text in explanation.facts
    ]
    return element(
        "details",
        element("summary", element("b", breakable(explanation.reason))),
        element("dl", *entries),
        id=f"reason-{explanation.reason}",
    )


def _footer(view: PageView) -> Markup:
    about = view.about
    told: list[str] = []
    if about.version:
        told.append(f"status-reporter {about.version}.")
    if about.leading is not None:
        told.append(
            "This replica leads and writes Events."
            if about.leading
            else "This replica does not lead: it writes no Events."
        )
    return element("footer", element("p", " ".join(told)) if told else None)
