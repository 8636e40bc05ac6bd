"""From a report to what the page shows. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Final

from reporter.catalogue.render import facts
from reporter.catalogue.resources import NAMESPACES
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, Report, ResolvedFinding
from reporter.model.subject import Subject
from reporter.model.text import clean, cut
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.message import SUPPRESSING
from reporter.sinks.page.episodes import EpisodeHistory, strip_of
from reporter.sinks.page.overview import Branch, grow, layers_of
from reporter.sinks.page.path import path_of
from reporter.sinks.page.view import (
    FIRING,
    NOTICE,
    UNKNOWN,
    Explained,
    Explanation,
    FindingView,
    LayerView,
    Mark,
    PageView,
    ReportOrigin,
    mark_of,
)
from reporter.sinks.words import (
    NO_VERDICT,
    action_of,
    change_lines,
    impact_line,
    is_blind,
    is_cause,
    is_notice,
    models_text,
    mute_place,
    verdict,
    where_muted,
    without_changes,
)
from reporter.sinks.words import relation as relation_of

_CAUSE_BYTES: Final = 300


def page_view(report: Report, about: ReportOrigin, history: EpisodeHistory) -> PageView:
    """Return what the page shows of a report; the same input gives the same page."""
    branches = grow(report.findings, report.catalogue)
    ids = {each.key: finding_id(each.key) for each in report.findings}
    layers = layers_of(report, ids)
    blind = bool(report.unknown or about.lost or any(map(is_blind, report.findings)))
    marks = _marks(layers, blind=blind)
    return PageView(
        at=report.now,
        about=replace(about, notes=(*map(str, report.outside), *about.notes)),
        verdict=_verdict(report, blind=blind),
        mark=min(marks, key=lambda mark: mark.rank, default=UNKNOWN),
        rest=_rest(marks),
        models=models_text(report),
        causes=_findings(branches, is_cause, report),
        notices=_findings(branches, is_notice, report),
        not_seen=_findings(branches, is_blind, report),
        others=tuple(
            sorted(_findings(branches, _is_quiet, report), key=lambda each: each.mark.rank)
        ),
        path=path_of(report, ids),
        layers=layers,
        strip=strip_of(report.now, history, finding_id, catalogue=report.catalogue),
        unknown=tuple((each.resource, clean(each.cause)) for each in sorted(report.unknown)),
        skipped=tuple(
            (
                clean(" ".join(filter(None, (each.resource, _place(each.namespace, each.name))))),
                clean(each.cause),
            )
            for each in sorted(report.skipped)
        ),
        mutes=tuple(
            (mute_place(each), ", ".join(each.reasons))
            for each in sorted(report.mutes, key=lambda mute: mute.object.kind != NAMESPACES.kind)
        ),
        mute_faults=tuple(
            (clean(str(each.object)), clean(each.text)) for each in report.mute_faults
        ),
        reasons=_explanations(report),
    )


def finding_id(key: FindingKey) -> str:
    """Return the id of a finding's element: of its key, so that it outlives changes of the rest."""
    return "f-" + sha256(repr(key).encode()).hexdigest()[:12]


def subject_text(subject: Subject) -> str:
    """Return how a subject is written."""
    return clean(str(subject))


def _place(namespace: str, name: str) -> str:
    return "/".join(part for part in (namespace, name) if part)


def _is_quiet(finding: ResolvedFinding) -> bool:
    return finding.disposition is not Disposition.FIRING and not is_blind(finding)


def _findings(
    branches: Iterable[Branch], wanted: Callable[[ResolvedFinding], bool], report: Report
) -> tuple[FindingView, ...]:
    return tuple(_finding(each, report) for each in branches if wanted(each.finding))


def _verdict(report: Report, *, blind: bool) -> str:
    said = verdict(report)
    doubtful = blind and not any(map(is_cause, report.findings)) and NO_VERDICT not in said
    return f"{said}{', but not everything is known' if doubtful else ''}"


def _marks(layers: Iterable[LayerView], *, blind: bool) -> Counter[Mark]:
    """Return how many findings are in which state, and how many subjects ready or without verdict.

    What cannot be read is without verdict too, but cannot be counted: a page without a fault looks
    well only if everything is known and something is ready.
    """
    marks: Counter[Mark] = Counter()
    for layer in layers:
        marks.update(dict(layer.counts))
    if blind:
        marks[UNKNOWN] += 0
    return marks


def _rest(marks: Counter[Mark]) -> str:
    quiet = sorted(set(marks) - {FIRING, NOTICE}, key=lambda mark: mark.rank)
    return ", ".join(f"{marks[mark]} {mark.word}" for mark in quiet if marks[mark])


def _finding(branch: Branch, report: Report) -> FindingView:
    finding, catalogue = branch.finding, report.catalogue
    known = finding.reason in catalogue
    relation = where_muted(finding)
    if finding.by:
        relation = relation_of(finding)
    elif finding.disposition is Disposition.CLEARING:
        # Its cause is the last one seen.
        relation = "not seen any more"
    return FindingView(
        id=finding_id(finding.key),
        reason=finding.reason,
        mark=mark_of(finding),
        subject=subject_text(finding.subject),
        message=_message(finding),
        cause=cut(clean(finding.message if finding.by else finding.cause), _CAUSE_BYTES),
        since=finding.since,
        age_known=finding.age_known,
        not_before=finding.not_before,
        fires_at=finding.fires_at,
        relation=relation,
        stale=finding.stale,
        means=catalogue[finding.reason].summary if known else "",
        to_do=action_of(finding, catalogue),
        object=clean(str(finding.related)),
        commands=finding.commands,
        explained=_explained(finding, report),
        below=tuple(_finding(each, report) for each in branch.below),
        # The line has no room for what kind of text it is, and its place tells.
        impact=impact_line(finding, report).partition(": ")[2],
        changes=change_lines(finding),
        last_words=finding.last_lines,
    )


def _message(finding: ResolvedFinding) -> str:
    """Return what the Event says but for what the page says next to it: what else is explained."""
    said = clean(without_changes(finding))
    return said.partition(SUPPRESSING)[0] if finding.is_cause else said


def _explained(finding: ResolvedFinding, report: Report) -> Explained:
    """Count what a cause suppresses as its message does, and what waits for it."""
    if not finding.is_cause:
        return Explained()
    upstream, catalogue = upstream_key(finding.key), report.catalogue
    behind = [
        each
        for each in report.findings
        if each.by
        and upstream in explainers(each.reason, each.by, catalogue, rests_on=each.rests_on)
    ]
    suppressed = [each for each in behind if each.disposition is Disposition.SUPPRESSED]
    places = {each.subject.namespace for each in suppressed} - {""}
    waiting = {Disposition.HELD, Disposition.PENDING}
    return Explained(
        len(suppressed), len(places), sum(each.disposition in waiting for each in behind)
    )


def _explanations(report: Report) -> tuple[Explanation, ...]:
    catalogue = report.catalogue
    named = {each.reason for each in report.findings}
    return tuple(
        Explanation(each.name, tuple(facts(each, catalogue)))
        for each in catalogue
        if each.name in named
    )
