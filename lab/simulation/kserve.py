"""KServe's and Knative's controllers in Knative mode, as a pure function of the objects.

A plan is for one InferenceService, and is what one pass of every controller would do. Plans are
applied until one is empty. A rollback takes two passes, as in a cluster: first the traffic is split
over one revision, then it goes to the older one. A revision has one pod while it is the newest or
has traffic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.simulation import kserve_objects as o
from lab.simulation.kserve_objects import status_of
from lab.simulation.kserve_status import revision_status, service_status, whole_status
from lab.simulation.objects import ControllerPlan, Object, labels_of, name_of


@dataclass(frozen=True, slots=True)
class InferenceServiceWorld:
    inferenceservice: Object
    services: Sequence[Object]
    revisions: Sequence[Object]
    pods: Sequence[Object]

    def service(self, component: str) -> Object | None:
        wanted = o.service_name(self.inferenceservice, component)
        return next((each for each in self.services if name_of(each) == wanted), None)

    def revisions_of(self, service: Object) -> list[Object]:
        """Return the revisions of a Knative Service, the newest first."""
        own = (
            each for each in self.revisions if labels_of(each).get(o.SERVICE) == name_of(service)
        )
        return o.newest_first([*own])

    def pods_of(self, revision: str) -> list[Object]:
        """Return the pods of a revision, by name."""
        own = (each for each in self.pods if labels_of(each).get(o.REVISION) == revision)
        return sorted(own, key=name_of)


def plan(world: InferenceServiceWorld, now: str) -> ControllerPlan:
    """Return what to do next; `now` is RFC 3339."""
    create, delete, replaced, services = [], [], [], []
    for component in o.components_of(world.inferenceservice):
        service = world.service(component)
        wanted = o.knative_service(world.inferenceservice, component)
        if service is None:
            create.append(wanted)
            continue
        services.append(service)
        if service["spec"] != wanted["spec"]:
            replaced.append({**service, "spec": wanted["spec"]})
    for service in services:
        revisions = world.revisions_of(service)
        if not revisions or not o.is_of_template(revisions[0], service):
            create.append(o.revision(service, len(revisions) + 1))
        routed = {each["revisionName"] for each in status_of(service).get("traffic") or ()}
        needed = {*routed, *map(name_of, revisions[:1])}
        for revision in revisions:
            pods = world.pods_of(name_of(revision))
            if name_of(revision) not in needed:
                delete += [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
            elif not pods:
                create.append(o.pod(revision))
    waits = {name_of(each) for each in replaced}
    told = _statuses(world, services, waits, now=now)
    return ControllerPlan(
        delete=tuple(delete), create=tuple(create), replace=tuple(replaced), tell=tuple(told)
    )


def _statuses(
    world: InferenceServiceWorld, services: Sequence[Object], waits: set[str], *, now: str
) -> Iterator[Object]:
    for service in services:
        for revision in world.revisions_of(service):
            pods = world.pods_of(name_of(revision))
            yield from _changed(revision, revision_status(revision, pods, now))
        if name_of(service) not in waits:
            yield from _changed(service, service_status(service, world.revisions_of(service), now))
    by_component = {labels_of(each)[o.COMPONENT]: each for each in services}
    predictor = by_component.get("predictor")
    created = status_of(predictor).get("latestCreatedRevisionName", "")
    status = whole_status(world.inferenceservice, by_component, world.pods_of(created), now=now)
    yield from _changed(world.inferenceservice, status)


def _changed(obj: Object, status: Object) -> Iterator[Object]:
    if status != (obj.get("status") or {}):
        yield {**obj, "status": status}
