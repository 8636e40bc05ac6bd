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
from reporter.stacks.otterscale import reasons
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.values import side_channel_port
from reporter.stacks.otterscale.objects import ModelService
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, cluster_role, picker_place

NEEDED: Final[Mapping[str, Resource[KubeObject]]] = {
    each.kind: each for each in (DEPLOYMENTS, SERVICES, INFERENCEPOOLS, HTTPROUTES)
}
"""Kinds of objects without which requests fail, or soon will."""


def probe_missing(scope: ModelServiceScope) -> Iterator[Finding]:
    for ref in (each.ref for each in scope.wanted):
        resource = NEEDED.get(ref.kind)
        if resource is None or not is_missing(scope, resource, ref.name):
            continue
        severity, effect = _effect(scope, ref)
        yield scope.finding(
            reason=reasons.OBJECT_MISSING,
            related=resource.ref_named(scope.place, ref.name),
            cause=f"{ref.kind} {ref.name} missing",
            text=f"{ref.kind} {ref.name} is missing: {effect}",
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
    match ref.kind, ref.name.removeprefix(f"{scope.name}-"):
        case "Deployment", names.DECODE:
            return 60, "no decode pod can serve"
        case "Deployment", names.PREFILL:
            is_ready = scope.object.status.phase == "Ready"
            all_the_same = ", and calls the ModelService Ready all the same" if is_ready else ""
            return 50, f"the operator counts it as no pods wanted{all_the_same}"
        case "InferencePool", _:
            restarts = scope.object.picker.replicas == 1
            more = ", and the endpoint picker restarts without it" if restarts else ""
            return 40, f"requests have no backend{more}"
        case "HTTPRoute", _:
            return 20, "no request is routed to it"
        case "Service", _:
            picker = "the gateway does not reach the endpoint picker"
        case _:
            picker = "there is no endpoint picker"
    return 30, f"{picker}; {scope.without_picker}"


_FINALIZER: Final = "model.otterscale.io/epp-cluster-rbac"
"""Put on every ModelService by the operator (otterscale/model-operator)."""

_MOST: Final = 5


def evaluate_leaving(scope: ModelServiceScope) -> Evaluation:
    """Return what is said about a ModelService that is being deleted: what holds it."""
    finalizers = scope.object.metadata.finalizers or ()
    if not finalizers:
        return Evaluation(findings=(), ready=(), subjects=())
    who = "the operator has not removed" if _FINALIZER in finalizers else "nobody removes"
    found = scope.finding(
        reason=reasons.DELETION_STUCK,
        related=scope.ref,
        cause=clean(f"finalizer {finalizers[0]}"),
        text=clean(
            f"is being deleted and does not go: {who} its finalizer {', '.join(finalizers[:_MOST])}"
        ),
        transition=scope.object.metadata.deletion_timestamp,
    )
    return evaluated(scope, (found,))


_NAMED: Final = 3


def probe_invalid(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield a finding for each rule of names that the ModelService breaks."""
    for severity, cause, text in _invalid(scope):
        yield scope.finding(
            reason=reasons.INVALID,
            related=scope.ref,
            cause=cause,
            text=text,
            severity=severity,
            created=scope.object.created,
            exempt=True,
        )


def _invalid(scope: ModelServiceScope) -> Iterator[tuple[int, str, str]]:
    """Yield severity, cause and text of each."""
    if text := names.too_long(scope.name):
        yield 30, "name too long", text
    if others := _listed(scope.others(picker_place, picker_place(scope.object))):
        text = (
            f"{others} has the same endpoint picker, {scope.epp_name}: the operator "
            "writes its objects for each of them in turn, and it picks pods of only one of them"
        )
        yield 20, f"same endpoint picker as {others}", text
    # Those whose endpoint picker is called like this one delete its pool.
    if others := _listed(scope.others(picker_place, (scope.place, scope.name))):
        text = (
            f"the operator deletes InferencePool {scope.name} whenever it reconciles {others}, "
            f"whose endpoint picker has that name"
        )
        yield 10, f"pool deleted for {others}", text


def _listed(others: tuple[ModelService, ...]) -> str:
    if not others:
        return ""
    shown = ", ".join(each.name for each in others[:_NAMED])
    more = len(others) - _NAMED
    return f"ModelService {shown}" + (f" and {more} more" if more > 0 else "")


def probe_misconfigured(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield one finding that names every combination that does not work."""
    faults = tuple(_faults(scope))
    if not faults:
        return
    yield scope.finding(
        reason=reasons.MISCONFIGURED,
        related=scope.ref,
        cause=faults[0][0],
        text="; ".join(text for _, text in faults),
        created=scope.object.created,
        exempt=True,
    )


def _faults(scope: ModelServiceScope) -> Iterator[tuple[str, str]]:
    """Yield a cause in a few words and a sentence for each."""
    service, spec = scope.object, scope.object.spec
    port = service.engine_port
    if spec.routing_proxy is not None and service.target_port == port:
        text = f"spec.routingProxy.targetPort is spec.engine.port, {port}: vLLM and the routing proxy of a decode pod cannot both listen there"
        yield "two listeners on one port", text
    if spec.routing_proxy is not None and side_channel_port(spec.engine.env or ()) == port:
        text = f"{names.SIDE_CHANNEL_VARIABLE} is spec.engine.port, {port}, where the routing proxy of a decode pod listens"
        yield "two listeners on one port", text
    if spec.prefill is not None and spec.routing_proxy is None:
        text = "spec.prefill without spec.routingProxy: nothing hands requests from decode pods to prefill pods"
        yield "prefill without routing proxy", text
    rivals = [
        f"{each.namespace}/{each.name}"
        for each in scope.others(cluster_role, cluster_role(service))
        if each.spec.inference_pool and each.namespace != scope.place
    ]
    # Where metrics need no token there is no ClusterRole, and neither without a pool.
    if rivals and scope.operator.metrics_endpoint_auth and spec.inference_pool:
        text = (
            f"ClusterRole {scope.place}-{scope.epp_name} also belongs to ModelService "
            f"{', '.join(rivals[:_NAMED])}: "
            "the metrics of one of the two endpoint pickers cannot be read"
        )
        yield "ClusterRole of two ModelServices", text
