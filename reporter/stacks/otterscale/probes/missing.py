"""modelserviceObjectMissing: objects that requests need and that are not there."""

from collections.abc import Iterator, Mapping
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, SERVICES
from reporter.model.finding import Finding
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.snapshot.snapshot import Served
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.wanted import wanted
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import OBJECT_MISSING

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
