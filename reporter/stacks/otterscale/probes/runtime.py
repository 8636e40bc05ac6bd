"""What the pages of serving pods say (`reporter/probes/runtime`), as findings of their
ModelService.
"""

from collections.abc import Iterator

from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import SCRAPE_FAILING, of_kind
from reporter.metrics.looks.samples import MetricFault
from reporter.model.finding import Finding
from reporter.model.objects import Pod
from reporter.probes.pods import metric_faults, metric_finding, startup_budget
from reporter.stacks.otterscale.probes.answers import engine_started, has_answered
from reporter.stacks.otterscale.probes.scope import ModelServiceScope


def probe_runtime(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the page of a pod."""
    for pod, fault in metric_faults(scope, scope.pods, waits=waits_for_replicas(scope)):
        silent = fault.reason == SCRAPE_FAILING
        if silent and not has_answered(pod, scope.samples):
            yield _loading(scope, pod, fault)
        else:
            yield metric_finding(scope, pod, fault, lingers=silent)


def waits_for_replicas(scope: ModelServiceScope) -> bool:
    """Tell whether fewer pods are ready than wanted, as in a scale-out or a rollout."""
    return any(role.ready < role.wanted for role in scope.roles)


def _loading(scope: ModelServiceScope, pod: Pod, fault: MetricFault) -> Finding:
    """Return what is told of a Ready pod that does not answer, once it should have its model.

    Its pods have no probes, so that one is Ready minutes before vLLM listens.
    """
    return scope.finding(
        reason=of_kind(SCRAPE_FAILING, scope.subject.kind),
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}: {fault.text}; its engine has not answered since it started",
        severity=fault.severity,
        transition=engine_started(pod) or fault.since,
        created=pod.created,
        exempt=True,
        budget=startup_budget(scope),
        lingers=True,
    )
