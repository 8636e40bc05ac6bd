"""Pods that do not work or are not there, and llminferenceserviceObjectMissing: what KServe makes and is not there."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, SERVICES
from reporter.model.finding import Finding
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.served.pods import PodReasons, judge_pods, judge_workloads
from reporter.snapshot.snapshot import Served
from reporter.stacks.llmisvc.objects import LONGEST_NAME
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import errors
from reporter.stacks.llmisvc.reasons import (
    LEADERWORKERSETS,
    MODEL_LOAD_FAILED,
    OBJECT_MISSING,
    PODS_NOT_CREATED,
    PODS_NOT_READY,
    ROLLOUT_STUCK,
    STORAGE_FAILED,
)
from reporter.workload.owners import is_true

_REASONS: Final = PodReasons(
    storage_failed=STORAGE_FAILED,
    model_load_failed=MODEL_LOAD_FAILED,
    pods_not_ready=PODS_NOT_READY,
    pods_not_created=PODS_NOT_CREATED,
    rollout_stuck=ROLLOUT_STUCK,
)


def probe_pods(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each pod at fault, and for each workload that lacks pods or stalls."""
    yield from judge_pods(scope, scope.roles, _REASONS)
    yield from judge_workloads(scope, scope.roles, _REASONS)


def probe_missing(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each object that KServe should have made in a pass without an error."""
    if not scope.observed or not is_true(scope.condition("PresetsCombined")) or any(errors(scope)):
        return
    if scope.lacks_config:
        return
    for resource, suffix, what in _missing(scope):
        if scope.snapshot.state(resource).served is Served.ABSENT or not scope.known(resource):
            continue
        name = f"{scope.name}{suffix}"[:LONGEST_NAME]
        yield scope.finding(
            reason=OBJECT_MISSING,
            related=resource.ref_named(scope.place, name),
            cause=f"{resource.kind} {name} missing",
            text=f"{resource.kind} {name}, {what}, does not exist",
        )


def _missing(scope: LlmScope) -> Iterator[tuple[Resource[KubeObject], str, str]]:
    for role in scope.roles:
        if role.exists:
            continue
        side = "-prefill" if role.name == "prefill" else ""
        what = f"which its {role.title}pods are of"
        if role.resource is LEADERWORKERSETS:
            yield LEADERWORKERSETS, f"-kserve-mn{side}", what
        else:
            yield DEPLOYMENTS, f"-kserve{side}", what
    service = f"{scope.name}-kserve-workload-svc"
    if len(service) <= LONGEST_NAME and scope.snapshot[SERVICES].get(scope.place, service) is None:
        yield SERVICES, "-kserve-workload-svc", "which leads to its pods"
    wanted = scope.wanted
    if wanted.route is not None and not wanted.own_routes and scope.managed_route is None:
        yield HTTPROUTES, "-kserve-route", "which requests come by"
    if wanted.scheduler is not None and not wanted.own_pool:
        if scope.epp is None:
            yield DEPLOYMENTS, "-kserve-router-scheduler", "its endpoint picker"
        if scope.pool is None and scope.former_pool is None:
            yield INFERENCEPOOLS, "-inference-pool", "which its route leads to"
