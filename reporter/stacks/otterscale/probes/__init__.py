"""Probes of ModelServices: one module for each reason (OtterScale sheet 0, 4 and 5)."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import Evaluation, Finding, KnownSubject
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.probes.runtime.told import verdicts
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.otterscale.objects import ModelService
from reporter.stacks.otterscale.probes.answers import has_answered
from reporter.stacks.otterscale.probes.drift import probe_drift
from reporter.stacks.otterscale.probes.epp import probe_epp
from reporter.stacks.otterscale.probes.fleet import (
    operator_of,
    overwriting,
    with_same_cluster_role,
    with_same_picker,
)
from reporter.stacks.otterscale.probes.invalid import probe_invalid
from reporter.stacks.otterscale.probes.misconfigured import probe_misconfigured
from reporter.stacks.otterscale.probes.missing import probe_missing
from reporter.stacks.otterscale.probes.operator_told import (
    probe_not_observed,
    probe_reconcile_failed,
)
from reporter.stacks.otterscale.probes.pods import probe_pods
from reporter.stacks.otterscale.probes.ready import probe_ready
from reporter.stacks.otterscale.probes.rollout import probe_rollout
from reporter.stacks.otterscale.probes.route import probe_route
from reporter.stacks.otterscale.probes.runtime import probe_runtime, undecided_pods
from reporter.stacks.otterscale.probes.scope import View, view_of
from reporter.stacks.otterscale.probes.status import derived, probe_status

_Probe: TypeAlias = Callable[[View], Iterator[Finding]]

_PROBES: Final[tuple[_Probe, ...]] = (
    probe_invalid,
    probe_not_observed,
    probe_reconcile_failed,
    probe_missing,
    probe_epp,
    probe_route,
    probe_misconfigured,
    probe_status,
    probe_drift,
)

_BESIDE: Final[tuple[Resource[KubeObject], ...]] = (
    r.DEPLOYMENTS,
    r.PODS,
    r.INFERENCEPOOLS,
    r.HTTPROUTES,
    r.DESTINATIONRULES,
    r.PODMONITORS,
    r.SERVICEMONITORS,
    r.SERVICEACCOUNTS,
    r.PLUGINS_CONFIGMAPS,
)
"""What is read of the namespace, beside what all answers rest on."""


def modelservice_inputs(
    service: ModelService, snapshot: Snapshot, samples: Samples
) -> tuple[tuple[object, ...], ...]:
    """Return the objects that the answer about a ModelService rests on."""
    pods = view_of(service, snapshot).pods
    beside = tuple(snapshot[each].in_namespace(service.namespace) for each in _BESIDE)
    return (
        *beside,
        (operator_of(snapshot),),
        with_same_picker(service, snapshot),
        overwriting(service, snapshot),
        with_same_cluster_role(service, snapshot),
        verdicts(pods, samples),
        tuple(has_answered(each, samples) for each in pods),
    )


def evaluate_modelservice(
    service: ModelService,
    snapshot: Snapshot,
    settings: EvaluationSettings,
    samples: Samples = NONE,
) -> Evaluation:
    """Return all that is said about one ModelService, and the status that it should have.

    One that is being deleted is no subject, and nothing is said about it.
    """
    if service.deleting:
        return Evaluation((), (), ())
    view = view_of(service, snapshot, settings.operator_given)
    findings = [finding for probe in _PROBES for finding in probe(view)]
    findings += probe_pods(view, settings, samples)
    findings += probe_rollout(view, settings)
    findings += probe_runtime(view, settings, samples)
    return Evaluation(
        findings=tuple(findings),
        ready=tuple(probe_ready(view)),
        subjects=(KnownSubject(view.subject, service.created),),
        undecided=undecided_pods(view, samples),
        derived=derived(view),
    )
