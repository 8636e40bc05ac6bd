"""What is muted: a fault that would be told, were it not for an annotation."""

from dataclasses import replace

from reporter.model.report import Disposition
from reporter.resolution.candidate import Candidate
from reporter.resolution.mutes import Mutes


def mute(candidate: Candidate, mutes: Mutes) -> Candidate:
    """Return the candidate without the faults that are muted; as muted where no other is left.

    One that is in grace, held or suppressed stays so: nothing would be told of it anyway. Who
    suppresses has been decided before, for a cause that is muted is known, and its symptoms are
    no news. It outranks nothing, for priority is an order and no explanation.
    """
    if candidate.disposition not in {None, Disposition.PENDING} or not candidate.ripe:
        return candidate
    by_fault = [(fault, mutes.of(fault.says)) for fault in candidate.told or candidate.ripe]
    found = tuple(dict.fromkeys(each for _, those in by_fault for each in those))
    if not found:
        return candidate
    told = tuple(fault for fault, those in by_fault if not those)
    if told:
        return replace(candidate, told=told, mutes=found)
    return replace(candidate, disposition=Disposition.MUTED, mutes=found)
