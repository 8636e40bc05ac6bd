"""The report in one sentence: how many causes fire, how many notices, and what has no verdict."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reporter.model.reason import EventType
from reporter.model.report import (
    NOT_IN_DUMP,
    Disposition,
    Report,
    ResolvedFinding,
    UnknownResource,
)
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Subject
from reporter.model.text import clean
from reporter.probes.cluster.blindness import NO_FAULT

NOTHING_FIRES: Final = "Nothing fires"

NO_VERDICT: Final = "no verdict"
"""What a subject has that is neither ready nor at fault."""

NOT_SEEN: Final = "What the reporter cannot see"
"""Title of what is told apart from the causes."""

NOT_ALL_SEEN: Final = "the reporter cannot see everything"


def is_blind(finding: ResolvedFinding) -> bool:
    """Tell whether a finding says what the reporter cannot see, which is no cause of the stack."""
    return finding.is_blind


def is_cause(finding: ResolvedFinding) -> bool:
    """Tell whether a finding is a fault of the stack that fires."""
    return finding.is_cause


def is_notice(finding: ResolvedFinding) -> bool:
    """Tell whether a finding fires that is no fault but worth knowing, such as a canary."""
    return finding.disposition is Disposition.FIRING and finding.type is EventType.NORMAL


def verdict(report: Report) -> str:
    """Return how much fires; causes and notices are counted apart.

    That nothing does is not said alone where nothing is known of a subject.
    """
    causes = sum(map(is_cause, report.findings))
    notices = sum(map(is_notice, report.findings))
    told = [_counted(count, word) for count, word in ((causes, "cause"), (notices, "notice"))]
    fires = "fires" if causes + notices == 1 else "fire"
    if any(told):
        return f"{' and '.join(filter(None, told))} {fires}"
    without = len(without_verdict(report))
    if not without:
        return NOTHING_FIRES
    have = "has" if without == 1 else "have"
    return f"{NOTHING_FIRES}, but {_counted(without, 'subject')} {have} {NO_VERDICT}"


def without_verdict(report: Report) -> list[Subject]:
    """Return the subjects that are neither ready nor at fault: they start, or rest on what is unknown."""
    judged = {each.subject for each in report.findings} | {each.subject for each in report.ready}
    return sorted(set(report.subjects) - judged)


@dataclass(frozen=True, slots=True)
class WithoutVerdict:
    """Models that have no verdict because something could not be read.

    Attributes:
        models: those that are known to exist.
        kinds: resources of models that could not be read, so that nobody knows which exist.
        unread: what could not be read, the kinds among it.

    """

    models: tuple[Subject, ...]
    kinds: tuple[UnknownResource, ...]
    unread: tuple[UnknownResource, ...]

    def __bool__(self) -> bool:
        return bool(self.models or self.kinds)


def models_without_verdict(report: Report) -> WithoutVerdict:
    """Return the models without a verdict, and what could not be read of what they rest on.

    A model that merely starts is not one of them. A layer of the cluster or of a namespace has its
    own line in the report and does not count: with `-n` it never has a verdict.
    """
    not_tried = NO_FAULT - {NOT_IN_DUMP}
    unknown = {each.resource: each for each in report.unknown if each.cause not in not_tried}
    models: list[Subject] = []
    unread: set[UnknownResource] = set()
    for subject in without_verdict(report):
        if subject.kind in {CLUSTER_KIND, NAMESPACE_KIND}:
            continue
        reads = {
            str(each)
            for reason in report.catalogue.of_ready(subject.kind)
            for each in reason.all_reads
        }
        if found := reads & unknown.keys():
            models.append(subject)
            unread.update(unknown[each] for each in found)
    kinds = tuple(sorted(set(_kinds_unread(report, unknown.values()))))
    return WithoutVerdict(tuple(models), kinds, tuple(sorted(unread.union(kinds))))


def _kinds_unread(report: Report, unknown: Iterable[UnknownResource]) -> Iterator[UnknownResource]:
    of_models = {
        str(resource)
        for kind in report.catalogue.kinds
        if kind not in {CLUSTER_KIND, NAMESPACE_KIND}
        for resource in report.catalogue.of_subject(kind)
    }
    # What a dump leaves out may not be there at all.
    return (each for each in unknown if each.resource in of_models and each.cause != NOT_IN_DUMP)


def why_without_verdict(report: Report, found: WithoutVerdict) -> str:
    """Return in one line which models have no verdict, why, and what would let them have one."""
    names = [str(each) for each in found.models] or [each.resource for each in found.kinds]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    have = "have" if more else "has"
    what = f"{names[0]}{more} {have} {NO_VERDICT}"
    if not found.models:
        what = f"nobody knows which models there are: {names[0]}{more} could not be read"
    absent = [each.resource for each in found.unread if each.cause == NOT_IN_DUMP]
    refused = [
        each.message
        for each in report.findings
        if each.is_blind and any(one.resource in each.message for one in found.unread)
    ]
    said = refused[:1]
    if absent:
        said.append(
            f"not in the dump: {', '.join(absent)}; add what this prints: "
            f"kubectl get {','.join(absent)} -A -o yaml"
        )
    if not said:
        said = [
            f"could not be read: {', '.join(f'{e.resource} ({e.cause})' for e in found.unread)}"
        ]
    return clean(f"{what}. {'. '.join(said)}. To exit with 0 all the same: --allow-unknown")


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}" if count else ""
