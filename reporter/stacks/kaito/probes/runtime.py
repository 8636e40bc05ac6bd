"""What the metrics of model pods say: slow downloads, and what a serving engine suffers from.

The rules are in `reporter/probes/runtime`; they are applied when a pod is scraped. Here their
verdicts become findings of the InferenceSet that the pod belongs to.
"""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import (
    BACKLOG,
    DOWNLOAD_SLOW,
    DOWNLOAD_STALLED,
    FROM_METRICS,
    REJECTED,
)
from reporter.metrics.looks.samples import PodFault, Samples
from reporter.model.finding import Finding, Undecided
from reporter.model.objects import InferenceSet, Pod
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.probes.runtime.told import faults, judged_of, running
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.probes.scope import (
    WORKSPACE,
    finding_about,
    live_workspaces,
    model_pods,
)

_DOWNLOADS: Final = frozenset({DOWNLOAD_SLOW, DOWNLOAD_STALLED})

_OF_SCALE: Final = frozenset({BACKLOG, REJECTED})
"""What a replica that is on its way will relieve: it does not begin meanwhile (rows 5 and 8)."""

_STREAMING: Final = "ModelMirrorReady"
"""Condition of a Workspace whose pods stream their weights (section 5.1 of the KAITO sheet): the
page of such a pod looks like a download that stalls (section 6.2)."""


def probe_runtime(
    inferenceset: InferenceSet, snapshot: Snapshot, samples: Samples
) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the metrics of a pod."""
    waits = _waits_for_replicas(inferenceset)
    pods = model_pods(inferenceset, snapshot)
    for reason, pod, fault in faults(pods, samples, SubjectKind.INFERENCESET):
        if reason in _DOWNLOADS and _streams(inferenceset, pod, snapshot):
            continue
        if reason in _OF_SCALE and waits:
            continue
        yield _about(inferenceset, snapshot, pod, fault)


def undecided_pods(inferenceset: InferenceSet, snapshot: Snapshot, samples: Samples) -> Undecided:
    """Return what cannot be judged of the pods of an InferenceSet."""
    if not samples.scraping:
        return {}
    waits = _waits_for_replicas(inferenceset)
    found: dict[ObjectRef, frozenset[str]] = {}
    for pod in running(model_pods(inferenceset, snapshot)):
        judged = judged_of(pod, samples)
        reasons = FROM_METRICS if judged is None else judged.verdict.undecided
        if judged is not None and waits:
            reasons |= _OF_SCALE & judged.verdict.faults.keys()
        if reasons:
            found[PODS.ref(pod)] = reasons
    return found


def _waits_for_replicas(inferenceset: InferenceSet) -> bool:
    """Tell whether fewer replicas are ready than wanted: a scale-out, or a rollout."""
    ready = inferenceset.status.ready_replicas
    return ready is not None and ready < inferenceset.wanted


def _about(inferenceset: InferenceSet, snapshot: Snapshot, pod: Pod, fault: PodFault) -> Finding:
    return finding_about(
        inferenceset,
        snapshot,
        reason=fault.reason,
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}: {fault.text}",
        severity=fault.severity,
        transition=fault.since,
        created=pod.created,
        exempt=True,  # the window was its grace
    )


def _streams(inferenceset: InferenceSet, pod: Pod, snapshot: Snapshot) -> bool:
    """Tell whether the weights come another way than by a download into the pod."""
    name = pod.metadata.label(WORKSPACE)
    return any(
        each.name == name and each.status.condition(_STREAMING) is not None
        for each in live_workspaces(inferenceset, snapshot)
    )
