"""Findings as HTML: a card for a cause, a line for what hangs below it or does not fire."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from reporter.model.instant import rfc3339
from reporter.sinks.age import age
from reporter.sinks.page.marks import HELD, PENDING, SECONDARY, SUPPRESSED
from reporter.sinks.page.markup import NOTHING, Child, Markup, breakable, element, join
from reporter.sinks.page.symbols import shape
from reporter.sinks.page.view import FindingView

CARDS: Final = 60
"""Most causes that have a card; the others have a line, which opens."""

MANY: Final = 100
"""Of a longer list only what is on the screen is laid out."""

_OPEN: Final = 12
"""A list of at most so many findings below a cause is open from the start."""


def cards(findings: Sequence[FindingView], now: datetime) -> Markup:
    """Return what fires: cards first, and lines where there are very many."""
    lines = findings[CARDS:]
    return join(
        (
            element("ol", *(_card(each, now) for each in findings[:CARDS]), class_="cards"),
            element("h3", f"{len(lines)} more") if lines else None,
            rows(lines, now) if lines else None,
        )
    )


def rows(findings: Sequence[FindingView], now: datetime) -> Markup:
    """Return findings as lines, each of which opens."""
    class_ = "rows many" if len(findings) > MANY else "rows"
    return element("ul", *(_row(each, now) for each in findings), class_=class_)


def _card(finding: FindingView, now: datetime) -> Markup:
    return element(
        "li",
        element("h3", shape(finding.mark), element("span", breakable(finding.reason))),
        element("p", *_state(finding, now), class_="state"),
        element("p", finding.impact, class_="impact") if finding.impact else None,
        element("p", finding.message, class_="message"),
        element(
            "details",
            element("summary", "Explanation and command"),
            _facts(finding, meaning=True),
            id=f"{finding.id}-more",
        ),
        _below(finding, now),
        id=finding.id,
        class_=f"card is-{finding.mark.name}",
        tabindex="-1",
    )


def _state(finding: FindingView, now: datetime) -> Iterable[Child]:
    yield element("strong", finding.subject)
    yield join((" · ", finding.mark.word, *_lasting(finding, now)))
    if finding.relation:
        yield f" · {finding.relation}"
    if finding.stale:
        yield " · stale: what it depends on cannot be read now"


def _lasting(finding: FindingView, now: datetime) -> Iterable[Child]:
    return (" for ", since(finding.since, now)) if finding.age_known else (", age unknown",)


def _below(finding: FindingView, now: datetime) -> Markup:
    if not finding.below:
        return NOTHING
    count = sum(1 for each in finding.below for _ in _all(each))
    return element(
        "details",
        element("summary", _told_below(finding)),
        rows(finding.below, now),
        id=f"{finding.id}-below",
        class_="below",
        open=count <= _OPEN,
    )


def _told_below(finding: FindingView) -> str:
    """Say what hangs below a cause: what it explains, what waits for it, what is less important."""
    explained, marks = finding.explained, Counter(each.mark for each in finding.below)
    suppressed = explained.suppressed or marks[SUPPRESSED]
    parts: list[str] = []
    if suppressed:
        places = f" in {explained.namespaces} namespace(s)" if explained.namespaces else ""
        parts.append(f"explains {suppressed} other{'' if suppressed == 1 else 's'}{places}")
    waiting = explained.waiting or marks[HELD] + marks[PENDING]
    if waiting:
        parts.append(f"{waiting} wait{'s' if waiting == 1 else ''} for it")
    if marks[SECONDARY]:
        parts.append(f"{marks[SECONDARY]} less important here")
    text = ", ".join(parts) or f"{len(finding.below)} below"
    return text[0].upper() + text[1:]


def _all(finding: FindingView) -> Iterable[FindingView]:
    yield finding
    for each in finding.below:
        yield from _all(each)


def _row(finding: FindingView, now: datetime) -> Markup:
    summary = element(
        "summary",
        shape(finding.mark),
        element(
            "span",
            element("span", finding.mark.word, class_="word"),
            " ",
            element("b", breakable(finding.reason)),
            " ",
            element("span", finding.subject, class_="subject"),
            " ",
            element("span", *_why(finding, now), class_="cause"),
        ),
    )
    inner = (
        element("p", finding.message, class_="message"),
        _facts(finding, meaning=False),
        rows(finding.below, now) if finding.below else None,
    )
    return element(
        "li",
        element("details", summary, *inner, id=f"{finding.id}-more"),
        id=finding.id,
        tabindex="-1",
    )


def _why(finding: FindingView, now: datetime) -> Iterable[Child]:
    yield finding.cause
    if finding.stale:
        yield ", stale"
    if finding.relation:
        yield f", {finding.relation}"
    if finding.fires_at is not None:
        yield ", held for " if finding.mark is HELD else ", fires in "
        yield until(finding.fires_at, now)
        yield " more at least" if finding.mark is HELD else " at the earliest"


def _facts(finding: FindingView, *, meaning: bool) -> Markup:
    titled: list[tuple[str, Child]] = []
    if meaning:
        titled += [("Meaning", finding.means), ("To do", finding.to_do)]
    titled.append(("Object", finding.object))
    if finding.commands:
        lines = (element("code", each, class_="command", tabindex="0") for each in finding.commands)
        titled.append(("Look", join(lines)))
    entries = [join((element("dt", title), element("dd", text))) for title, text in titled if text]
    more = element(
        "a", join(("All about ", breakable(finding.reason))), href=f"#reason-{finding.reason}"
    )
    return join((element("dl", *entries), element("p", more) if finding.means else None))


def since(moment: datetime, now: datetime) -> Markup:
    """Return how long ago a moment was, kept up to date by the script."""
    return _time(moment, age(now - moment), "since")


def until(moment: datetime, now: datetime) -> Markup:
    """Return how long it is until a moment, kept up to date by the script."""
    return _time(moment, age(max(moment, now) - now), "until")


def _time(moment: datetime, text: str, relation: str) -> Markup:
    exact = rfc3339(moment)
    return element("time", text, datetime=exact, title=exact, data_relation=relation)
