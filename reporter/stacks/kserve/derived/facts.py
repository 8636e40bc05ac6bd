"""The objects from which the status of an InferenceService is derived, and how they are found."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice, takewhile
from operator import attrgetter

from reporter.catalogue.resources import DEPLOYMENTS, PODS
from reporter.model.objects import Deployment, Pod
from reporter.model.stack import ObjectT
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Snapshot
from reporter.snapshot.table import Table
from reporter.stacks.kserve import objects as api
from reporter.stacks.kserve.derived.conditions import BEFORE_ALL
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceServiceFacts:
    """The inputs of the status of one InferenceService.

    Attributes:
        services: existing Knative Services by component; None if they are unknown.
        deployments: Deployments by component, head before workers; None if they are unknown.
        pods: the pods that decide the model status, newest first as KServe sorts them
            (pkg/controller/v1beta1/inferenceservice/utils/utils.go); None if they are unknown.

    """

    inferenceservice: api.InferenceService  # with its stored status
    services: Mapping[api.Component, api.KnativeService] | None = None
    deployments: Mapping[api.Component, tuple[Deployment, ...]] | None = None
    pods: tuple[Pod, ...] | None = None
    mode: api.Mode = api.Mode.KNATIVE  # the deployment mode in effect
    without_knative: bool = False  # the cluster serves no Knative Services

    @property
    def made(self) -> Mapping[api.Component, object] | None:
        """What its components run on in its mode; None if that is unknown."""
        return self.services if self.mode is api.Mode.KNATIVE else self.deployments


def facts_of(
    inferenceservice: api.InferenceService,
    snapshot: Snapshot,
    default_mode: api.Mode = api.Mode.KNATIVE,
) -> InferenceServiceFacts:
    """Collect the objects of an InferenceService from a snapshot.

    `default_mode` is the mode in KServe's configuration; it also replaces unknown mode names.
    """
    place, predictor = inferenceservice.namespace, api.Component.PREDICTOR
    mode = inferenceservice.named_mode or default_mode
    components = tuple(api.components_of(inferenceservice.spec))
    sought = belongs_to(inferenceservice.name, api.INFERENCESERVICE)
    known = partial(snapshot.absence_known, namespace=place, sought=sought)
    services: dict[api.Component, api.KnativeService] | None = None
    deployments: dict[api.Component, tuple[Deployment, ...]] | None = None
    pods: Iterable[Pod] | None = None
    if known(KNATIVE_SERVICES):
        found = (
            (each, made(snapshot[KNATIVE_SERVICES], inferenceservice, each)) for each in components
        )
        services = {each: service for each, service in found if service is not None}
    heads = {each: made(snapshot[DEPLOYMENTS], inferenceservice, each) for each in components}
    names = {
        each: of.name if of else object_name(inferenceservice, each) for each, of in heads.items()
    }
    if known(DEPLOYMENTS):
        deployments = {each: (head,) if head else () for each, head in heads.items()}
        for each, name in names.items():
            if api.wanted_deployments(inferenceservice.spec, each) > 1:
                workers = snapshot.once(("workers", place, name), partial(_workers, place, name))
                deployments[each] += workers
    if known(PODS) and mode is not api.Mode.KNATIVE:
        pods = snapshot[PODS].labelled(place, "app", f"isvc.{names[predictor]}")
    elif known(PODS) and services is not None:
        # The newest revision, even while an older one serves.
        of = services.get(predictor)
        newest = of.status.latest_created_revision_name if of else ""
        pods = snapshot[PODS].labelled(place, api.REVISION, newest) if newest else ()
    return InferenceServiceFacts(
        inferenceservice=inferenceservice,
        services=services,
        deployments=deployments,
        pods=None if pods is None else tuple(sorted(pods, key=_created, reverse=True)),
        mode=mode,
        without_knative=snapshot.absent(KNATIVE_SERVICES),
    )


def _created(pod: Pod) -> datetime:
    return pod.created or BEFORE_ALL


def object_name(inferenceservice: api.InferenceService, component: api.Component) -> str:
    """Return the name of a component's Knative Service, Deployment and Service."""
    return f"{inferenceservice.name}-{component}"


def made(
    table: Table[ObjectT], inferenceservice: api.InferenceService, component: api.Component
) -> ObjectT | None:
    """Return the Knative Service or the Deployment of a component.

    Older versions appended `-default` to the name; KServe keeps using existing ones.
    """
    name = object_name(inferenceservice, component)
    newer = table.get(inferenceservice.namespace, name)
    return newer or table.get(inferenceservice.namespace, f"{name}-default")


def _workers(namespace: str, name: str, snapshot: Snapshot) -> tuple[Deployment, ...]:
    all_workers = snapshot.once(("workers", namespace), partial(_all_workers, namespace))
    first = bisect_left(all_workers, f"{name}-", key=attrgetter("name"))
    following = takewhile(
        lambda each: each.name.startswith(f"{name}-"), islice(all_workers, first, None)
    )
    return tuple(each for each in following if "worker" in each.name.removeprefix(name))


def _all_workers(namespace: str, snapshot: Snapshot) -> tuple[Deployment, ...]:
    found = snapshot[DEPLOYMENTS].in_namespace(namespace)
    return tuple(each for each in found if "worker" in each.name)
