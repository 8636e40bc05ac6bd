"""The probes of LLMInferenceServices: spec, pods, the path to them, and the overall status."""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue import resources as r
from reporter.diagnosis.case import why_it_fails
from reporter.model.finding import Evaluation, Finding, ReadyEvidence, ServingEvidence
from reporter.model.objects import Condition, KubeObject
from reporter.model.resource import Resource
from reporter.probes.pods import judged, metric_faults, metric_finding, startup_budget
from reporter.probes.scope import Probe
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.served.pods import judge_roles, not_ready, switched_off
from reporter.served.role import all_serve, serving_of
from reporter.stacks.llmisvc import reasons
from reporter.stacks.llmisvc.derived import SCALING, derived
from reporter.stacks.llmisvc.objects import LONGEST_NAME
from reporter.stacks.llmisvc.probes import pool, stale
from reporter.stacks.llmisvc.reasons import LLMS, PICKERS
from reporter.stacks.llmisvc.scope import LlmScope
from reporter.workload.components import maker_restarted
from reporter.workload.deployment import is_available
from reporter.workload.endpoint_pickers import fails_open
from reporter.workload.owners import is_false, is_true, words
from reporter.workload.pod import counts, is_ready
from reporter.workload.routing import is_reachable


def probe_ready(scope: LlmScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role has a replica that serves, and requests reach it.

    KServe's status is neither necessary nor sufficient: an autoscaler without its metric makes it
    False, and a stalled rollout leaves it True.
    """
    if not (all_serve(scope.roles) and _is_reached(scope)):
        return
    refs = ((each.title, each.ref) for each in scope.roles if not each.is_idle)
    parts = " and ".join(f"{title}{ref.kind}" for title, ref in refs if ref)
    idle = "".join(f", 0 {each.name} wanted" for each in scope.roles if each.is_idle)
    wanted = scope.wanted
    way = ["it is the endpoint picker"] if wanted.scheduler and not wanted.own_pool else []
    way += ["its route"] if wanted.route is not None else []
    ready = f", {' and '.join(way)} ready" if way else ""
    yield scope.evidence(reasons.READY, f"{parts} available{idle}{ready}")


def probe_serving(scope: LlmScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve, and whether requests reach them, by the same evidence."""
    if _is_known(scope):
        reached = _is_reached(scope) or _is_reachable(scope)
        yield serving_of(scope.subject, scope.roles, reached=reached, routes=scope.routes)


def _is_known(scope: LlmScope) -> bool:
    runs_on: list[Resource[KubeObject]] = [each.resource for each in scope.roles]
    runs_on += [r.DEPLOYMENTS] if scope.wanted.scheduler is not None else []
    runs_on += [r.HTTPROUTES] if scope.wanted.route is not None else []
    return all(map(scope.known, runs_on))


def _is_reachable(scope: LlmScope) -> bool:
    """Return True if some requests get through, even if not on every path."""
    wanted = scope.wanted
    if wanted.route is not None and not is_reachable(scope.routes):
        return False
    if wanted.scheduler is None or _picker_works(scope):
        return True
    return fails_open(scope.pool or scope.former_pool) or stale.avoids_pools(scope.routes)


def _picker_works(scope: LlmScope) -> bool:
    """Return True if requests find a picker; of the user's own, only its Service is checked."""
    if pool.missing_service(scope):
        return False
    if scope.wanted.own_pool:
        return True
    available = scope.epp is not None and is_available(scope.epp)
    return available and pool.unreached_service(scope) is None


def _is_reached(scope: LlmScope) -> bool:
    wanted = scope.wanted
    if wanted.scheduler is not None and not (_picker_works(scope) and pool.is_accepted(scope)):
        return False
    return wanted.route is None or pool.accepts(scope)


_OF_LLMS_ALONE: Final = (reasons.LEADERWORKERSETS, r.SCALEDOBJECTS)
"""Kinds whose absence no cluster finding reports instead."""

_STILL: Final = "; older pods go on serving"


def probe_spec(scope: LlmScope) -> Iterator[Finding]:
    """Yield findings for missing kinds, invalid configs and errors of KServe."""
    missing = [each for each in _needed(scope) if scope.snapshot.absent(each[0])]
    if missing:
        kinds = " and ".join(resource.kind for resource, _ in missing)
        needs = ", nor ".join(
            f"{resource.crd_name}, which {why} needs" for resource, why in missing
        )
        yield scope.finding(
            reason=reasons.DEPENDENCY_MISSING,
            cause=f"{kinds} not installed",
            text=f"the cluster does not serve {needs}",
            created=scope.object.created,
            independent=any(resource in _OF_LLMS_ALONE for resource, _ in missing),
            by_spec=True,
        )
    invalid = tuple(_invalid(scope))
    yield from invalid
    if not invalid and not missing:
        yield from _errors(scope)


def _needed(scope: LlmScope) -> Iterator[tuple[Resource[KubeObject], str]]:
    """Yield each kind that the spec needs, with the part that needs it."""
    wanted = scope.wanted
    if any(each.worker for each in wanted.workloads):
        yield reasons.LEADERWORKERSETS, "a worker in the spec"
    # KServe accepts a pool of either group.
    if wanted.scheduler is not None and scope.snapshot.absent(r.FORMER_POOLS):
        yield r.INFERENCEPOOLS, "spec.router.scheduler"
    if wanted.route is not None:
        yield r.HTTPROUTES, "spec.router.route"
    if wanted.route is not None or wanted.gateways:
        yield r.GATEWAYS, "spec.router"
    if any(each.scaling and each.scaling.by_keda for each in wanted.workloads):
        yield r.SCALEDOBJECTS, "scaling by KEDA"


def _invalid(scope: LlmScope) -> Iterator[Finding]:
    serves = _STILL if any(each.serves for each in scope.roles) else ""
    presets = scope.invalid_presets
    if presets is not None:
        yield scope.finding(
            reason=reasons.INVALID,
            cause=presets.reason or "PresetsCombined is False",
            text=f"its configs cannot be combined, {words(presets)}{serves}",
            severity=1,
            transition=presets.last_transition_time,
            created=scope.object.created,
        )
        return
    # Two places are enough to name: the setting lists more than one installation has.
    places = " nor in ".join(scope.config_places[:2])
    for name, candidates in scope.named_configs.items():
        if all(scope.snapshot.lacks(reasons.CONFIGS, each, name) for each in candidates):
            yield scope.finding(
                reason=reasons.INVALID,
                related=reasons.CONFIGS.ref_named(scope.place, name),
                cause=f"config {name} is missing",
                text=f"LLMInferenceServiceConfig {name} does not exist in {places}{serves}",
                by_spec=True,
            )


_AGGREGATES: Final = frozenset({"WorkloadsReady", "RouterReady"})


def _errors(scope: LlmScope) -> Iterator[Finding]:
    found = [each for each in scope.errors if each.type not in _AGGREGATES]
    for each in found or scope.errors:
        yield scope.finding(
            reason=reasons.RECONCILE_FAILED,
            cause=f"{each.type} {each.reason}",
            text=f"KServe fails, {each.type}: {words(each)}",
            transition=each.last_transition_time,
            diagnosis=why_it_fails(each.message, scope.place, scope.snapshot),
        )


_LEAVES: Final = (
    "MainWorkloadReady", "WorkerWorkloadReady", "PrefillWorkloadReady",
    "PrefillWorkerWorkloadReady", "ScalingReady", "PrefillScalingReady", "GatewaysReady",
    "HTTPRoutesReady", "InferencePoolReady", "SchedulerWorkloadReady", "TokenizerReady",
)  # fmt: skip


def probe_whole(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding if it is not Ready and nothing more specific explains it."""
    status = scope.object.status
    if status.conditions and (is_true(scope.condition("Ready")) or _is_explained(scope)):
        return
    starts = any(counts(each) and not is_ready(each) for each in scope.pods)
    startup = startup_budget(scope)
    yield not_ready(scope, status, writer="KServe", startup=startup, starts=starts)


def _is_explained(scope: LlmScope) -> bool:
    """Return True if each condition that makes Ready False is reported itself, or is no fault."""
    if scope.invalid_presets is not None or scope.errors:
        return True
    wrong = [each for name in _LEAVES if (each := scope.condition(name)) and is_false(each)]
    contradicted = frozenset(stale.contradicted(scope))
    return bool(wrong) and all(
        each.type in SCALING or each.type in contradicted or _waits_for_nothing(scope, each)
        for each in wrong
    )


def _waits_for_nothing(scope: LlmScope, condition: Condition) -> bool:
    """Return True if KServe says that the pool waits for a Gateway, but the pool has no fault.

    KServe only looks for Gateways of routes: if it knows no route, it waits for ever while requests
    are answered.
    """
    if (condition.type, condition.reason) != ("InferencePoolReady", "WaitingForGateway"):
        return False
    return scope.pool is not None and not any(pool.probe_pool(scope))


def probe_missing(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each object that KServe should have created in a pass without errors."""
    if not scope.observed or scope.lacks_config or scope.errors:
        return
    if not is_true(scope.condition("PresetsCombined")):
        return
    for resource, suffix, what in _missing(scope):
        if scope.snapshot.absent(resource) or not scope.known(resource):
            continue
        name = f"{scope.name}{suffix}"[:LONGEST_NAME]
        made = scope.object.created
        again = maker_restarted(scope.resource.kind, made, scope.snapshot, settings=scope.settings)
        yield scope.finding(
            reason=reasons.OBJECT_MISSING,
            related=resource.ref_named(scope.place, name),
            cause=f"{resource.kind} {name} missing",
            text=f"{resource.kind} {name} does not exist: {what}{again}",
        )


def _missing(scope: LlmScope) -> Iterator[tuple[Resource[KubeObject], str, str]]:
    for role in scope.roles:
        if not role.exists:
            side = "-prefill" if role.name == "prefill" else ""
            nodes = "-mn" if role.resource is reasons.LEADERWORKERSETS else ""
            yield role.resource, f"-kserve{nodes}{side}", f"its {role.title}pods are of it"
    service = f"{scope.name}-kserve-workload-svc"
    there = scope.snapshot[r.SERVICES].get(scope.place, service)
    if len(service) <= LONGEST_NAME and there is None:
        yield r.SERVICES, "-kserve-workload-svc", "it leads to its pods"
    if scope.refers_to_nothing:
        return
    wanted = scope.wanted
    if wanted.route is not None and not wanted.own_routes and scope.managed_route is None:
        yield r.HTTPROUTES, "-kserve-route", "requests come by it"
    if wanted.scheduler is not None and not wanted.own_pool:
        if scope.epp is None:
            yield r.DEPLOYMENTS, "-kserve-router-scheduler", "it is the endpoint picker"
        if scope.pool is None and scope.former_pool is None:
            yield r.INFERENCEPOOLS, "-inference-pool", "its route leads to it"


def probe_runtime(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the metrics of a pod."""
    for role in scope.roles:
        for pod, fault in metric_faults(scope, role.pods):
            yield metric_finding(scope, pod, fault, role=role.title)


_PROBES: Final[tuple[Probe[LlmScope], ...]] = (
    probe_spec,
    probe_missing,
    lambda scope: judge_roles(scope, scope.roles),
    pool.probe_epp,
    pool.probe_gateways,
    pool.probe_route,
    pool.probe_others_route,
    pool.probe_pool,
    probe_whole,
    stale.probe_stale,
    stale.probe_scaling,
    stale.probe_group,
    stale.probe_names,
    probe_runtime,
)


def evaluate_llm(scope: LlmScope) -> Evaluation:
    """Evaluate an LLMInferenceService and derive its status.

    A stopped one is only reported as stopped: its URL and its conditions are outdated.
    """
    if scope.object.stopped:
        return switched_off(scope, by="serving.kserve.io/stop")
    ready, serving = probe_ready(scope), probe_serving(scope)
    return judged(
        scope,
        _PROBES,
        ready=ready,
        serving=serving,
        pods=scope.pods,
        pickers=PICKERS,
        derived=derived(scope),
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(resources=(LLMS,), scope=LlmScope, evaluate=evaluate_llm)
)
