"""What the metrics of model pods say: slow downloads, and what a serving engine suffers from.

The rules are in `reporter/probes/runtime`; they are applied when a pod is scraped. Here their
verdicts become findings of the InferenceSet that the pod belongs to.
"""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.runtime import DOWNLOAD_SLOW, DOWNLOAD_STALLED
from reporter.model.finding import Finding
from reporter.model.objects import Pod
from reporter.probes.pods import metric_faults, metric_finding
from reporter.stacks.kaito.probes.scope import WORKSPACE, InferenceSetScope

_DOWNLOADS: Final = frozenset({DOWNLOAD_SLOW, DOWNLOAD_STALLED})

_STREAMING: Final = "ModelMirrorReady"
"""Condition of a Workspace whose pods stream their weights: the page of such a pod looks like that of
a download that stalls."""


def probe_runtime(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the metrics of a pod."""
    for pod, fault in metric_faults(scope, scope.pods, waits=waits_for_replicas(scope)):
        if fault.reason not in _DOWNLOADS or not _streams(scope, pod):
            yield metric_finding(scope, pod, fault)


def waits_for_replicas(scope: InferenceSetScope) -> bool:
    """Tell whether fewer replicas are ready than wanted: a scale-out, or a rollout."""
    ready = scope.inferenceset.status.ready_replicas
    return ready is not None and ready < scope.inferenceset.wanted


def _streams(scope: InferenceSetScope, pod: Pod) -> bool:
    """Tell whether the weights come another way than by a download into the pod."""
    name = pod.metadata.label(WORKSPACE)
    return any(
        each.name == name and each.status.condition(_STREAMING) is not None
        for each in scope.workspaces
    )
