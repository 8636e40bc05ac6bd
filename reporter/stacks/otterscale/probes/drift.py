"""modelserviceDrift: objects that are not as the operator makes them, field by field.

Secrets are never read, nor Roles; of ClusterRoles and their bindings only whether they exist, and only
where that is asked for (`otterscale_cluster_roles`). Replicas are not compared; images, tracing and
tokens only with settings for them (`given`). All other fields that the operator sets are compared (`leaves`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.finding import Finding
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.text import clean, cut
from reporter.stacks.otterscale.made import MASKED
from reporter.stacks.otterscale.manifests import epp, epp_config
from reporter.stacks.otterscale.manifests.init_containers import MODEL_UNPACK
from reporter.stacks.otterscale.manifests.manifest import Manifest
from reporter.stacks.otterscale.manifests.recovered import metrics_auth
from reporter.stacks.otterscale.manifests.wanted import Unwanted, unwanted, wanted
from reporter.stacks.otterscale.objects import Json
from reporter.stacks.otterscale.operator_flags import GATEWAY
from reporter.stacks.otterscale.probes.compared import COMPARED, Entries, entries_of
from reporter.stacks.otterscale.probes.fleet import children_of
from reporter.stacks.otterscale.probes.given import given_entries
from reporter.stacks.otterscale.probes.leaves import differing, is_whole, made_by, unpack_script_of
from reporter.stacks.otterscale.probes.missing import NEEDED, is_missing
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import DRIFT
from reporter.stacks.otterscale.resources import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    DESTINATIONRULES,
    PLUGINS_CONFIGMAPS,
    PODMONITORS,
    SERVICEACCOUNTS,
    SERVICEMONITORS,
)

_VALUE_BYTES: Final = 200
_TOLD_ELSEWHERE: Final = frozenset({*NEEDED.values(), DESTINATIONRULES})
"""Kinds whose being missing keeps requests away: other reasons tell it."""
_FOR_TOKENS: Final = frozenset({CLUSTERROLES, CLUSTERROLEBINDINGS})
"""What an endpoint picker needs to check the tokens of who reads its metrics."""

_EFFECTS: Final[Mapping[Resource[KubeObject], str]] = {
    DESTINATIONRULES: "the gateway may not reach the endpoint picker, as for failureMode",
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
        DESTINATIONRULES, PODMONITORS, SERVICEMONITORS, CLUSTERROLES, CLUSTERROLEBINDINGS,
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
    """Tell whether an object is left over: one of others is not the operator's to tell of."""
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
        if path == "spec.parentRefs" and not _knows_parents(scope):
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


def _knows_parents(scope: ModelServiceScope) -> bool:
    """Tell whether it is known where the route leads: routes alone do not tell which is right."""
    return scope.service.spec.http_route is not None or GATEWAY in scope.given


def _difference(path: str, has: Entries, should: Entries) -> str:
    """Return what differs: of a map the entries that do."""
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
    if data and told is not None and told != epp_config.checksum(data):
        text = f"annotation {epp.CHECKSUM} is not the checksum of its ConfigMap"
        yield epp.CHECKSUM, text


def _config_data(scope: ModelServiceScope) -> dict[str, str]:
    from_cluster = scope.snapshot[PLUGINS_CONFIGMAPS].get(scope.place, f"{scope.epp_name}-config")
    return (from_cluster.data or {}) if from_cluster else {}
