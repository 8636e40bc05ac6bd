"""modelserviceObjectMissing: objects that requests need and that are not there
(OtterScale sheet 2.2, 5.2 to 5.4).
"""

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
from reporter.stacks.otterscale.probes.scope import View, finding_about
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


def probe_missing(view: View) -> Iterator[Finding]:
    """Yield a finding for each needed object that should exist and does not."""
    for manifest in wanted(view.service, view.operator):
        resource = NEEDED.get(manifest.ref.kind)
        if resource is None or not is_missing(view, resource, manifest.ref.name):
            continue
        severity, effect = _effect(view, manifest.ref)
        yield finding_about(
            view,
            reason=OBJECT_MISSING,
            related=resource.ref_named(view.namespace, manifest.ref.name),
            cause=f"{manifest.ref.kind} {manifest.ref.name} missing",
            text=f"{manifest.ref.kind} {manifest.ref.name} is missing: {effect}",
            severity=severity,
        )


def is_missing(view: View, resource: Resource[KubeObject], name: str) -> bool:
    """Tell whether an object is known not to exist, although its kind is installed."""
    if view.snapshot.state(resource).served is not Served.SERVED:
        return False
    found = view.snapshot[resource].get(view.namespace, name)
    return found is None and view.snapshot.absence_known(resource, view.namespace)


def _effect(view: View, ref: ObjectRef) -> tuple[int, str]:
    """Return severity, and what its being missing means."""
    name = view.service.name
    match ref.kind, ref.name:
        case "Deployment", each if each == names.decode_deployment(name):
            return _DECODE, "no decode pod can serve"
        case "Deployment", each if each == names.prefill_deployment(name):
            is_ready = view.service.status.phase == "Ready"
            all_the_same = ", and calls it Ready all the same" if is_ready else ""
            return _PREFILL, f"the operator counts its pods as none wanted{all_the_same}"
        case "InferencePool", _:
            restarts = view.service.picker.replicas == 1
            more = ", and the endpoint picker restarts without it" if restarts else ""
            return _POOL, f"requests lead nowhere{more}"
        case "HTTPRoute", _:
            return _ROUTE, "no request is led to it"
        case "Service", _:
            return _PICKER, f"the gateway does not reach the endpoint picker; {view.without_picker}"
        case _:
            return _PICKER, f"there is no endpoint picker; {view.without_picker}"
