"""What is remembered of the shared parts from one evaluation to the next."""

from collections.abc import Iterable, Iterator

from reporter.catalogue.resources import COMPONENT, DEPLOYMENTS, EVENTS, LABEL_PREFIX
from reporter.model.objects import Event, KubeObject
from reporter.model.resource import PartKey, Seen
from reporter.model.subject import ObjectRef
from reporter.probes.cluster.crds import VANISHED, RequiredCrd, crd_ref, required_crds
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.workload.components import ControlPlaneComponent, components, still_needed_by

_OVER = "over"


def look_again(snapshot: Snapshot, settings: EvaluationSettings, before: Seen) -> Seen:
    """Return what was seen before, with what is there now and what our Events on record tell.

    An Event that still fires tells that its Deployment was there if it refers to it with its uid,
    which the Event of one that was merely missed has not.
    """
    parts, crds = components(settings), required_crds(settings)
    there = {
        **_recorded(snapshot, parts, crds),
        **before.there,
        **_there(snapshot, parts, crds, before=before),
    }
    keys = (*((each.key, each.needs) for each in parts), *((each.key, each.needs) for each in crds))
    needed = (
        (key, still_needed_by(key, needs, snapshot, seen=before))
        for key, needs in keys
        if key not in there or key in before.needed
    )
    return Seen(there, {key: by for key, by in needed if by})


def _there(
    snapshot: Snapshot,
    parts: Iterable[ControlPlaneComponent],
    crds: Iterable[RequiredCrd],
    *,
    before: Seen,
) -> dict[PartKey, ObjectRef]:
    found = {each.key: each.found(snapshot, before.there) for each in parts}
    there = {
        key: DEPLOYMENTS.ref(deployments[0]) for key, deployments in found.items() if deployments
    }
    there.update(
        (each.key, crd_ref(each.name))
        for each in crds
        if each.served(snapshot.discovery) is Served.SERVED
    )
    return there


def _recorded(
    snapshot: Snapshot, parts: tuple[ControlPlaneComponent, ...], crds: tuple[RequiredCrd, ...]
) -> dict[PartKey, ObjectRef]:
    told: dict[PartKey, ObjectRef] = {}
    # An hour of trouble leaves thousands that are over.
    for event in snapshot[EVENTS].showing(_goes_on):
        told.update((each.key, crd_ref(each.name)) for each in crds if _tells_of_crd(event, each))
        told.update((each.key, ref) for each in parts for ref in _told_deployment(event, each))
    return told


def _goes_on(event: KubeObject) -> bool:
    state = event.metadata.label(f"{LABEL_PREFIX}state")
    is_ours = isinstance(event, Event) and event.source.component == COMPONENT
    return is_ours and state is not None and state != _OVER


def _tells_of_crd(event: Event, crd: RequiredCrd) -> bool:
    is_about = (event.reason, event.involved_object.name) == crd.key
    return is_about and VANISHED in event.message


def _told_deployment(event: Event, component: ControlPlaneComponent) -> Iterator[ObjectRef]:
    related = event.related
    if related is None or not related.uid or related.kind != DEPLOYMENTS.kind:
        return
    if event.reason == component.reason and component.is_named(related.name):
        ref = DEPLOYMENTS.ref_named(related.namespace, related.name)
        yield ObjectRef(ref.api_version, ref.kind, ref.namespace, ref.name, related.uid)
