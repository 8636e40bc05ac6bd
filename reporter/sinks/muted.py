"""Where a mute is and until when, in words."""

from collections.abc import Sequence
from typing import Final

from reporter.model.instant import rfc3339
from reporter.model.report import Disposition, Mute, MuteFault, ResolvedFinding
from reporter.model.text import clean

_NAMED: Final = 3


def where_muted(finding: ResolvedFinding) -> str:
    """Return where a finding is muted, or others of its faults are; empty where nothing is."""
    if not finding.mutes:
        return ""
    places = [mute_place(mute) for mute in finding.mutes[:_NAMED]]
    if len(finding.mutes) > _NAMED:
        places.append(f"{len(finding.mutes) - _NAMED} more")
    how = "muted on" if finding.disposition is Disposition.MUTED else "others muted on"
    return f"{how} {', '.join(places)}"


def mute_place(mute: Mute) -> str:
    """Return which object carries a mute, and until when it counts."""
    until = f" until {rfc3339(mute.until)}" if mute.until else ""
    return f"{clean(str(mute.object))}{until}"


def mute_line(mute: Mute) -> str:
    """Return the same with what is muted."""
    return f"{mute_place(mute)}: {', '.join(mute.reasons)}"


def mute_fault_lines(faults: Sequence[MuteFault]) -> list[str]:
    """Return what is wrong with annotations, a line for each fault."""
    return [f"{clean(str(each.object))}: {clean(each.text)}" for each in faults]
