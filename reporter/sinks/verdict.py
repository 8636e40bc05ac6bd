"""The report in one sentence: how many causes fire, and how many notices."""

from typing import Final

from reporter.model.reason import EventType
from reporter.model.report import Disposition, Report, ResolvedFinding
from reporter.model.subject import Subject

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


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}" if count else ""
