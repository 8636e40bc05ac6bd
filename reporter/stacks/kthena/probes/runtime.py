"""What the pages of serving pods say (`reporter/probes/runtime`), as findings of their
ModelServing.

Pods are named without their uid, as by the other findings about ModelServings.
"""

from collections.abc import Iterator
from dataclasses import replace

from reporter.model.finding import Finding, Undecided
from reporter.probes.pods import metric_faults, metric_finding, undecided_pods
from reporter.stacks.kthena.objects import ENTRY_LABEL
from reporter.stacks.kthena.probes.scope import ModelServingScope


def probe_runtime(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the page of a pod."""
    for pod, fault in metric_faults(scope, scope.pods, waits=_waits(scope)):
        found = metric_finding(scope, pod, fault)
        yield replace(found, related=scope.pod_ref(pod.name))


def undecided(scope: ModelServingScope) -> Undecided:
    """Return the reasons that cannot be judged of each pod now."""
    entries = tuple(each for each in scope.pods if each.metadata.label(ENTRY_LABEL))
    found = undecided_pods(scope, entries, waits=_waits(scope))
    return {scope.pod_ref(ref.name): reasons for ref, reasons in found.items()}


def _waits(scope: ModelServingScope) -> bool:
    """Tell whether groups are still to be made or to be complete, as in a scale-out."""
    running = sum(each.available for each in scope.groups)
    return running < scope.modelserving.wanted
