"""The shared components of the stack: which are configured, where each one runs, and whether a
cluster needs one or its CustomResourceDefinition.

Also: the workload namespaces, references to Namespaces, and the pods of endpoint pickers.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from itertools import chain, zip_longest
from math import inf
from types import MappingProxyType
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.shared_parts import SHARED_CONTROLLERS
from reporter.diagnosis.wanted_evidence import WantedEvidence
from reporter.model import objects as o
from reporter.model.paths import generation_of
from reporter.model.report import Report
from reporter.model.resource import PartKey, Seen, parse_selector
from reporter.model.stack import Controller, Need, ScrapedPickers
from reporter.model.subject import ObjectRef
from reporter.model.text import detail, remembered
from reporter.setting_types import PartMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import NOT_READ, Served, Snapshot
from reporter.workload.deployment import is_available
from reporter.workload.owners import first_there
from reporter.workload.replica_faults import pods_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneComponent:
    """One configured Deployment of the shared control plane: one of the names in `row`.

    `namespaces` are where it may be. `image` is the end of its image's path, and `label` is one of
    its labels, `key=value`; both are empty if it is known by name only. `mode` says whether it is
    expected.
    """

    row: Controller
    part: str
    deployment: str
    namespaces: tuple[str, ...]
    image: str
    label: str
    mode: PartMode

    @property
    def reason(self) -> str:
        return self.row.reason

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.row.needs

    @property
    def key(self) -> PartKey:
        return self.reason, self.deployment

    def found(
        self, snapshot: Snapshot, seen: Mapping[PartKey, ObjectRef] = MappingProxyType({})
    ) -> tuple[o.Deployment, ...]:
        """Return its Deployments in the namespace where it works; more than one means revisions.

        That is the namespace where it was seen, as long as replicas are wanted there: the owner of
        another candidate namespace must not hide an outage with a Deployment of the same name.
        Otherwise it is the namespace of the oldest Deployment with wanted replicas: the API server
        writes the creation time, while a tenant can write labels, images and Leases. Deployments
        left at zero replicas when a part moved do not count. If no candidate namespace has it, it
        is found anywhere by its image or label: add-ons and other charts put controllers elsewhere.
        """
        found = self._candidates(snapshot)
        was = seen.get(self.key)
        for each in found:
            if was and each[0].namespace == was.namespace and any(one.wanted > 0 for one in each):
                return each
        return min(found or self._anywhere(snapshot), key=_standing, default=())

    def is_elsewhere(self, deployment: o.Deployment) -> bool:
        """Tell whether one of its Deployments was found only by its image or label."""
        return deployment.namespace not in self.namespaces or not self.is_named(deployment.name)

    def _anywhere(self, snapshot: Snapshot) -> list[tuple[o.Deployment, ...]]:
        for mark in filter(None, (self.image, self.label)):
            found = snapshot.entry("images and labels", mark, _by_mark) or ()
            there: list[tuple[o.Deployment, ...]] = [(each,) for each in found if not each.deleting]
            if there:
                return there
        return []

    @property
    def lease_keys(self) -> tuple[tuple[str, str], ...]:
        """Namespaces and names of Leases that show that it works.

        A tenant can create Leases in the tenant's namespace, so only those in the candidate
        namespaces and in kube-system count.
        """
        places = dict.fromkeys((*self.namespaces, r.EVENT_NAMESPACE))
        return tuple((place, name) for place in places for name in self.row.leases)

    def is_at_work(self, snapshot: Snapshot) -> bool:
        """Tell whether it works out of sight: one of its Leases is renewed."""
        return any(snapshot[r.LEASES].get(*each) for each in self.lease_keys)

    def keeps_up(self, snapshot: Snapshot) -> bool:
        """Tell whether all objects that need it are observed in their current generation."""
        return self.row.observes and snapshot.once(
            ("kept up", *self.needs), partial(_kept_up, self.needs)
        )

    def elsewhere(self, snapshot: Snapshot, found: tuple[o.Deployment, ...]) -> tuple[str, ...]:
        """Return the other namespaces where a Deployment of its name has wanted replicas."""
        places = {each.namespace for each in found}
        return tuple(
            each[0].namespace
            for each in self._candidates(snapshot)
            if each[0].namespace not in places and any(one.wanted > 0 for one in each)
        )

    def _candidates(self, snapshot: Snapshot) -> list[tuple[o.Deployment, ...]]:
        table = snapshot[r.DEPLOYMENTS]
        places = (table.in_namespace(each) for each in self.namespaces)
        found = (tuple(each for each in place if self.is_named(each.name)) for place in places)
        return [each for each in found if each]

    def is_missing(self, snapshot: Snapshot) -> bool:
        looked = all(
            snapshot.absence_known(
                r.DEPLOYMENTS, each, sought=lambda skipped: self.is_named(skipped.name)
            )
            for each in self.namespaces
        )
        anywhere = not (self.image or self.label) or snapshot.known(r.DEPLOYMENTS)
        return looked and anywhere and not self.found(snapshot)

    def home(self, snapshot: Snapshot) -> str:
        """Return the namespace where it is or belongs: the first candidate that exists."""
        for deployment in self.found(snapshot):
            return deployment.namespace
        return first_there(self.namespaces, snapshot)

    def sole_place(self, snapshot: Snapshot, there: str = "") -> str:
        """Return the only namespace that needs it; empty if it belongs there or must exist.

        `there` is where it is or was, which counts as a need: any tenant may run its image.
        """
        found = dict.fromkeys((*filter(None, (there,)), *places(self.needs, snapshot)))
        place = "".join(found) if len(found) == 1 and self.mode is not PartMode.ON else ""
        return "" if place in self.namespaces else place

    def is_named(self, name: str) -> bool:
        own = f"{self.deployment}-"
        return name == self.deployment or (self.row.revisions and name.startswith(own))


@lru_cache(maxsize=8)
def components(settings: EvaluationSettings) -> tuple[ControlPlaneComponent, ...]:
    """Return the components that are not switched off."""
    every = (
        *((each, "") for each in SHARED_CONTROLLERS),
        *((each, stack.name) for stack in settings.known_stacks for each in stack.controllers),
    )
    made = chain.from_iterable(_made(each, stack, settings) for each, stack in every)
    return tuple(each for each in made if each.mode is not PartMode.OFF)


_MAKING: Final = timedelta(minutes=10)
"""A controller that ends this soon after its first object may not have created the others."""


def maker_restarted(
    kind: str, since: datetime | None, snapshot: Snapshot, *, settings: EvaluationSettings
) -> str:
    """Return a text about a controller of a kind that ended soon after `since`, or empty."""
    makers = (each for each in components(settings) if kind in each.row.makes_for)
    for deployment in chain.from_iterable(each.found(snapshot) for each in makers):
        pods = pods_of(deployment.spec.selector, deployment.namespace, snapshot)
        for status in chain.from_iterable(pod.status.container_statuses or () for pod in pods):
            ended = status.ended_before
            at = ended.finished_at if ended else None
            if ended and at and since and timedelta(0) <= at - since <= _MAKING:
                why = detail(ended.reason, f"exit code {ended.exit_code}")
                return f"; its controller {deployment.name} restarted after that had begun ({why})"
    return ""


def readers_of_pods(settings: EvaluationSettings) -> tuple[ControlPlaneComponent, ...]:
    """Return the components that network policies of model pods have to admit."""
    return tuple(each for each in components(settings) if each.row.reads_pods)


def _standing(found: tuple[o.Deployment, ...]) -> tuple[bool, float, bool]:
    """Return the sort key of the Deployments in one namespace; the first is the one that works."""
    wanted = [each for each in found if each.wanted > 0]
    created = (each.created.timestamp() for each in wanted if each.created)
    return not wanted, min(created, default=inf), not any(map(is_available, found))


def _made(
    controller: Controller, stack: str, settings: EvaluationSettings
) -> Iterator[ControlPlaneComponent]:
    """Yield the Deployments of a row, configured by `components` or the settings that it names."""
    part = controller.part or stack
    place, given = controller.namespaces, controller.given
    if controller.home:
        names, namespaces = settings.place_of(part, controller.names, controller.home)
    else:
        if controller.else_namespaces and not settings.has(place):
            place = controller.else_namespaces
        given = (*filter(None, (controller.deployment, place)), *given)
        names = controller.names or (settings.text_of(controller.deployment),)
        namespaces = settings.names_of(place)
    own = stack if controller.with_stack else ""
    mode = settings.component(part, given, stack=own, with_stack=not controller.optional)
    count = len(names)
    marks = zip_longest(names, controller.images[:count], controller.labels[:count], fillvalue="")
    for name, image, label in marks:
        yield ControlPlaneComponent(
            row=controller,
            part=part,
            deployment=name,
            namespaces=namespaces,
            image=image,
            label=label,
            mode=mode,
        )


_MARKS: Final = ("app", "app.kubernetes.io/name", "control-plane")
"""The keys of `Controller.labels`."""


def _by_mark(snapshot: Snapshot) -> Mapping[str, tuple[o.Deployment, ...]]:
    """Return the Deployments by the ends of their images' paths, and by some labels."""
    return grouped((mark, each) for each in snapshot[r.DEPLOYMENTS] for mark in _marks_of(each))


def _marks_of(deployment: o.Deployment) -> set[str]:
    containers = deployment.spec.template.spec.containers or ()
    labels = deployment.metadata.labels or {}
    ends = {end for each in containers for end in _ends_of(each.image)}
    return ends | {f"{key}={labels[key]}" for key in _MARKS if key in labels}


@remembered(4096, characters=512)
def _ends_of(image: str) -> tuple[str, ...]:
    """Return the last one, two and three parts of an image's path, without its tag."""
    path = image.partition("@")[0].split("/")
    path[-1] = path[-1].partition(":")[0]
    return tuple("/".join(path[-count:]) for count in (1, 2, 3) if len(path) >= count)


def with_verdicts(
    wanted: WantedEvidence, report: Report, snapshot: Snapshot, *, settings: EvaluationSettings
) -> WantedEvidence:
    """Return the wanted evidence, with unwatched objects that verdicts depend on.

    Leases show whether a missing part works out of sight, and are read for as long as it does;
    HorizontalPodAutoscalers show whether models are scaled.
    """
    reported = {each.reason for each in report.findings}
    leases = tuple(
        key
        for each in components(settings)
        if each.row.leases and (each.reason in reported or each.is_at_work(snapshot))
        if each.is_missing(snapshot)
        for key in each.lease_keys
    )
    scaled = {kind for each in settings.known_stacks if each.scales for kind in each.kinds}
    at_fault = any(each.related.kind == r.AUTOSCALERS.kind for each in report.findings)
    return replace(
        wanted,
        leases=leases,
        resources=(*wanted.resources, *((r.APISERVICES,) if at_fault else ())),
        scalers=any(each.kind in scaled for each in report.subjects),
        scalers_at_fault=at_fault,
    )


def _kept_up(needs: tuple[Need, ...], snapshot: Snapshot) -> bool:
    kept = [
        observed >= obj.metadata.generation
        for each in needs
        if each.by.custom and not each.by.observes_another
        for obj in snapshot[each.by]
        if not obj.deleting and (observed := _observed(obj))
    ]
    return bool(kept) and all(kept)


def _observed(obj: o.KubeObject) -> int:
    """Return the newest observed generation in the status of an object, or 0."""
    status: object = getattr(obj, "status", None)
    conditions = status.conditions if isinstance(status, o.Conditioned) else None
    own: object = getattr(status, "observed_generation", 0)
    return max(map(generation_of, (own, *(each.observed_generation for each in conditions or ()))))


NEEDED_BY: Final = ", needed by "
"""Text in messages before the object that needs a missing part."""


def needed_by(needs: Iterable[Need], snapshot: Snapshot) -> str:
    """Return the name of the first object that shows one of some needs, or an empty string.

    Each need is evaluated once per snapshot: Deployments, CRDs and Ready ask for the same.
    """
    found = (
        snapshot.once(each, each.first if each.alone is None else partial(_first_alone, each))
        for each in needs
    )
    return next(filter(None, found), "")


def places(needs: tuple[Need, ...], snapshot: Snapshot) -> tuple[str, ...]:
    """Return the namespaces that show some needs, at most two."""
    return snapshot.once(("places", *needs), partial(_places, needs))


def _places(needs: tuple[Need, ...], snapshot: Snapshot) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for each in needs:
        for obj in snapshot[each.by]:
            if obj.namespace not in found and not obj.deleting and each.shows(obj, snapshot):
                found[obj.namespace] = None
                if len(found) > 1:
                    return tuple(found)
    return tuple(found)


def needed_since(needs: Iterable[Need], snapshot: Snapshot) -> datetime | None:
    """Return when the oldest object that shows some needs now was created."""
    shown = (
        obj.created
        for each in needs
        for obj in snapshot[each.by]
        if obj.created and not obj.deleting and each.shows(obj, snapshot)
    )
    return min(shown, default=None)


def still_needed_by(
    key: PartKey, needs: tuple[Need, ...], snapshot: Snapshot, *, seen: Seen
) -> str:
    """Return the result of `needed_by`, or the last one if objects cannot be read now."""
    found = needed_by(needs, snapshot)
    if found or not may_be_needed(needs, snapshot):
        return found
    return seen.needed.get(key, "")


def may_be_needed(needs: Iterable[Need], snapshot: Snapshot) -> bool:
    """Tell whether requested objects that would show one of some needs cannot be read.

    Objects that are not requested, as those of a stack that is switched off, do not count.
    """
    states = (snapshot.state(each.by) for each in needs)
    return any(each.served is Served.UNKNOWN and each.cause != NOT_READ.cause for each in states)


def _first_alone(need: Need, snapshot: Snapshot) -> str:
    found = snapshot[need.by].first(need.alone) if need.alone is not None else None
    return need.names(found) if found is not None else ""


MANAGED_BY: Final = "productionstack.kaito.sh/managed-by"
"""Label of workload namespaces; its value is the chart that created them."""

MODELHARNESS: Final = "modelharness"


def is_left_out(namespace: str, snapshot: Snapshot, settings: EvaluationSettings) -> bool:
    """Tell whether --model-namespaces excludes the models of a namespace."""
    if not settings.model_namespaces:
        return False
    known = snapshot[r.NAMESPACES].get("", namespace)
    labels = known.metadata.labels if known is not None else None
    return not _selector(settings.model_namespaces).matches(labels)


_selector = lru_cache(maxsize=16)(parse_selector)


def managed_namespaces(snapshot: Snapshot) -> tuple[o.Namespace, ...]:
    """Return the workload namespaces that are not being deleted, by name.

    Namespaces that a user has named, but whose labels may not be read, count as such.
    """
    if snapshot.state(r.NAMESPACES).partial and not snapshot.known(r.NAMESPACES):
        return tuple(o.Namespace(metadata=o.Metadata(name=each)) for each in snapshot.covered or ())
    labelled = snapshot[r.NAMESPACES].labelled("", MANAGED_BY, MODELHARNESS)
    return tuple(each for each in labelled if not each.deleting)


def namespace_ref(snapshot: Snapshot, name: str) -> ObjectRef:
    """Return the reference to a Namespace, with its uid if known."""
    namespace = snapshot[r.NAMESPACES].get("", name)
    return r.NAMESPACES.ref(namespace) if namespace else r.NAMESPACES.ref_named("", name)


def picker_pods(
    snapshot: Snapshot, row: ScrapedPickers, namespace: str, *, name: str
) -> tuple[o.Pod, ...]:
    """Return the pods of a subject's endpoint picker, by name."""
    found = snapshot[r.PODS].labelled(namespace, row.label, row.value(name))
    others = row.labels.items()
    return tuple(each for each in found if others <= (each.metadata.labels or {}).items())
