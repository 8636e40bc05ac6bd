"""What the pages of endpoint pickers say, as findings of the deployment that they pick for."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from reporter.catalogue.pickers import (
    NO_ENDPOINTS,
    PICKER_NAMES,
    SCHEDULING_FAILING,
    STALE_METRICS,
)
from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import METRICS_MISSING, SCRAPE_FAILING, of_kind
from reporter.metrics.looks.samples import PodVerdict
from reporter.model.finding import Finding, ServingEvidence, Undecided
from reporter.model.objects import KubeObject, Pod
from reporter.model.stack import ScrapedPickers
from reporter.probes.pods import metric_finding
from reporter.probes.runtime.picker_rules import EMPTY
from reporter.probes.runtime.pod_findings import judged_of, running, verdicts
from reporter.probes.scope import SubjectScope
from reporter.workload.components import picker_pods
from reporter.workload.pod import counts, is_ready

_UNREAD: Final = frozenset({SCRAPE_FAILING, METRICS_MISSING})


def probe_pickers(
    scope: SubjectScope[KubeObject], row: ScrapedPickers, pods: Iterable[Pod]
) -> Iterator[Finding]:
    """Yield a finding for each fault that the page of a picker shows.

    Without a Ready pod a picker has nothing to pick, and one that is not Ready itself is told of as such.

    Args:
        scope: of the deployment.
        row: how its pickers are found.
        pods: its model pods.

    """
    pods = tuple(pod for pod in pods if counts(pod))
    ready = tuple(pod for pod in pods if is_ready(pod))
    silent = {
        STALE_METRICS: any(map(_is_unread, verdicts(ready, scope.samples))),
        SCHEDULING_FAILING: len(ready) < len(pods),
    }
    for picker in _pickers(scope, row) if ready else ():
        judged = judged_of(picker, scope.samples)
        for fault in judged.verdict.faults.values() if judged else ():
            if not silent.get(fault.reason):
                yield metric_finding(scope, picker, fault, role="endpoint picker ")


def undecided_pickers(scope: SubjectScope[KubeObject], row: ScrapedPickers) -> Undecided:
    """Return the reasons that cannot be judged of each picker now."""
    if not scope.samples.scraping:
        return {}
    kind = scope.subject.kind
    found = {}
    for picker in _pickers(scope, row):
        judged = judged_of(picker, scope.samples)
        reasons = PICKER_NAMES if judged is None else judged.verdict.undecided
        if reasons:
            found[PODS.ref(picker)] = frozenset(of_kind(each, kind) for each in reasons)
    return found


def as_picked(
    scope: SubjectScope[KubeObject], row: ScrapedPickers, serving: Iterable[ServingEvidence]
) -> Iterator[ServingEvidence]:
    """Yield the evidence; requests reach nothing while no Ready picker knows an endpoint.

    It answers such a request itself, with 503 (Gateway API Inference Extension v1.5,
    pkg/epp/requestcontrol/director.go), so that failureMode of the pool does not help. One that knows
    pods and has no fresh metrics of them chooses among them all the same.
    """
    verdicts = [
        judged.verdict for pod in _pickers(scope, row) if (judged := judged_of(pod, scope.samples))
    ]
    none = bool(verdicts) and all(map(_knows_no_endpoint, verdicts))
    return (replace(each, reached=False) if none else each for each in serving)


def _is_unread(verdict: PodVerdict) -> bool:
    """Tell whether the reporter cannot read the page of a pod either, which is told of the pod."""
    return verdict.failing or not _UNREAD.isdisjoint(verdict.faults)


def _knows_no_endpoint(verdict: PodVerdict) -> bool:
    doubt = verdict.doubts.get(NO_ENDPOINTS)
    open_fault = doubt.fault if doubt is not None and doubt.open else None
    fault = verdict.faults.get(NO_ENDPOINTS, open_fault)
    return fault is not None and fault.severity >= EMPTY


def _pickers(scope: SubjectScope[KubeObject], row: ScrapedPickers) -> Iterator[Pod]:
    pods = picker_pods(scope.snapshot, row, scope.place, name=scope.name)
    return (pod for pod in running(pods) if is_ready(pod))
