"""The objects that the status of an InferenceService is made of, and how they are found.

What one look at a component tells without its history.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import islice, takewhile
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.model.objects import Deployment, Pod
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.stacks.kserve.derived.mode import Mode, mode_of
from reporter.stacks.kserve.derived.raw import Component, components_of, spec_of
from reporter.stacks.kserve.derived.revisions import WHOLE, follows, total
from reporter.stacks.kserve.objects import (
    ComponentStatus,
    InferenceService,
    KnativeService,
    TrafficEntry,
)
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES

INFERENCESERVICE: Final = "serving.kserve.io/inferenceservice"
"""Label of everything that belongs to an InferenceService: its name."""

REVISION: Final = "serving.knative.dev/revision"
"""Label of the pods of a Knative revision: its name."""

COMPONENT: Final = "component"
"""Label of the pods of a component: its key in `spec`."""

APP: Final = "app"
"""Label of the pods of a Deployment in Standard mode: `isvc.<name of the Deployment>`."""

_WORKER: Final = "worker"

_FORMER: Final = "-default"
"""What names of objects ended with in older versions; KServe goes on with those that exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceServiceFacts:
    """What the status of one InferenceService follows from.

    Attributes:
        inferenceservice: with the status that is stored.
        services: Knative Services by component, those that exist; None if they are unknown.
        deployments: Deployments by component, head before workers; None if they are unknown.
        pods: those that the model status is read from, by name; None if they are unknown.
        heads: the name of the Deployment by component, whether it exists or not; empty if they are
            unknown.
        default_mode: the deployment mode that KServe is configured with.
        without_knative: the cluster serves no Knative Services.

    """

    inferenceservice: InferenceService
    services: Mapping[Component, KnativeService] | None = None
    deployments: Mapping[Component, tuple[Deployment, ...]] | None = None
    pods: tuple[Pod, ...] | None = None
    heads: Mapping[Component, str] = field(default_factory=dict)
    default_mode: Mode = Mode.KNATIVE
    without_knative: bool = False

    @property
    def mode(self) -> Mode:
        """The deployment mode in effect."""
        return mode_of(self.inferenceservice, self.default_mode)


def facts_of(
    inferenceservice: InferenceService,
    snapshot: Snapshot,
    default_mode: Mode = Mode.KNATIVE,
) -> InferenceServiceFacts:
    """Collect the objects of an InferenceService from a snapshot."""
    place = inferenceservice.namespace
    sought = belongs_to(inferenceservice.name, INFERENCESERVICE)
    mode = mode_of(inferenceservice, default_mode)
    components = tuple(components_of(inferenceservice.spec))
    services = None
    if snapshot.absence_known(KNATIVE_SERVICES, place, sought=sought):
        found = {each: knative_service(inferenceservice, each, snapshot) for each in components}
        services = {each: service for each, service in found.items() if service is not None}
    deployments, heads = None, {}
    if snapshot.absence_known(DEPLOYMENTS, place, sought=sought):
        heads = {each: deployment_name(inferenceservice, each, snapshot) for each in components}
        deployments = {
            each: tuple(_deployments(inferenceservice, each, snapshot)) for each in components
        }
    pods = None
    known = snapshot.absence_known(PODS, place, sought=sought)
    if known and (mode is not Mode.KNATIVE or services is not None):
        predictor = (services or {}).get(Component.PREDICTOR)
        pods = predictor_pods(inferenceservice, mode, predictor, snapshot=snapshot)
    return InferenceServiceFacts(
        inferenceservice=inferenceservice,
        services=services,
        deployments=deployments,
        pods=pods,
        heads=heads,
        default_mode=default_mode,
        without_knative=snapshot.state(KNATIVE_SERVICES).served is Served.ABSENT,
    )


def object_name(inferenceservice: InferenceService, component: Component) -> str:
    """Return the name of a component's Knative Service, Deployment and Service."""
    return f"{inferenceservice.name}-{component}"


def deployment_name(
    inferenceservice: InferenceService, component: Component, snapshot: Snapshot
) -> str:
    """Return the name of a component's Deployment; older ones have `-default` after it."""
    name = object_name(inferenceservice, component)
    there = snapshot[DEPLOYMENTS]
    former = f"{name}{_FORMER}"
    if there.get(inferenceservice.namespace, name) is not None:
        return name
    return name if there.get(inferenceservice.namespace, former) is None else former


def knative_service(
    inferenceservice: InferenceService, component: Component, snapshot: Snapshot
) -> KnativeService | None:
    """Return the Knative Service of a component; older ones have `-default` after their name."""
    services = snapshot[KNATIVE_SERVICES]
    name = object_name(inferenceservice, component)
    for each in (name, f"{name}{_FORMER}"):
        service = services.get(inferenceservice.namespace, each)
        if service is not None:
            return service
    return None


def predictor_pods(
    inferenceservice: InferenceService,
    mode: Mode,
    service: KnativeService | None,
    *,
    snapshot: Snapshot,
) -> tuple[Pod, ...]:
    """Return the pods that the model status is read from, by name.

    In Knative mode those of the latest created revision, also while an older one serves.
    """
    pods = snapshot[PODS]
    place = inferenceservice.namespace
    if mode is not Mode.KNATIVE:
        app = f"isvc.{deployment_name(inferenceservice, Component.PREDICTOR, snapshot)}"
        return pods.labelled(place, APP, app)
    created = service.status.latest_created_revision_name if service else ""
    return pods.labelled(place, REVISION, created) if created else ()


def _deployments(
    inferenceservice: InferenceService, component: Component, snapshot: Snapshot
) -> Iterator[Deployment]:
    """Yield a component's Deployment, then those of its workers if it has several nodes."""
    name = deployment_name(inferenceservice, component, snapshot)
    head = snapshot[DEPLOYMENTS].get(inferenceservice.namespace, name)
    if head is not None:
        yield head
    spec = spec_of(inferenceservice.spec, component)
    if spec is None or spec.worker_spec is None:
        return
    workers = partial(_workers, inferenceservice.namespace, name)
    yield from snapshot.once(("workers", inferenceservice.namespace, name), workers)


def _workers(namespace: str, name: str, snapshot: Snapshot) -> tuple[Deployment, ...]:
    """Return the Deployments of the workers of a component, by the name of its own."""
    all_workers = snapshot.once(("workers", namespace), partial(_all_workers, namespace))
    first = bisect_left(all_workers, f"{name}-", key=_name)
    following = takewhile(
        lambda each: each.name.startswith(f"{name}-"), islice(all_workers, first, None)
    )
    return tuple(each for each in following if _WORKER in each.name.removeprefix(name))


def _all_workers(namespace: str, snapshot: Snapshot) -> tuple[Deployment, ...]:
    found = snapshot[DEPLOYMENTS].in_namespace(namespace)
    return tuple(each for each in found if _WORKER in each.name)


def _name(deployment: Deployment) -> str:
    return deployment.name


PREV: Final = "prev"
"""Tag that KServe gives the traffic entry of the revision before."""


class Conclusion(Enum):
    """What one snapshot of a component tells; several may hold at once."""

    FULLY_ROLLED_OUT = "fully rolled out"
    CANARY = "canary in progress"
    ROLLED_BACK = "rolled back"
    HELD_AT_ZERO = "canary held at 0"
    NEWEST_NOT_READY = "newest revision not ready"
    ROLLOUT_NOT_FINISHED = "rollout not finished"
    FELL_BACK = "a rollback happened since the last promotion"
    NO_FALLBACK = "only one rollout so far: a rollback will have no effect"
    SPLIT_OVER_ONE = "split over one revision"


def read_component(
    status: ComponentStatus, canary_percent: int | None = None
) -> frozenset[Conclusion]:
    """Return all that holds of a component.

    Args:
        status: its stored or derived status; Knative mode.
        canary_percent: `canaryTrafficPercent` of its spec.

    """
    return frozenset(_conclusions(status, canary_percent))


def latest_entry(status: ComponentStatus) -> TrafficEntry | None:
    """Return the first entry that follows the latest ready revision, None if there is none."""
    ready = status.latest_ready_revision
    return next((each for each in status.traffic or () if follows(each, ready)), None)


def _conclusions(status: ComponentStatus, canary_percent: int | None) -> Iterator[Conclusion]:
    created, ready = status.latest_created_revision, status.latest_ready_revision
    rolled_out, previous = status.latest_rolledout_revision, status.previous_rolledout_revision
    entry = latest_entry(status)
    percent = entry.percent if entry else None
    if created and created != ready:
        yield Conclusion.NEWEST_NOT_READY
    if ready and rolled_out and ready != rolled_out and canary_percent is None:
        yield Conclusion.ROLLOUT_NOT_FINISHED
    if rolled_out and rolled_out == previous:
        yield Conclusion.FELL_BACK
    if rolled_out and not previous:
        yield Conclusion.NO_FALLBACK
    if percent is None:
        return
    if ready and rolled_out:
        yield from _of_ready(percent, status, newest=created == ready)
    if percent < WHOLE and {each.revision_name for each in status.traffic or ()} == {ready}:
        yield Conclusion.SPLIT_OVER_ONE


def _of_ready(percent: int, status: ComponentStatus, *, newest: bool) -> Iterator[Conclusion]:
    """Yield what the percent of the latest entry tells.

    A canary and a rollback go on while a newer revision starts or fails.
    """
    rolled_out, previous = status.latest_rolledout_revision, status.previous_rolledout_revision
    if rolled_out == status.latest_ready_revision:
        if percent == WHOLE and newest:
            yield Conclusion.FULLY_ROLLED_OUT
    elif 0 < percent < WHOLE:
        yield Conclusion.CANARY
    elif percent == 0 and rolled_out == previous:
        yield Conclusion.ROLLED_BACK
    elif percent == 0 and newest:
        yield Conclusion.HELD_AT_ZERO


def strays(status: ComponentStatus, canary_percent: int | None) -> tuple[tuple[str, int], ...]:
    """Return the revisions that get requests and that nobody asked for, with their percent.

    Those are all but the latest ready one and those that are asked for by name. Without a percent of
    a canary a rollout goes on, and an older revision may have its share.
    """
    asked = asked_traffic(canary_percent, status.latest_rolledout_revision)
    named = {each.revision_name for each in asked if each.revision_name}
    if not named:
        return ()
    wanted = named | {status.latest_ready_revision, ""}
    traffic = status.traffic or ()
    names = dict.fromkeys(each.revision_name for each in traffic if each.percent)
    return tuple((each, total(traffic, each)) for each in names if each not in wanted)


def asked_traffic(canary_percent: int | None, rolled_out: str) -> tuple[TrafficEntry, ...]:
    """Return the traffic that KServe asks Knative for.

    Without a revision that was rolled out the canary percent is ignored. The rule is in KServe's
    pkg/controller/v1beta1/inferenceservice/reconcilers/knative/ksvc_reconciler.go, v0.20.0.
    """
    if canary_percent is None or canary_percent >= WHOLE or not rolled_out:
        return (TrafficEntry(latest_revision=True, percent=WHOLE),)
    return (
        TrafficEntry(latest_revision=True, percent=canary_percent),
        TrafficEntry(
            revision_name=rolled_out,
            latest_revision=False,
            percent=WHOLE - canary_percent,
            tag=PREV,
        ),
    )
