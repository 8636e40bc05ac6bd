"""Faults of pods that cannot be judged now: they neither begin nor end."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from reporter.model.finding import Finding, FindingKey, Undecided
from reporter.model.subject import ObjectRef
from reporter.resolution.memory import Episode


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
