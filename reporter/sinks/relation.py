"""Why a finding does not fire, in words; no word says more than the tables do."""

from typing import Final

from reporter.model.report import Disposition, ResolvedFinding

_WORDS: Final = {
    Disposition.SUPPRESSED: "suppressed by",
    Disposition.SECONDARY: "less important here than",
    Disposition.HELD: "waits for",
    Disposition.PENDING: "waits for",
}


def relation(finding: ResolvedFinding) -> str:
    """Return what a finding waits for, is suppressed by or comes after; empty where nothing is.

    That one reason comes before another says nothing of what led to what.
    """
    if not finding.by:
        return ""
    return f"{_WORDS.get(finding.disposition, 'by')} {', '.join(finding.by)}"
