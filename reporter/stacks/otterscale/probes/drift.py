"""Objects that are missing or differ from what the operator creates, a deletion that is stuck, and
names and settings that cannot work.

Secrets and Roles are never read. ClusterRoles and their bindings are only checked for existence,
and only if `otterscale_cluster_roles` asks for it. Replicas are not compared; images, tracing and
tokens only if their settings are `given`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation, Finding
from reporter.model.objects import Deployment, KubeObject, TemplateContainer
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut
from reporter.probes.scope import evaluated
from reporter.snapshot.snapshot import Served
from reporter.stacks.otterscale import objects as api
from reporter.stacks.otterscale import operator_flags as given
from reporter.stacks.otterscale import reasons
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.wanted import (
    IMAGES,
    Manifest,
    config_checksum,
    config_key,
    container_of,
    metrics_auth,
    side_channel_port,
    unwanted,
)
from reporter.stacks.otterscale.probes.compared import (
    COMPARED,
    Entries,
    differing_leaves,
    differing_parts,
    entries_of,
    whole_of,
)
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, cluster_role, picker_place

_NEEDED: Final = (r.DEPLOYMENTS, r.SERVICES, r.INFERENCEPOOLS, r.HTTPROUTES)
"""Kinds of objects without which requests fail, or soon will."""


def probe_missing(scope: ModelServiceScope) -> Iterator[Finding]:
    for ref in (each.ref for each in scope.wanted):
        resource = COMPARED.get(ref.kind)
        if resource is None or resource not in _NEEDED:
            continue
        if not is_missing(scope, resource, ref.name):
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
    """Return True if an object is known not to exist, although its kind is installed."""
    if scope.snapshot.state(resource).served is not Served.SERVED:
        return False
    return scope.snapshot.lacks(resource, scope.place if resource.namespaced else "", name)


def _effect(scope: ModelServiceScope, ref: ObjectRef) -> tuple[int, str]:
    """Return the severity and the effect of a missing object."""
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
"""The operator puts it on every ModelService (otterscale/model-operator)."""

_MOST: Final = 5


def evaluate_leaving(scope: ModelServiceScope) -> Evaluation:
    """Evaluate a ModelService that is being deleted: report the finalizers that hold it."""
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
    """Yield a finding for each naming rule that the ModelService breaks."""
    found = partial(
        scope.finding,
        reason=reasons.INVALID,
        related=scope.ref,
        created=scope.object.created,
        exempt=True,
    )
    if text := names.too_long(scope.name):
        yield found(cause="name too long", text=text, severity=30)
    if others := _listed(scope.others(picker_place, picker_place(scope.object))):
        text = (
            f"{others} has the same endpoint picker, {scope.epp_name}: the operator "
            "writes its objects for each of them in turn, and it picks pods of only one of them"
        )
        yield found(cause=f"same endpoint picker as {others}", text=text, severity=20)
    # The operator deletes its pool for ModelServices whose endpoint picker has its name.
    if others := _listed(scope.others(picker_place, (scope.place, scope.name))):
        text = (
            f"the operator deletes InferencePool {scope.name} whenever it reconciles {others}, "
            f"whose endpoint picker has that name"
        )
        yield found(cause=f"pool deleted for {others}", text=text, severity=10)


def _listed(others: tuple[api.ModelService, ...]) -> str:
    if not others:
        return ""
    shown = ", ".join(each.name for each in others[:_NAMED])
    more = len(others) - _NAMED
    return f"ModelService {shown}" + (f" and {more} more" if more > 0 else "")


def probe_misconfigured(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield one finding that names every combination of settings that does not work."""
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
    """Yield a short cause and a sentence for each fault."""
    service, spec = scope.object, scope.object.spec
    port = spec.engine.port
    if spec.routing_proxy is not None and spec.routing_proxy.target_port == port:
        text = (
            f"spec.routingProxy.targetPort is spec.engine.port, {port}: vLLM and the routing proxy "
            "of a decode pod cannot both listen there"
        )
        yield "two listeners on one port", text
    if spec.routing_proxy is not None and side_channel_port(spec.engine.env or ()) == port:
        text = (
            f"{names.SIDE_CHANNEL_VARIABLE} is spec.engine.port, {port}, where the routing proxy "
            "of a decode pod listens"
        )
        yield "two listeners on one port", text
    if spec.prefill is not None and spec.routing_proxy is None:
        text = (
            "spec.prefill without spec.routingProxy: nothing hands requests from decode pods to "
            "prefill pods"
        )
        yield "prefill without routing proxy", text
    rivals = [
        f"{each.namespace}/{each.name}"
        for each in scope.others(cluster_role, cluster_role(service))
        if each.spec.inference_pool and each.namespace != scope.place
    ]
    # There is no ClusterRole if metrics need no token, nor without a pool.
    if rivals and scope.operator.metrics_endpoint_auth and spec.inference_pool:
        text = (
            f"ClusterRole {scope.place}-{scope.epp_name} also belongs to ModelService "
            f"{', '.join(rivals[:_NAMED])}: "
            "the metrics of one of the two endpoint pickers cannot be read"
        )
        yield "ClusterRole of two ModelServices", text


_VALUE_BYTES: Final = 200
_REPORTED_ELSEWHERE: Final = frozenset({*_NEEDED, r.DESTINATIONRULES})
"""Kinds that requests depend on: other reasons report missing ones."""
_FOR_TOKENS: Final = frozenset({reasons.CLUSTERROLES, reasons.CLUSTERROLEBINDINGS})
"""Kinds that an endpoint picker needs to check the tokens of clients that read its metrics."""

_EFFECTS: Final[Mapping[Resource[KubeObject], str]] = {
    r.DESTINATIONRULES: "the gateway may not reach the endpoint picker, as for failureMode",
    reasons.PODMONITORS: "metrics of the pods are not collected as asked for",
    reasons.SERVICEMONITORS: "metrics of the endpoint picker are not collected",
    reasons.SERVICEACCOUNTS: "no new pod of the endpoint picker can be made",
    reasons.PLUGINS_CONFIGMAPS: "a new pod of the endpoint picker ends for want of its file",
    **dict.fromkeys(
        _FOR_TOKENS, "the endpoint picker may not check tokens, so its metrics cannot be read"
    ),
    r.DEPLOYMENTS: "its pods do not run as the ModelService says",
    r.SERVICES: "the gateway may not reach the endpoint picker, as for failureMode",
    r.INFERENCEPOOLS: "requests may reach other pods, or fail when the endpoint picker is down",
    r.HTTPROUTES: "requests may not reach the model, or others may",
}
"""The effect of a difference, or of a missing object."""

_UNWATCHED_KINDS: Final = frozenset({
    r.DESTINATIONRULES, reasons.PODMONITORS, reasons.SERVICEMONITORS, reasons.CLUSTERROLES,
    reasons.CLUSTERROLEBINDINGS,
})  # fmt: skip
"""Kinds that the operator does not watch: drift lasts until it reconciles for another reason."""

_UNWATCHED: Final = (
    "; the operator does not watch %s: only a change of the spec, or its restart, makes it correct "
    "them"
)
_WATCHED: Final = (
    "; the operator corrects %s as soon as they change: somebody keeps changing them, or it does "
    "not work"
)


@dataclass(frozen=True, slots=True)
class _Drifted:
    """An object with its fault, as a short cause and as text."""

    resource: Resource[KubeObject]
    name: str
    cause: str
    text: str

    @property
    def called(self) -> str:
        return f"{self.resource.kind} {self.name}"


def probe_drift(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield one finding that names every object that differs, is missing or should not exist.

    While the status is behind or shows an error, the operator has not finished its pass.
    """
    if scope.object.is_behind or scope.object.reconcile_error:
        return
    drifted = (*_of_wanted(scope), *_left_over(scope))
    if not drifted:
        return
    shown = "; ".join(f"{each.called} {each.text}" for each in drifted)
    kinds = {each.resource for each in drifted}
    for of, text in ((kinds & _UNWATCHED_KINDS, _UNWATCHED), (kinds - _UNWATCHED_KINDS, _WATCHED)):
        if of:
            shown += text % " and ".join(sorted(f"{each.kind}s" for each in of))
    more = f" and {len(drifted) - 1} more" if len(drifted) > 1 else ""
    yield scope.finding(
        reason=reasons.DRIFT,
        related=scope.ref,
        cause=f"{drifted[0].called}: {drifted[0].cause}{more}",
        text=shown,
        created=scope.object.created,
    )


def _of_wanted(scope: ModelServiceScope) -> Iterator[_Drifted]:
    for manifest in scope.wanted:
        resource, name = COMPARED.get(manifest.ref.kind), manifest.ref.name
        if resource is None:
            continue
        there = scope.snapshot[resource].get(manifest.ref.namespace, name)
        effect = f" ({_EFFECTS[resource]})"
        if there is None:
            # Only this endpoint picker's own arguments show whether it asks for tokens.
            expected = resource not in _REPORTED_ELSEWHERE
            if resource in _FOR_TOKENS:
                expected = metrics_auth(scope.children) is True
            if expected and is_missing(scope, resource, name):
                yield _Drifted(resource, name, "missing", f"is missing{effect}")
        elif not there.deleting and (found := tuple(_differences(scope, manifest, there))):
            fields = ", ".join(path for path, _ in found)
            text = ", ".join(text for _, text in found)
            yield _Drifted(resource, name, f"{fields} differs", f"differs: {text}{effect}")


def _left_over(scope: ModelServiceScope) -> Iterator[_Drifted]:
    uid = scope.object.metadata.uid
    for each in unwanted(scope.object, scope.operator):
        resource, at = COMPARED.get(each.ref.kind), (each.ref.namespace, each.ref.name)
        there = scope.snapshot[resource].get(*at) if resource else None
        if resource and there and not there.deleting and uid and there.metadata.owned_by(uid):
            yield _Drifted(resource, there.name, "left over", f"should not exist: {each.why}")


def _differences(
    scope: ModelServiceScope, manifest: Manifest, there: KubeObject
) -> Iterator[tuple[str, str]]:
    resource = COMPARED[manifest.ref.kind]
    should, has = (
        entries_of(resource, obj) | dict(_given_entries(scope, obj))
        for obj in (manifest.typed(resource.type), there)
    )
    knows_gateway = scope.object.spec.http_route is not None or given.GATEWAY in scope.given
    for path, mine, wants in differing_parts(should, has):
        if path != "spec.parentRefs" or knows_gateway:
            yield path, _difference(path, mine, wants)
    whole = whole_of(resource, scope.snapshot, there)
    if whole is not None and isinstance(there, Deployment):
        yield from _of_script(scope, there)
    for path, mine, wants in differing_leaves(manifest.document, whole) if whole else ():
        yield path, _difference(path, mine, wants)
    config = scope.snapshot[reasons.PLUGINS_CONFIGMAPS].get(scope.place, f"{scope.epp_name}-config")
    data = (config.data if config else None) or {}
    if isinstance(there, api.PluginsConfigMap) and (key := config_key(scope.object)) not in data:
        yield "data", f"data has no key {key}"
    if isinstance(there, Deployment) and there.name == scope.epp_name:
        checksum = (there.spec.template.metadata.annotations or {}).get(names.CHECKSUM)
        if data and checksum is not None and checksum != config_checksum(data):
            text = f"annotation {names.CHECKSUM} is not the checksum of its ConfigMap"
            yield names.CHECKSUM, text


def _of_script(scope: ModelServiceScope, there: Deployment) -> Iterator[tuple[str, str]]:
    """Yield a difference if the script that unpacks the model does not mention what it must.

    Its text differs between releases of the operator, and other scripts may do the same.
    """
    unpack = container_of(there, names.MODEL_UNPACK)
    script = " ".join((unpack and unpack.args) or ())
    if not script or api.MASKED in script:
        return
    service = scope.object
    parts = (
        ("unpack", "unpack"),
        ("OCI_MODEL_IMAGE", service.spec.model.image),
        ("MODEL_MOUNT_PATH", service.mount_path),
    )
    lacks = [each for each, or_text in parts if each not in script and or_text not in script]
    if lacks:
        path = f"spec.template.spec.initContainers[{names.MODEL_UNPACK}].args"
        yield path, f"{path} does not mention {', '.join(lacks)}, so the model may not be unpacked"


def _difference(path: str, has: str, should: str) -> str:
    mine, wants = (cut(clean(each), _VALUE_BYTES) or "nothing" for each in (has, should))
    return f"{path} has {mine} and should have {wants}"


_SETTING_OF_VARIABLE: Final = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": given.ENDPOINT,
    "OTEL_TRACES_SAMPLER": given.SAMPLER,
    "OTEL_TRACES_SAMPLER_ARG": given.SAMPLER_ARG,
}
_METRICS_AUTH_OFF: Final = tuple(names.METRICS_AUTH_OFF.split("="))
_TRACING_FLAG: Final = names.TRACING_ON.partition("=")[0]


def _given_entries(scope: ModelServiceScope, obj: KubeObject) -> Iterator[tuple[str, Entries]]:
    """Yield the parts of an object that depend on given settings, with their paths."""
    settings = scope.given
    if isinstance(obj, Deployment) and settings:
        pod = obj.spec.template.spec
        groups = (("initContainers", pod.init_containers), ("containers", pod.containers))
        for path, each in (
            (f"spec.template.spec.{group}[{each.name}]", each)
            for group, containers in groups
            for each in containers or ()
        ):
            named = IMAGES.get(each.name)
            if named and named[0] in settings and not named[1](scope.object):
                yield f"{path}.image", {"0": each.image}
            if each.name == names.PICKER:
                yield f"{path}.args", _arguments(scope, each)
            if each.name in {names.PICKER, names.ROUTING_PROXY} and given.TRACING in settings:
                yield f"{path}.env", _variables(scope, each)
    elif isinstance(obj, api.Monitor) and given.METRICS_AUTH in settings:
        yield "spec.podMetricsEndpoints.authorization", _tokens(obj.spec.pod_metrics_endpoints)
        yield "spec.endpoints.authorization", _tokens(obj.spec.endpoints)


def _arguments(scope: ModelServiceScope, container: TemplateContainer) -> Entries:
    found: dict[str, str] = {}
    for argument in container.args or ():
        flag, _, value = argument.partition("=")
        if flag == _TRACING_FLAG and given.TRACING in scope.given:
            found[flag] = value or "true"
        elif (flag, value) == _METRICS_AUTH_OFF and given.METRICS_AUTH in scope.given:
            found[flag] = value
    return found


def _variables(scope: ModelServiceScope, container: TemplateContainer) -> Entries:
    """Return the variables of tracing; there should be none if tracing is off."""
    operator = scope.operator
    found: dict[str, str] = {}
    for variable in container.env or ():
        setting, value = _SETTING_OF_VARIABLE.get(variable.name), variable.value or ""
        if operator.tracing_enabled and setting is not None and setting not in scope.given:
            continue
        if setting == given.ENDPOINT:  # its value is not shown
            is_given = value == operator.tracing_otel_endpoint
            value = "(as given)" if is_given else "(another one)"
            value = value if operator.tracing_enabled else "(set)"
        found[variable.name] = value
    return found


def _tokens(endpoints: Iterable[api.MetricsEndpoint] | None) -> Entries:
    return {
        str(n): f"{token.name}/{token.key}"
        for n, each in enumerate(endpoints or ())
        if (token := each.authorization.credentials if each.authorization else None)
    }
