"""What KAI's scheduler says of a pod that waits: its gang, or the quota of its queue.

KAI is the default scheduler of Dynamo and Run:ai. Of a gang that is not complete it tells in Events
about the PodGroup only (KAI-Scheduler, pkg/scheduler/cache/status_updater and
pkg/scheduler/api).
"""

import re
from typing import Final

from reporter.diagnosis.texts import Wording
from reporter.model.finding import Diagnosis
from reporter.model.objects import Pod
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Snapshot

_GROUP_NAME: Final = "pod-group-name"
_QUOTED_BYTES: Final = 240

_INCOMPLETE: Final = Wording("gang", "its gang is not complete: {message}",
    "its gang is not complete", "Look at who makes the other pods of PodGroup {name}.")  # fmt: skip
_GANG: Final = Wording("gang",
    "its gang needs {wanted} at once, and finds room for {few} in all: {message}",
    "its gang finds no room together", "Free what is missing, or add nodes.")  # fmt: skip
_OVER_QUOTA: Final = Wording("queue-quota",
    "queue {name}: its quota is {most}, non-preemptible pods have {used} of it, and it asks for "
    "{asks}", "queue {name} is full",
    "Free quota, raise it, or let the workload be preempted.")  # fmt: skip
_OVER_LIMIT: Final = Wording("queue-quota",
    "queue {name}: its limit is {most}, {used} are used, and it asks for {asks}",
    "queue {name} is full", "Free what the queue uses, or raise its limit.")  # fmt: skip

_AMOUNT: Final = r"[^,\n]{1,60}?"
_SAID: Final = (
    (_OVER_QUOTA, re.compile(
        rf"requested (?P<asks>{_AMOUNT}), but (?P<name>[^,\n]{{1,120}}?) quota is "
        rf"(?P<most>{_AMOUNT}), while (?P<used>{_AMOUNT}) are already allocated")),
    (_OVER_LIMIT, re.compile(
        r"(?:^|: )(?P<name>[^:\n]{1,120}?) quota has reached the allowable limit of [\w ]{1,20}\. "
        rf"Limit is (?P<most>{_AMOUNT}), currently (?P<used>{_AMOUNT}) allocated and workload "
        r"requested (?P<asks>[\d.]{1,12} \w{1,8})")),
    (_GANG, re.compile(
        r"were found for (?P<few>[1-9]\d{0,5}) pods (?:from all sub-groups )?while "
        r"(?:sub-group (?P<part>\S{1,253}) requires )?(?P<wanted>\d{1,6}) (?:pods|are required) "
        r"for gang scheduling\. [^:\n]{1,90}: (?P<message>[^\0]{1,240})")),
)  # fmt: skip


def why_in_line(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return why the gang or the queue of a pod keeps it waiting, or None."""
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is None:
        return _incomplete(pod, snapshot)
    message = (scheduled.message or "") if scheduled.status == "False" else ""
    for wording, pattern in _SAID:
        if found := pattern.search(message):
            values: dict[str, str] = {
                name: (each or "").strip(" .\n") for name, each in found.groupdict().items()
            }
            if wanted := values.get("wanted"):
                values["wanted"] = (
                    f"{wanted} pods of {values['part']}" if values["part"] else f"{wanted} pods"
                )
            return wording.of(None, shared=False, **values)
    return None


def _incomplete(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    name = pod.metadata.annotation(_GROUP_NAME)
    events = snapshot.evidence.events_about(pod.namespace, "PodGroup", name) if name else ()
    if not events or events[0].reason != "NotReady":
        return None
    message = cut(clean(events[0].message), _QUOTED_BYTES).rstrip(". ")
    return _INCOMPLETE.of(message=message, name=f"{pod.namespace}/{name}")
