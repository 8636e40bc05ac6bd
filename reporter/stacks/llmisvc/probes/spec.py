"""What keeps KServe from making pods at all.

llminferenceserviceDependencyMissing, llminferenceserviceInvalid and
llminferenceserviceReconcileFailed.
"""

from collections.abc import Iterator
from typing import Final

from reporter.catalogue import resources as r
from reporter.diagnosis.case import why_it_fails
from reporter.model.finding import Finding
from reporter.model.objects import Condition, KubeObject
from reporter.model.resource import Resource
from reporter.stacks.llmisvc import reasons
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.workload.owners import is_false, words

_OF_LLMS_ALONE: Final = (reasons.LEADERWORKERSETS, r.SCALEDOBJECTS)
"""Kinds whose being missing the cluster layer does not tell in the place of this."""

_STILL: Final = "; older pods go on serving"


def probe_spec(scope: LlmScope) -> Iterator[Finding]:
    """Yield what KServe cannot do anything with."""
    missing = tuple(missing_kinds(scope))
    if missing:
        kinds = " and ".join(resource.kind for resource, _ in missing)
        needs = ", nor ".join(
            f"{resource.crd_name}, which {why} needs" for resource, why in missing
        )
        yield scope.finding(
            reason=reasons.DEPENDENCY_MISSING,
            related=scope.ref,
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


def missing_kinds(scope: LlmScope) -> Iterator[tuple[Resource[KubeObject], str]]:
    """Yield each kind that the spec needs and the cluster does not have, with what needs it."""
    for resource, why in _needed(scope):
        # KServe takes a pool of either group.
        kinds = (r.INFERENCEPOOLS, r.FORMER_POOLS) if resource is r.INFERENCEPOOLS else (resource,)
        if all(scope.snapshot.absent(each) for each in kinds):
            yield resource, why


def _needed(scope: LlmScope) -> Iterator[tuple[Resource[KubeObject], str]]:
    wanted = scope.wanted
    if any(each.worker for each in wanted.workloads):
        yield reasons.LEADERWORKERSETS, "a worker in the spec"
    if wanted.scheduler is not None:
        yield r.INFERENCEPOOLS, "spec.router.scheduler"
    if wanted.route is not None:
        yield r.HTTPROUTES, "spec.router.route"
    if wanted.route is not None or wanted.gateways:
        yield r.GATEWAYS, "spec.router"
    if any(each.by_keda for each in wanted.scaling):
        yield r.SCALEDOBJECTS, "scaling by KEDA"


def invalid_presets(scope: LlmScope) -> Condition | None:
    """Return the condition that says that the configs cannot be used; None where nothing does."""
    presets = scope.condition("PresetsCombined")
    return presets if is_false(presets) else None


def _invalid(scope: LlmScope) -> Iterator[Finding]:
    serves = _STILL if any(each.serves for each in scope.roles) else ""
    presets = invalid_presets(scope)
    if presets is not None:
        yield scope.finding(
            reason=reasons.INVALID,
            related=scope.ref,
            cause=presets.reason or "PresetsCombined is False",
            text=f"its configs cannot be combined, {words(presets)}{serves}",
            severity=1,
            transition=presets.last_transition_time,
            created=scope.object.created,
        )
        return
    # Of the places where a config may be: a setting names more than one installation has.
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


def errors(scope: LlmScope) -> Iterator[Condition]:
    """Yield each condition that quotes an error of KServe's last pass."""
    for each in scope.object.status.conditions or ():
        reason = each.reason or ""
        of_pass = reason.startswith("Reconcile") and reason.endswith("Error")
        is_error = of_pass or reason.endswith("ReconcileError") or reason == "ScalingCRDNotFound"
        if is_false(each) and is_error and each.type != "Ready":
            yield each
    ready = scope.condition("Ready")
    if ready is not None and ready.reason == "NewObservedGenFailure" and scope.observed:
        yield ready


def refers_to_nothing(scope: LlmScope) -> tuple[Condition, ...]:
    """Return the conditions by which KServe says that a route or Gateway is missing.

    It ends its pass there: what the router needs is neither made nor looked at (KServe,
    pkg/controller/v1alpha2/llmisvc/router_validation.go).
    """
    found = map(scope.condition, ("GatewaysReady", "HTTPRoutesReady"))
    return tuple(each for each in found if each and is_false(each) and each.reason == "RefsInvalid")


_AGGREGATES: Final = frozenset({"WorkloadsReady", "RouterReady"})


def _errors(scope: LlmScope) -> Iterator[Finding]:
    found = [each for each in errors(scope) if each.type not in _AGGREGATES]
    for each in found or errors(scope):
        yield scope.finding(
            reason=reasons.RECONCILE_FAILED,
            related=scope.ref,
            cause=f"{each.type} {each.reason}",
            text=f"KServe fails, {each.type}: {words(each)}",
            transition=each.last_transition_time,
            diagnosis=why_it_fails(each.message, scope.place),
        )
