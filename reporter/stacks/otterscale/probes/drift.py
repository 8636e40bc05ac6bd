"""modelserviceDrift: objects that are not as the operator makes them, field by field.

Secrets are never read, nor Roles; of ClusterRoles and their bindings only whether they exist, and
only where that is asked for (`otterscale_cluster_roles`). Replicas are not compared; images,
tracing and tokens only with settings for them (`given`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Finding
from reporter.model.objects import Deployment, KubeObject, Pod, TemplateContainer
from reporter.model.resource import Resource
from reporter.model.text import clean, cut
from reporter.stacks.otterscale import operator_flags as given
from reporter.stacks.otterscale.made import MASKED
from reporter.stacks.otterscale.manifests import epp
from reporter.stacks.otterscale.manifests import epp as epp_config
from reporter.stacks.otterscale.manifests import pods as gpu
from reporter.stacks.otterscale.manifests import pods as serving
from reporter.stacks.otterscale.manifests.names import Manifest
from reporter.stacks.otterscale.manifests.pods import MODEL_UNPACK, ROUTING_PROXY
from reporter.stacks.otterscale.manifests.wanted import Unwanted, metrics_auth, unwanted, wanted
from reporter.stacks.otterscale.objects import (
    Json,
    MetricsEndpoint,
    ModelService,
    PodMonitor,
    ServiceMonitor,
)
from reporter.stacks.otterscale.operator_flags import GATEWAY
from reporter.stacks.otterscale.probes.compared import (
    COMPARED,
    Entries,
    differing,
    entries_of,
    is_whole,
    made_by,
    unpack_script_of,
)
from reporter.stacks.otterscale.probes.fleet import children_of
from reporter.stacks.otterscale.probes.missing import NEEDED, is_missing
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, RoleView
from reporter.stacks.otterscale.reasons import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    DRIFT,
    PLUGINS_CONFIGMAPS,
    PODMONITORS,
    SERVICEACCOUNTS,
    SERVICEMONITORS,
)
from reporter.workload.pod import ENDED, NOT_SET_UP, STARTING, UNSCHEDULABLE, PodFault

_VALUE_BYTES: Final = 200
_TOLD_ELSEWHERE: Final = frozenset({*NEEDED.values(), r.DESTINATIONRULES})
"""Kinds whose being missing keeps requests away: other reasons tell it."""
_FOR_TOKENS: Final = frozenset({CLUSTERROLES, CLUSTERROLEBINDINGS})
"""What an endpoint picker needs to check the tokens of who reads its metrics."""

_EFFECTS: Final[Mapping[Resource[KubeObject], str]] = {
    r.DESTINATIONRULES: "the gateway may not reach the endpoint picker, as for failureMode",
    PODMONITORS: "metrics of the pods are not collected as asked for",
    SERVICEMONITORS: "metrics of the endpoint picker are not collected",
    SERVICEACCOUNTS: "no new pod of the endpoint picker can be made",
    PLUGINS_CONFIGMAPS: "a new pod of the endpoint picker ends for want of its file",
    CLUSTERROLES: "the endpoint picker may not check tokens, so its metrics cannot be read",
    CLUSTERROLEBINDINGS: "the endpoint picker may not check tokens, so its metrics cannot be read",
    r.DEPLOYMENTS: "its pods do not run as the ModelService says",
    r.SERVICES: "the gateway may not reach the endpoint picker, as for failureMode",
    r.INFERENCEPOOLS: "requests may reach other pods, or fail when the endpoint picker is down",
    r.HTTPROUTES: "requests may not reach the model, or others may",
}
"""What follows from a difference, and from one that is missing."""

_UNWATCHED_KINDS: Final = frozenset(
    each.kind
    for each in (
        r.DESTINATIONRULES, PODMONITORS, SERVICEMONITORS, CLUSTERROLES, CLUSTERROLEBINDINGS,
    )
)  # fmt: skip
"""Kinds that the operator does not watch: drift lasts until it looks by chance."""

_UNWATCHED: Final = (
    "; the operator does not watch %s: only a change of the spec, or its restart, makes it correct "
    "them"
)
_WATCHED: Final = (
    "; the operator corrects %s as soon as they change: somebody keeps changing them, or it does not "
    "work"
)


@dataclass(frozen=True, slots=True)
class _Drifted:
    """An object with what is wrong, in a few words and as text."""

    kind: str
    name: str
    cause: str
    text: str


def probe_drift(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield one finding that names every object that differs, is missing or should not exist.

    A status that is behind, or an error, says that the operator has not come so far.
    """
    if scope.is_behind or scope.reconcile_error:
        return
    drifted = tuple(_drifted(scope))
    if not drifted:
        return
    shown = "; ".join(f"{each.name} {each.text}" for each in drifted)
    kinds = {each.kind for each in drifted}
    for of, text in ((kinds & _UNWATCHED_KINDS, _UNWATCHED), (kinds - _UNWATCHED_KINDS, _WATCHED)):
        if of:
            shown += text % " and ".join(sorted(f"{each}s" for each in of))
    more = f" and {len(drifted) - 1} more" if len(drifted) > 1 else ""
    yield scope.finding(
        reason=DRIFT,
        related=scope.ref,
        cause=f"{drifted[0].name}: {drifted[0].cause}{more}",
        text=shown,
        created=scope.service.created,
    )


def _drifted(scope: ModelServiceScope) -> Iterator[_Drifted]:
    for manifest in wanted(scope.service, scope.operator):
        resource = COMPARED.get(manifest.ref.kind)
        if resource is not None:
            yield from _of_wanted(scope, manifest, resource)
    for each in unwanted(scope.service, scope.operator):
        resource = COMPARED.get(each.ref.kind)
        if resource is not None and _is_left_over(scope, each, resource):
            name = f"{resource.kind} {each.ref.name}"
            yield _Drifted(resource.kind, name, "left over", f"should not exist: {each.why}")


def _of_wanted(
    scope: ModelServiceScope, manifest: Manifest, resource: Resource[KubeObject]
) -> Iterator[_Drifted]:
    there = scope.snapshot[resource].get(manifest.ref.namespace, manifest.ref.name)
    name = f"{resource.kind} {manifest.ref.name}"
    if there is None:
        if _is_expected(scope, resource) and is_missing(scope, resource, manifest.ref.name):
            effect = f" ({_EFFECTS[resource]})" if resource in _EFFECTS else ""
            yield _Drifted(resource.kind, name, "missing", f"is missing{effect}")
        return
    if there.deleting:
        return
    differences = tuple(_differences(scope, manifest, resource, there=there))
    if differences:
        fields = ", ".join(path for path, _ in differences)
        text = "differs: " + ", ".join(text for _, text in differences)
        if resource in _EFFECTS:
            text += f" ({_EFFECTS[resource]})"
        yield _Drifted(resource.kind, name, f"{fields} differs", text)


def _is_expected(scope: ModelServiceScope, resource: Resource[KubeObject]) -> bool:
    """Tell whether a missing object is drift.

    Most others may ask for tokens, and this endpoint picker not: its own arguments count.
    """
    if resource in _FOR_TOKENS:
        return metrics_auth(children_of(scope.service, scope.snapshot)) is True
    return resource not in _TOLD_ELSEWHERE


def _is_left_over(scope: ModelServiceScope, each: Unwanted, resource: Resource[KubeObject]) -> bool:
    there = scope.snapshot[resource].get(each.ref.namespace, each.ref.name)
    uid = scope.service.metadata.uid
    return bool(there and not there.deleting and uid and there.metadata.owned_by(uid))


def _differences(
    scope: ModelServiceScope,
    manifest: Manifest,
    resource: Resource[KubeObject],
    *,
    there: KubeObject,
) -> Iterator[tuple[str, str]]:
    should = _entries(scope, resource, manifest.typed(resource.type))
    has = _entries(scope, resource, there)
    for path in {**should, **has}:
        if path == "spec.parentRefs" and not (
            scope.service.spec.http_route is not None or GATEWAY in scope.given
        ):
            continue
        mine, wants = has.get(path, {}), should.get(path, {})
        if mine != wants:
            yield path, _difference(path, mine, wants)
    yield from _of_leaves(scope, manifest, resource, there=there)
    if resource is PLUGINS_CONFIGMAPS:
        yield from _config(scope)
    if resource is r.DEPLOYMENTS and there.name == scope.epp_name:
        yield from _checksum(scope)


def _of_leaves(
    scope: ModelServiceScope,
    manifest: Manifest,
    resource: Resource[KubeObject],
    *,
    there: KubeObject,
) -> Iterator[tuple[str, str]]:
    """Yield what differs of labels and of all other fields, of an object that was read as a whole."""
    made = made_by(resource)
    whole = scope.snapshot[made].get(scope.place, there.name) if made else None
    if whole is None or not is_whole(resource, whole.spec):
        return
    metadata = manifest.document["metadata"]
    wanted_labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    found = (
        *differing(wanted_labels, whole.metadata.labels, "metadata.labels"),
        *differing(manifest.document.get("spec"), whole.spec, "spec"),
    )
    if resource is r.DEPLOYMENTS:
        yield from _of_script(scope, whole.spec)
    for leaf in found:
        has, should = (cut(clean(each), _VALUE_BYTES) for each in (leaf.has, leaf.should))
        yield leaf.path, f"{leaf.path} has {has or 'nothing'} and should have {should or 'nothing'}"


def _of_script(scope: ModelServiceScope, spec: Json | None) -> Iterator[tuple[str, str]]:
    """Yield a difference if the script that unpacks the model does not name what it has to.

    Its text differs from release to release of the operator, and others may do the same.
    """
    script = unpack_script_of(spec)
    if not script or MASKED in script:
        return
    service = scope.service
    parts = (
        ("unpack", "unpack"),
        ("OCI_MODEL_IMAGE", service.spec.model.image),
        ("MODEL_MOUNT_PATH", service.mount_path),
    )
    lacks = [each for each, or_text in parts if each not in script and or_text not in script]
    if lacks:
        path = f"spec.template.spec.initContainers[{MODEL_UNPACK}].args"
        yield path, f"{path} does not mention {', '.join(lacks)}, so the model may not be unpacked"


def _entries(
    scope: ModelServiceScope, resource: Resource[KubeObject], obj: KubeObject
) -> dict[str, Entries]:
    return entries_of(resource, obj) | given_entries(scope, resource, obj)


def _difference(path: str, has: Entries, should: Entries) -> str:
    keys = sorted(key for key in {*has, *should} if has.get(key) != should.get(key))
    mine = {key: each for key, each in has.items() if key in keys}
    wants = {key: each for key, each in should.items() if key in keys}
    return f"{path} has {_shown(mine)} and should have {_shown(wants)}"


def _shown(entries: Entries) -> str:
    text = ", ".join(
        each if key.isdigit() else f"{key}={each}" for key, each in sorted(entries.items())
    )
    return cut(clean(text), _VALUE_BYTES) or "nothing"


def _config(scope: ModelServiceScope) -> Iterator[tuple[str, str]]:
    key = epp_config.key(scope.service)
    if key not in _config_data(scope):
        yield "data", f"data has no key {key}"


def _checksum(scope: ModelServiceScope) -> Iterator[tuple[str, str]]:
    """Yield a difference if the picker was started with another configuration."""
    data = _config_data(scope)
    annotations = scope.epp.spec.template.metadata.annotations if scope.epp else None
    told = (annotations or {}).get(epp.CHECKSUM)
    if data and told is not None and told != epp_config.config_checksum(data):
        text = f"annotation {epp.CHECKSUM} is not the checksum of its ConfigMap"
        yield epp.CHECKSUM, text


def _config_data(scope: ModelServiceScope) -> dict[str, str]:
    from_cluster = scope.snapshot[PLUGINS_CONFIGMAPS].get(scope.place, f"{scope.epp_name}-config")
    return (from_cluster.data or {}) if from_cluster else {}


_ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SETTING_OF_VARIABLE: Final = {
    _ENDPOINT_VARIABLE: given.ENDPOINT,
    "OTEL_TRACES_SAMPLER": given.SAMPLER,
    "OTEL_TRACES_SAMPLER_ARG": given.SAMPLER_ARG,
}
_METRICS_AUTH_OFF: Final = tuple(epp.METRICS_AUTH_OFF.split("="))
_TRACING_FLAG: Final = epp.TRACING_ON.partition("=")[0]
_TRACED: Final = (epp.CONTAINER, ROUTING_PROXY)


def _proxy_image(service: ModelService) -> str:
    return service.spec.routing_proxy.image if service.spec.routing_proxy else ""


_IMAGES: Final[Mapping[str, tuple[str, Callable[[ModelService], str]]]] = {
    serving.CONTAINER: (given.ENGINE_IMAGE, lambda service: service.spec.engine.image),
    epp.CONTAINER: (given.EPP_IMAGE, lambda service: service.picker.image),
    ROUTING_PROXY: (given.PROXY_IMAGE, _proxy_image),
    MODEL_UNPACK: (given.KIT_IMAGE, lambda _: ""),
}
"""For each container the setting with its image, and the image that the resource names instead."""


def given_entries(
    scope: ModelServiceScope, resource: Resource[KubeObject], obj: KubeObject
) -> dict[str, Entries]:
    """Return the parts of an object that given settings tell of, by their path."""
    if not scope.given:
        return {}
    match obj:
        case Deployment() if resource is r.DEPLOYMENTS:
            return dict(_of_deployment(scope, obj))
        case PodMonitor() if given.METRICS_AUTH in scope.given:
            path = "spec.podMetricsEndpoints.authorization"
            return {path: _tokens(obj.spec.pod_metrics_endpoints)}
        case ServiceMonitor() if given.METRICS_AUTH in scope.given:
            return {"spec.endpoints.authorization": _tokens(obj.spec.endpoints)}
        case _:
            return {}


def _of_deployment(scope: ModelServiceScope, obj: Deployment) -> Iterator[tuple[str, Entries]]:
    pod = obj.spec.template.spec
    for group, containers in (
        ("initContainers", pod.init_containers),
        ("containers", pod.containers),
    ):
        for container in containers or ():
            path = f"spec.template.spec.{group}[{container.name}]"
            if _tells_image(scope, container.name):
                yield f"{path}.image", {"0": container.image}
            if container.name == epp.CONTAINER:
                yield f"{path}.args", _arguments(scope, container)
            if container.name in _TRACED and given.TRACING in scope.given:
                yield f"{path}.env", _variables(scope, container)


def _tells_image(scope: ModelServiceScope, container: str) -> bool:
    if container not in _IMAGES:
        return False
    setting, own = _IMAGES[container]
    return setting in scope.given and not own(scope.service)


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
    """Return the variables of tracing; with tracing off there should be none."""
    is_on = scope.operator.tracing_enabled
    found: dict[str, str] = {}
    for variable in container.env or ():
        setting = _SETTING_OF_VARIABLE.get(variable.name)
        if is_on and setting is not None and setting not in scope.given:
            continue
        value = variable.value or ""
        is_endpoint = variable.name == _ENDPOINT_VARIABLE
        found[variable.name] = _endpoint(scope, value) if is_endpoint else value
    return found


def _endpoint(scope: ModelServiceScope, url: str) -> str:
    if not scope.operator.tracing_enabled:
        return "(set)"
    return "(as given)" if url == scope.operator.tracing_otel_endpoint else "(another one)"


def _tokens(endpoints: Iterable[MetricsEndpoint] | None) -> Entries:
    return {
        str(n): f"{token.name}/{token.key}"
        for n, each in enumerate(endpoints or ())
        if (token := each.authorization.credentials if each.authorization else None)
    }


_IMAGE_BYTES: Final = 200


def named_cause(scope: ModelServiceScope, role: RoleView, pod: Pod, *, fault: PodFault) -> str:
    """Return the cause in a few words, with the container or accelerator that it is about."""
    if fault.severity == UNSCHEDULABLE and (resource := _accelerator(scope, pod)):
        return f"{role.role}: no free {resource}"
    if fault.init_container:
        return f"{role.role}: {fault.init_container}: {fault.cause}"
    return f"{role.role}: {fault.cause}"


def hint(scope: ModelServiceScope, pod: Pod, fault: PodFault) -> str:
    """Return what to add to the detail of a fault, empty where that says it all."""
    if fault.init_container == ROUTING_PROXY:
        return "; without it nothing listens on the port that requests are sent to"
    if fault.init_container == MODEL_UNPACK and _has_run(fault):
        return _unpack(scope)
    if fault.severity in {STARTING, NOT_SET_UP}:
        return _starting(scope, pod)
    return ""


def _has_run(fault: PodFault) -> bool:
    """Tell whether a container ran and failed; else its own image or the node is at fault."""
    return fault.severity == ENDED or fault.cause == "CrashLoopBackOff"


def _unpack(scope: ModelServiceScope) -> str:
    model = scope.service.spec.model
    package = cut(clean(model.image), _IMAGE_BYTES)
    return f"; it fetches and unpacks the model package {package} {_credentials(scope)}"


def _credentials(scope: ModelServiceScope) -> str:
    secrets = scope.service.spec.model.image_pull_secrets
    if not secrets:
        return "without credentials (spec.model.imagePullSecrets is not set)"
    also = ", the only one of imagePullSecrets that it uses" if len(secrets) > 1 else ""
    return f"with the credentials of Secret {secrets[0].name}{also}"


def _starting(scope: ModelServiceScope, pod: Pod) -> str:
    for status in pod.status.init_container_statuses or ():
        if status.name != MODEL_UNPACK or status.state is None:
            continue
        if status.state.running is not None:
            return ""  # the fault names it
        if status.state.waiting is not None:
            return _not_made(scope)
    return ""


def _not_made(scope: ModelServiceScope) -> str:
    secrets = scope.service.spec.model.image_pull_secrets
    if not secrets:
        return "; its containers are not created yet"
    return (
        "; its containers are not created yet, as happens while a volume is missing: look for "
        f"Secret {secrets[0].name} and its key .dockerconfigjson"
    )


def _accelerator(scope: ModelServiceScope, pod: Pod) -> str:
    """Return the accelerator that the scheduler says is lacking, empty if it does not.

    Taints of nodes with accelerators have the same name, and are another cause.
    """
    resource = gpu.resource_name(scope.service.spec.accelerator.type)
    scheduled = pod.status.condition("PodScheduled")
    said = (scheduled.message if scheduled else None) or ""
    return resource if resource and f"Insufficient {resource}" in said else ""
