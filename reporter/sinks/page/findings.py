"""Findings as HTML: a dense line for each, which opens to everything else that is known of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from reporter.sinks.page.markup import (
    BELOW,
    LINES,
    Bounds,
    Child,
    Markup,
    breakable,
    element,
    join,
    moment,
    shape,
    since,
)
from reporter.sinks.page.view import HELD, PENDING, SECONDARY, SUPPRESSED, FindingView

MANY: Final = 40
"""Of a longer list only what is on the screen is laid out."""


_NAMED: Final = 5
"""Models that a cause names in its line; the others are one click away."""


def causes(findings: Sequence[FindingView], now: datetime, bounds: Bounds) -> Markup:
    shown = [_cause(each, now, bounds) for each in bounds.first(findings, LINES)]
    class_ = "causes many" if len(shown) > MANY else "causes"
    return join((element("ol", *shown, class_=class_), bounds.rest(findings, LINES)))


def rows(
    findings: Sequence[FindingView], now: datetime, bounds: Bounds, *, most: int = LINES
) -> Markup:
    shown = [_row(each, now, bounds) for each in bounds.first(findings, most)]
    class_ = "rows many" if len(shown) > MANY else "rows"
    return join((element("ul", *shown, class_=class_), bounds.rest(findings, most)))


def _cause(finding: FindingView, now: datetime, bounds: Bounds) -> Markup:
    brief = [_told_below(finding), finding.relation]
    if finding.stale:
        brief.append("stale: what it depends on cannot be read now")
    summary = element(
        "summary",
        shape(finding.mark),
        element("span", finding.message, class_="message", data_copy=True),
        element("h3", breakable(finding.reason), data_copy=True),
        element("span", finding.subject, class_="subject", data_copy=True),
        element("span", finding.impact, class_="impact", data_copy=True)
        if finding.impact
        else None,
        element("span", *_named(finding), class_="hits", data_copy=True) if finding.hits else None,
        element("span", *_lasting(finding, now), class_="age"),
        element("span", finding.changes[0], class_="change") if finding.changes else None,
        element("span", " · ".join(filter(None, brief)), class_="brief"),
    )
    return element(
        "li",
        element("details", summary, *_opened(finding, now, bounds), id=f"{finding.id}-more"),
        id=finding.id,
        class_=f"cause is-{finding.mark.name}",
        tabindex="-1",
    )


def _named(finding: FindingView) -> Iterable[Child]:
    yield f"Hits {', '.join(finding.hits[:_NAMED])}"
    if len(finding.hits) > _NAMED:
        yield " and "
        yield element("a", f"{len(finding.hits) - _NAMED} more", href=f"#{finding.id}-hits")


def _lasting(finding: FindingView, now: datetime) -> Iterable[Child]:
    yield finding.mark.word
    if finding.age_known:
        yield " for "
        yield since(finding.since, now)
    elif finding.not_before:
        yield " for at most "
        yield since(finding.not_before, now)
    else:
        yield ", age unknown"


def _opened(finding: FindingView, now: datetime, bounds: Bounds) -> Iterable[Child]:
    yield _facts(finding)
    if len(finding.hits) > _NAMED:
        names = element("ul", *(element("li", each) for each in finding.hits), class_="names")
        yield element("div", element("p", "All that it hits:"), names, id=f"{finding.id}-hits")
    button = element("button", "Copy as text", type="button", class_="copy")
    yield element("p", _all_about(finding), button, class_="actions")
    if finding.below:
        yield element("div", rows(finding.below, now, bounds, most=BELOW), class_="below")


def _told_below(finding: FindingView) -> str:
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
        parts.append(f"{marks[SECONDARY]} outranked")
    return ", ".join(parts)


def _row(finding: FindingView, now: datetime, bounds: Bounds) -> Markup:
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
            element("span", *_why(finding, now), class_="brief"),
        ),
    )
    inner = (
        element("p", finding.message, class_="message")
        if finding.message != finding.cause
        else None,
        _facts(finding, to_do=False),
        element("p", _all_about(finding), class_="actions"),
        rows(finding.below, now, bounds, most=BELOW) if finding.below else None,
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
        yield since(finding.fires_at, now, "until")
        yield " more at least" if finding.mark is HELD else " at the earliest"


def _all_about(finding: FindingView) -> Markup | None:
    if not finding.means:
        return None
    name = join(("All about ", breakable(finding.reason)))
    return element("a", name, href=f"#reason-{finding.reason}")


def _facts(finding: FindingView, *, to_do: bool = True) -> Markup:
    entries: list[Markup] = []

    def add(title: str, *said: Child, copied: str | None = None) -> None:
        told = element("dd", *said, data_copy=f"{title}: " if copied is None else copied or None)
        entries.append(join((element("dt", title), told)))

    if finding.age_known:
        add("Since", moment(finding.since))
    for change in finding.changes:
        add("Changed", change)
    if finding.last_words:
        lines = element("code", "\n".join(finding.last_words), class_="log", tabindex="0")
        add("Last words", lines)
    if to_do and finding.to_do:
        add("To do", finding.to_do)
    add("Object", finding.object)
    if finding.commands:
        add("Look", *map(_command, finding.commands), copied="")
    return element("dl", *entries)


def _command(text: str) -> Markup:
    code = element("code", text, class_="command", tabindex="0", data_copy="$ ")
    button = element("button", "Copy", type="button", class_="copy", data_command=text)
    return element("div", code, button, class_="typed")
