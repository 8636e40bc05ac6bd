"""A key on its way through the resolution.

Faults of pods that cannot be judged now: they neither begin nor end.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.finding import Finding, FindingKey, Undecided
from reporter.model.instant import Instant
from reporter.model.reason import Reason
from reporter.model.report import Disposition, Mute
from reporter.model.subject import ObjectRef
from reporter.resolution.grace import Fault, severity_key
from reporter.resolution.memory import Episode, UpstreamKey


@dataclass(frozen=True)
class Candidate:
    """The faults of one key that are seen now, the worst first, and what has been decided of them so far.

    `disposition` is None until a step decides it. `clears_at` is when a fault that was told has recovered,
    where only muted ones are seen. Its message speaks of what is `told`; an upstream leaves there what it
    does not explain, and a mute what it is not about.
    """

    key: FindingKey
    reason: Reason
    faults: tuple[Fault, ...]
    episode: Episode | None
    disposition: Disposition | None = None
    by: tuple[str, ...] = ()
    holds_until: timedelta | None = None
    clears_at: timedelta | None = None
    told: tuple[Fault, ...] = field(default=())
    mutes: tuple[Mute, ...] = ()

    @cached_property
    def ripe(self) -> tuple[Fault, ...]:
        """The faults whose grace has passed."""
        return tuple(fault for fault in self.faults if fault.ripe)

    @property
    def sole_place(self) -> str:
        """The namespace that alone needs what is at fault; empty where others do."""
        places = {each.says.sole_place for each in self.faults}
        return places.pop() if len(places) == 1 else ""

    @property
    def was_active(self) -> bool:
        """Whether it fired, openly or outranked, in the last pass."""
        return self.episode is not None and self.episode.active

    @property
    def was_told(self) -> bool:
        """Whether it fired openly in the last pass, or was clearing after that."""
        told = (Disposition.FIRING, Disposition.CLEARING)
        return self.episode is not None and self.episode.shown.disposition in told

    @property
    def under_an_episode(self) -> bool:
        """Whether the key fired before, for a fault that is not seen, and all seen are in grace."""
        return not self.ripe and self.episode is not None and self.episode.fired

    @property
    def worst(self) -> Fault:
        return (self.told or self.ripe or self.faults)[0]

    @property
    def rests_on(self) -> tuple[UpstreamKey, ...]:
        """What its single faults rest on: nodes at fault, and objects that several share; sorted."""
        found = (rests_on(each.says) for each in self.faults)
        return tuple(sorted({each for each in found if each is not None}))

    def since(self, now: Instant) -> datetime:
        """Return the start of the episode; it is fixed once it has fired.

        Where all of its faults were muted and another one is told now, that one begins it.
        """
        if self.ripe:
            was_muted = self.episode is not None and self.episode.muted
            heard = self.told if self.mutes and self.disposition is not Disposition.MUTED else ()
            if self.episode is not None and self.episode.fired and not (heard and was_muted):
                return self.episode.since
            return min(fault.since for fault in heard or self.ripe)
        first = min(self.faults, key=lambda fault: (fault.remaining, fault.since))
        return min(first.since, now.wall)

    def age_known(self, now: Instant) -> bool:
        """Tell whether the start of the episode rests on a time that was seen or written down."""
        if self.episode is not None and self.episode.fired:
            return True
        since = self.since(now)
        return any(fault.age_known for fault in self.faults if fault.since == since)


def rests_on(finding: Finding) -> UpstreamKey | None:
    """Return the cause that one fault rests on; None where it is not known to rest on another."""
    return (CLUSTER_NODE, finding.lost_node) if finding.lost_node else finding.rests_on


def worst_first(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Order faults by severity, then by the object's name: never by the order of a list."""
    return tuple(sorted(faults, key=lambda fault: (severity_key(fault.says), fault.clock)))


def sustaining(undecided: Undecided, episodes: Mapping[FindingKey, Episode]) -> Iterator[Finding]:
    """Yield a finding for each fault that is remembered of a pod which cannot be judged.

    It continues the fault if that one fires.

    It carries the uid of the pod that is there, so that a fault ends with the pod that had it.
    """
    known: dict[ObjectRef, set[FindingKey]] = defaultdict(set)
    for key, episode in episodes.items():
        for related, _ in episode.faults:
            known[related].add(key)
    for pod, reasons in undecided.items():
        for key in known.get(pod, ()):
            if key.reason in reasons:
                shown = episodes[key].shown
                yield Finding(
                    reason=key.reason,
                    subject=key.subject,
                    involved=key.involved,
                    related=pod,
                    message=shown.message,
                    cause=shown.cause,
                    sustains=True,
                )
