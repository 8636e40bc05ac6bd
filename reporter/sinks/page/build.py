"""From a report to what the page shows. Pure."""

from collections import Counter
from hashlib import sha256
from typing import Final

from reporter.catalogue.render import facts
from reporter.model.catalogue import Catalogue
from reporter.model.report import Disposition, Report, ResolvedFinding
from reporter.model.subject import Subject
from reporter.model.text import clean
from reporter.sinks.action import action_of, describe_command
from reporter.sinks.page.history import History
from reporter.sinks.page.layers import layers_of
from reporter.sinks.page.marks import FIRING, READY, UNKNOWN, Mark, mark_of
from reporter.sinks.page.strip import strip_of
from reporter.sinks.page.tree import Branch, grow
from reporter.sinks.page.view import About, Explanation, FindingView, PageView

_RELATION: Final = {
    Disposition.SUPPRESSED: "suppressed by",
    Disposition.SECONDARY: "outranked by",
    Disposition.HELD: "held by",
}


def page_view(report: Report, about: About, history: History) -> PageView:
    """Return what the page shows of a report; the same input gives the same page."""
    branches = grow(report.findings, report.catalogue)
    ids = {each.key: finding_id(each) for each in report.findings}
    causes = tuple(_finding(each, report.catalogue) for each in branches if _fires(each.finding))
    return PageView(
        at=report.now,
        about=about,
        verdict=_verdict(report),
        mark=_worst(report),
        rest=_rest(report),
        causes=causes,
        others=tuple(
            _finding(each, report.catalogue) for each in branches if not _fires(each.finding)
        ),
        layers=layers_of(report, ids),
        strip=strip_of(report.now, history, finding_id, report.catalogue),
        unknown=tuple((each.resource, clean(each.cause)) for each in sorted(report.unknown)),
        skipped=tuple(
            (
                clean(" ".join(filter(None, (each.resource, _place(each.namespace, each.name))))),
                clean(each.cause),
            )
            for each in sorted(report.skipped)
        ),
        reasons=_explanations(report),
    )


def finding_id(finding: ResolvedFinding) -> str:
    """Return the id of a finding's element: of its key, so that it outlives changes of the rest."""
    return "f-" + sha256(repr(finding.key).encode()).hexdigest()[:12]


def subject_text(subject: Subject) -> str:
    """Return how a subject is written."""
    return clean(str(subject))


def _place(namespace: str, name: str) -> str:
    return "/".join(part for part in (namespace, name) if part)


def _fires(finding: ResolvedFinding) -> bool:
    return finding.disposition is Disposition.FIRING


def _verdict(report: Report) -> str:
    firing = sum(map(_fires, report.findings))
    if firing:
        return "1 cause fires" if firing == 1 else f"{firing} causes fire"
    return "Nothing fires, but not everything is known" if report.unknown else "Nothing fires"


def _worst(report: Report) -> Mark:
    marks = [mark_of(each) for each in report.findings]
    if report.unknown:
        marks.append(UNKNOWN)
    return min(marks, key=lambda mark: mark.rank, default=READY)


def _rest(report: Report) -> str:
    counts = Counter(mark_of(each) for each in report.findings)
    told = [
        f"{counts[mark]} {mark.word}"
        for mark in sorted(counts, key=lambda mark: mark.rank)
        if mark is not FIRING
    ]
    if report.ready:
        told.append(f"{len(report.ready)} ready")
    return ", ".join(told)


def _finding(branch: Branch, catalogue: Catalogue) -> FindingView:
    finding = branch.finding
    known = finding.reason in catalogue
    relation = ""
    if finding.by:
        relation = f"{_RELATION.get(finding.disposition, 'by')} {', '.join(finding.by)}"
    return FindingView(
        id=finding_id(finding),
        reason=finding.reason,
        mark=mark_of(finding),
        subject=subject_text(finding.subject),
        message=clean(finding.message),
        cause=clean(finding.cause),
        since=finding.since,
        fires_at=finding.fires_at,
        relation=relation,
        stale=finding.stale,
        means=catalogue[finding.reason].summary if known else "",
        to_do=action_of(finding, catalogue),
        object=clean(str(finding.related)),
        command=describe_command(finding.related),
        below=tuple(_finding(each, catalogue) for each in branch.below),
    )


def _explanations(report: Report) -> tuple[Explanation, ...]:
    catalogue = report.catalogue
    named = {each.reason for each in report.findings}
    return tuple(
        Explanation(each.name, tuple(facts(each, catalogue)))
        for each in catalogue
        if each.name in named
    )
