"""KServe's and Knative's controllers in Knative mode, as a pure function of the objects.

A plan is for one InferenceService, and is what one pass of every controller would do. Plans are
applied until one is empty. A rollback takes two passes, as in a cluster: first the traffic is split
over one revision, then it goes to the older one. Autoscaling is simulated as far as it matters: a
revision has one pod while it is the newest or has traffic; with `minReplicas: 0` it has none once
it was ready.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.simulation import kserve_objects as o
from lab.simulation.kserve_objects import TRUE, Object, condition_of, name_of, status_of
from lab.simulation.kserve_status import revision_status, service_status, whole_status


@dataclass(frozen=True, slots=True)
class InferenceServiceWorld:
    """An InferenceService and the objects created for it."""

    inferenceservice: Object
    services: Sequence[Object]
    revisions: Sequence[Object]
    pods: Sequence[Object]

    def service(self, component: str) -> Object | None:
        wanted = o.service_name(self.inferenceservice, component)
        return next((each for each in self.services if name_of(each) == wanted), None)

    def revisions_of(self, service: Object) -> list[Object]:
        """Return the revisions of a Knative Service, the newest first."""
        own = (each for each in self.revisions if _label(each, o.SERVICE) == name_of(service))
        return o.newest_first([*own])

    def pods_of(self, revision: str) -> list[Object]:
        """Return the pods of a revision, by name."""
        own = (each for each in self.pods if _label(each, o.REVISION) == revision)
        return sorted(own, key=name_of)


@dataclass(frozen=True, slots=True)
class InferenceServicePlan:
    """The objects to create, delete and update.

    Attributes:
        create: new objects, without status.
        delete: pods to delete.
        replace: Knative Services with their new spec.
        tell: objects with their new status.

    """

    create: tuple[Object, ...] = ()
    delete: tuple[Object, ...] = ()
    replace: tuple[Object, ...] = ()
    tell: tuple[Object, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.create or self.delete or self.replace or self.tell)


def plan(world: InferenceServiceWorld, now: str) -> InferenceServicePlan:
    """Return what to do next; `now` is RFC 3339."""
    found = [(each, world.service(each)) for each in o.components_of(world.inferenceservice)]
    wanted = [o.knative_service(world.inferenceservice, each) for each, service in found if service is None]  # fmt: skip
    replaced = [*_replaced(world)]
    waits = {name_of(each) for each in replaced}
    services = [service for _, service in found if service is not None]
    revisions = [each for service in services for each in _new_revision(world, service)]
    pods = [each for service in services for each in _new_pods(world, service)]
    return InferenceServicePlan(
        create=(*wanted, *revisions, *pods),
        delete=tuple(each for service in services for each in _idle_pods(world, service)),
        replace=tuple(replaced),
        tell=tuple(_statuses(world, services, waits, now=now)),
    )


def _replaced(world: InferenceServiceWorld) -> Iterator[Object]:
    for component in o.components_of(world.inferenceservice):
        service = world.service(component)
        wanted = o.knative_service(world.inferenceservice, component)
        if service is not None and service["spec"] != wanted["spec"]:
            yield {**service, "spec": wanted["spec"]}


def _new_revision(world: InferenceServiceWorld, service: Object) -> Iterator[Object]:
    revisions = world.revisions_of(service)
    if not revisions or not o.is_of_template(revisions[0], service):
        yield o.revision(service, len(revisions) + 1)


def _new_pods(world: InferenceServiceWorld, service: Object) -> Iterator[Object]:
    for each in world.revisions_of(service):
        if _needs_pod(world, service, each) and not world.pods_of(name_of(each)):
            yield o.pod(each)


def _idle_pods(world: InferenceServiceWorld, service: Object) -> Iterator[Object]:
    for each in world.revisions_of(service):
        if not _needs_pod(world, service, each):
            pods = world.pods_of(name_of(each))
            yield from (pod for pod in pods if not pod["metadata"].get("deletionTimestamp"))


def _needs_pod(world: InferenceServiceWorld, service: Object, revision: Object) -> bool:
    routed = {each["revisionName"] for each in status_of(service).get("traffic") or ()}
    newest = name_of(world.revisions_of(service)[0])
    component = world.inferenceservice["spec"][_label(service, o.COMPONENT)]
    was_ready = (condition_of(revision, "Ready") or {}).get("status") == TRUE
    if was_ready and component.get("minReplicas") == 0 and _has_loaded(world):
        return False
    return name_of(revision) in {newest, *routed}


def _has_loaded(world: InferenceServiceWorld) -> bool:
    """True if KServe has seen a model loaded; Knative would wait a minute or longer."""
    states = (status_of(world.inferenceservice).get("modelStatus") or {}).get("states") or {}
    return states.get("activeModelState") == "Loaded"


def _statuses(
    world: InferenceServiceWorld, services: Sequence[Object], waits: set[str], *, now: str
) -> Iterator[Object]:
    for service in services:
        for revision in world.revisions_of(service):
            pods = world.pods_of(name_of(revision))
            yield from _changed(revision, revision_status(revision, pods, now))
        if name_of(service) not in waits:
            yield from _changed(service, service_status(service, world.revisions_of(service), now))
    by_component = {_label(each, o.COMPONENT): each for each in services}
    predictor = by_component.get("predictor")
    created = status_of(predictor).get("latestCreatedRevisionName", "")
    status = whole_status(world.inferenceservice, by_component, world.pods_of(created), now=now)
    yield from _changed(world.inferenceservice, status)


def _changed(obj: Object, status: Object) -> Iterator[Object]:
    if status != (obj.get("status") or {}):
        yield {**obj, "status": status}


def _label(obj: Object, name: str) -> str:
    return str((obj["metadata"].get("labels") or {}).get(name, ""))
