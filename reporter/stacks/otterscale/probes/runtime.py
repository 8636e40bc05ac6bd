"""What the pages of serving pods say (`reporter/probes/runtime`), as findings of their
ModelService.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import BACKLOG, REJECTED, SCRAPE_FAILING, of_kind
from reporter.metrics.looks.samples import PodFault, Samples
from reporter.model.finding import Finding, Undecided
from reporter.model.objects import Pod
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.probes.runtime.told import faults, judged_of, running, undecided
from reporter.settings import EvaluationSettings
from reporter.stacks.otterscale.probes.answers import engine_started, has_answered
from reporter.stacks.otterscale.probes.scope import View, finding_about

_KIND: Final = SubjectKind.MODELSERVICE
_OF_SCALE: Final = frozenset(of_kind(each, _KIND) for each in (BACKLOG, REJECTED))
"""What a replica that is on its way will relieve: it does not begin meanwhile."""

_SILENT: Final = of_kind(SCRAPE_FAILING, _KIND)


def probe_runtime(view: View, settings: EvaluationSettings, samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the page of a pod."""
    waits = _waits_for_replicas(view)
    for reason, pod, fault in faults(view.pods, samples, _KIND):
        if reason in _OF_SCALE and waits:
            continue
        loads = reason == _SILENT and not has_answered(pod, samples)
        yield _loading(view, pod, fault, settings) if loads else _about(view, reason, pod, fault)


def undecided_pods(view: View, samples: Samples) -> Undecided:
    """Return what cannot be judged of the pods of a ModelService."""
    found = dict(undecided(view.pods, samples, _KIND))
    if not _waits_for_replicas(view):
        return found
    for pod in running(view.pods):
        judged = judged_of(pod, samples)
        raised = {of_kind(each, _KIND) for each in judged.verdict.faults} if judged else set()
        if held := _OF_SCALE & raised:
            ref: ObjectRef = PODS.ref(pod)
            found[ref] = found.get(ref, frozenset()) | held
    return found


def _waits_for_replicas(view: View) -> bool:
    return any(role.ready < role.wanted for role in view.roles)


def _about(view: View, reason: str, pod: Pod, fault: PodFault) -> Finding:
    return finding_about(
        view,
        reason=reason,
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}: {fault.text}",
        severity=fault.severity,
        transition=fault.since,
        created=pod.created,
        exempt=True,  # the window was its grace
        lingers=reason == _SILENT,
    )


def _loading(view: View, pod: Pod, fault: PodFault, settings: EvaluationSettings) -> Finding:
    """Return what is told of a Ready pod that does not answer, once it should have its model.

    Without probes it is Ready minutes before vLLM listens (fact 1).
    """
    return finding_about(
        view,
        reason=_SILENT,
        related=PODS.ref(pod),
        cause=fault.cause,
        text=f"pod {pod.name}: {fault.text}; its engine has not answered since it started",
        severity=fault.severity,
        transition=engine_started(pod) or fault.since,
        created=pod.created,
        exempt=True,
        budget=timedelta(seconds=settings.model_startup_budget_seconds),
        lingers=True,
    )
