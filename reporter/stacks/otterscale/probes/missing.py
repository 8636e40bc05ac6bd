"""Objects that are missing, a deletion that is stuck, and names and settings that cannot work."""

from collections.abc import Iterator, Mapping
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, SERVICES
from reporter.model.finding import Evaluation, Finding
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.model.text import clean
from reporter.probes.scope import evaluated
from reporter.snapshot.snapshot import Served
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.pods import SIDE_CHANNEL_VARIABLE, side_channel_port
from reporter.stacks.otterscale.manifests.wanted import wanted
from reporter.stacks.otterscale.objects import ModelService
from reporter.stacks.otterscale.probes.fleet import (
    overwriting,
    with_same_cluster_role,
    with_same_picker,
)
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import (
    DELETION_STUCK,
    INVALID,
    MISCONFIGURED,
    OBJECT_MISSING,
)

NEEDED: Final[Mapping[str, Resource[KubeObject]]] = {
    each.kind: each for each in (DEPLOYMENTS, SERVICES, INFERENCEPOOLS, HTTPROUTES)
}
"""Kinds of objects without which requests fail, or soon will."""

_DECODE: Final = 60
_PREFILL: Final = 50
_POOL: Final = 40
_PICKER: Final = 30
_ROUTE: Final = 20


def probe_missing(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each needed object that should exist and does not."""
    for manifest in wanted(scope.service, scope.operator):
        resource = NEEDED.get(manifest.ref.kind)
        if resource is None or not is_missing(scope, resource, manifest.ref.name):
            continue
        severity, effect = _effect(scope, manifest.ref)
        yield scope.finding(
            reason=OBJECT_MISSING,
            related=resource.ref_named(scope.place, manifest.ref.name),
            cause=f"{manifest.ref.kind} {manifest.ref.name} missing",
            text=f"{manifest.ref.kind} {manifest.ref.name} is missing: {effect}",
            severity=severity,
        )


def is_missing(scope: ModelServiceScope, resource: Resource[KubeObject], name: str) -> bool:
    """Tell whether an object is known not to exist, although its kind is installed."""
    if scope.snapshot.state(resource).served is not Served.SERVED:
        return False
    place = scope.place if resource.namespaced else ""
    found = scope.snapshot[resource].get(place, name)
    return found is None and scope.snapshot.absence_known(resource, place, name)


def _effect(scope: ModelServiceScope, ref: ObjectRef) -> tuple[int, str]:
    """Return severity, and what its being missing means."""
    name = scope.service.name
    match ref.kind, ref.name:
        case "Deployment", each if each == names.decode_deployment(name):
            return _DECODE, "no decode pod can serve"
        case "Deployment", each if each == names.prefill_deployment(name):
            is_ready = scope.service.status.phase == "Ready"
            all_the_same = ", and calls the ModelService Ready all the same" if is_ready else ""
            return _PREFILL, f"the operator counts it as no pods wanted{all_the_same}"
        case "InferencePool", _:
            restarts = scope.service.picker.replicas == 1
            more = ", and the endpoint picker restarts without it" if restarts else ""
            return _POOL, f"requests have no backend{more}"
        case "HTTPRoute", _:
            return _ROUTE, "no request is routed to it"
        case "Service", _:
            return (
                _PICKER,
                f"the gateway does not reach the endpoint picker; {scope.without_picker}",
            )
        case _:
            return _PICKER, f"there is no endpoint picker; {scope.without_picker}"


OPERATORS_FINALIZER: Final = "model.otterscale.io/epp-cluster-rbac"
"""Put on every ModelService by the operator (otterscale/model-operator)."""

_MOST: Final = 5


def evaluate_leaving(scope: ModelServiceScope) -> Evaluation:
    """Return what is said about a ModelService that is being deleted: what holds it."""
    finalizers = scope.service.metadata.finalizers or ()
    if not finalizers:
        return Evaluation(findings=(), ready=(), subjects=())
    names = ", ".join(finalizers[:_MOST])
    who = "the operator has not removed" if OPERATORS_FINALIZER in finalizers else "nobody removes"
    found = scope.finding(
        reason=DELETION_STUCK,
        related=scope.ref,
        cause=clean(f"finalizer {finalizers[0]}"),
        text=clean(f"is being deleted and does not go: {who} its finalizer {names}"),
        transition=scope.service.metadata.deletion_timestamp,
    )
    return evaluated(scope, (found,))


_TOO_LONG: Final = 30
_COLLISION: Final = 20
_OVERWRITTEN: Final = 10
_NAMED: Final = 3


def probe_invalid(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each rule of names that the ModelService breaks."""
    name = scope.service.name
    if text := names.too_long(name):
        yield _invalid(scope, "name too long", text, severity=_TOO_LONG)
    others = with_same_picker(scope.service, scope.snapshot)
    if others:
        text = (
            f"{_listed(others)} has the same endpoint picker, {scope.epp_name}: the operator "
            "writes its objects for each of them in turn, and it picks pods of only one of them"
        )
        yield _invalid(
            scope, f"same endpoint picker as {_listed(others)}", text, severity=_COLLISION
        )
    others = overwriting(scope.service, scope.snapshot)
    if others:
        pool = names.inference_pool(name)
        text = (
            f"the operator deletes InferencePool {pool} whenever it reconciles {_listed(others)}, "
            f"whose endpoint picker has that name"
        )
        yield _invalid(scope, f"pool deleted for {_listed(others)}", text, severity=_OVERWRITTEN)


def _invalid(scope: ModelServiceScope, cause: str, text: str, *, severity: int) -> Finding:
    return scope.finding(
        reason=INVALID,
        related=scope.ref,
        cause=cause,
        text=text,
        severity=severity,
        created=scope.service.created,
        exempt=True,
    )


def _listed(others: tuple[ModelService, ...]) -> str:
    shown = ", ".join(each.name for each in others[:_NAMED])
    more = len(others) - _NAMED
    return f"ModelService {shown}" + (f" and {more} more" if more > 0 else "")


def probe_misconfigured(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield one finding that names every combination that does not work."""
    faults = tuple(_faults(scope))
    if not faults:
        return
    yield scope.finding(
        reason=MISCONFIGURED,
        related=scope.ref,
        cause=faults[0][0],
        text="; ".join(text for _, text in faults),
        created=scope.service.created,
        exempt=True,
    )


def _faults(scope: ModelServiceScope) -> Iterator[tuple[str, str]]:
    """Yield a cause in a few words and a sentence for each."""
    service, spec = scope.service, scope.service.spec
    port = service.engine_port
    if spec.routing_proxy is not None and service.target_port == port:
        text = f"spec.routingProxy.targetPort is spec.engine.port, {port}: vLLM and the routing proxy of a decode pod cannot both listen there"
        yield "two listeners on one port", text
    if spec.routing_proxy is not None and side_channel_port(spec.engine.env or ()) == port:
        text = f"{SIDE_CHANNEL_VARIABLE} is spec.engine.port, {port}, where the routing proxy of a decode pod listens"
        yield "two listeners on one port", text
    if spec.prefill is not None and spec.routing_proxy is None:
        text = "spec.prefill without spec.routingProxy: nothing hands requests from decode pods to prefill pods"
        yield "prefill without routing proxy", text
    rivals = _rivals(scope)
    if rivals:
        shown = ", ".join(f"{each.namespace}/{each.name}" for each in rivals[:3])
        text = (
            f"ClusterRole {scope.place}-{scope.epp_name} also belongs to ModelService {shown}: "
            "the metrics of one of the two endpoint pickers cannot be read"
        )
        yield "ClusterRole of two ModelServices", text


def _rivals(scope: ModelServiceScope) -> tuple[ModelService, ...]:
    """Return those that share the name of the ClusterRole, where both have one."""
    if not (scope.operator.metrics_endpoint_auth and scope.service.spec.inference_pool):
        return ()
    others = with_same_cluster_role(scope.service, scope.snapshot)
    return tuple(
        each for each in others if each.spec.inference_pool and each.namespace != scope.place
    )
