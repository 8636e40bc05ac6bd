"""Faults of pods that cannot be judged now: they neither begin nor end."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from reporter.model.finding import Finding, FindingKey, Undecided
from reporter.model.subject import ObjectRef
from reporter.resolution.memory import Episode


def sustaining(undecided: Undecided, episodes: Mapping[FindingKey, Episode]) -> Iterator[Finding]:
    """Yield a finding that continues each fault which fires for a pod that cannot be judged.

    It carries the uid of the pod that is there, so that a fault ends with the pod that had it.
    """
    firing: dict[ObjectRef, set[FindingKey]] = defaultdict(set)
    for key, episode in episodes.items():
        for (related, _), fault in episode.faults.items():
            if fault.told:
                firing[related].add(key)
    for pod, reasons in undecided.items():
        for key in firing.get(pod, ()):
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
