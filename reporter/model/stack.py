"""The table rows of a stack: a way of deploying models, and the project that it belongs to.

Everything here is data. `reporter.stacks.stack.Stack` adds what a stack looks at, derives and
writes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, TypeVar

from reporter.model.objects import KubeObject, Labels
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import AnyResource, Resource
from reporter.model.subject import SubjectKind

ObjectT = TypeVar("ObjectT", bound=KubeObject)


class Objects(Protocol):
    """The objects of a cluster, by resource, in the order of namespace and name."""

    def __getitem__(self, resource: Resource[ObjectT], /) -> Iterable[ObjectT]: ...

    def known(self, resource: AnyResource, /) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Need:
    """Objects that do nothing without a part.

    `words` describe them in the plural, for the documentation; `evidence` says why they need the
    part, with a public source. `shows` tells whether an object is one of them, and may look up
    other objects. `alone` does the same for an object that is not being deleted; it is None if
    other objects have to be looked up. `detail` is what a message adds after the object's name,
    starting with a space.
    """

    by: AnyResource
    words: str
    evidence: str
    shows: Callable[[KubeObject, Objects], bool]
    alone: Callable[[KubeObject], bool] | None
    detail: Callable[[KubeObject], str]

    def first(self, objects: Objects) -> str:
        """Return the first object that shows the need, as named in messages, or an empty string."""
        for each in objects[self.by]:
            if not each.deleting and self.shows(each, objects):
                return self.names(each)
        return ""

    def names(self, obj: KubeObject) -> str:
        return f"{self.by.ref(obj)}{self.detail(obj)}"


class _NoOthers:
    """Raise on lookups, to find needs that look up other objects but do not say so."""

    def __getitem__(self, resource: Resource[ObjectT], /) -> Iterable[ObjectT]:
        raise TypeError(f"{resource} is looked up by a need that looks at each object alone")

    def known(self, resource: AnyResource, /) -> bool:
        raise TypeError(f"{resource} is looked up by a need that looks at each object alone")


_NO_OTHERS: Final = _NoOthers()


def need(
    by: Resource[ObjectT],
    words: str,
    *,
    evidence: str,
    shows: Callable[[ObjectT, Objects], bool] = lambda _, __: True,
    detail: Callable[[ObjectT], str] = lambda _: "",
    looks_up: bool = False,
) -> Need:
    """Return a need that some or all objects of a resource show; see `Need`.

    `looks_up`: other objects matter too, so the need must be evaluated again when they change.
    """

    def _shows(obj: KubeObject, objects: Objects) -> bool:
        return isinstance(obj, by.type) and shows(obj, objects)

    def _detail(obj: KubeObject) -> str:
        return detail(obj) if isinstance(obj, by.type) else ""

    def _alone(obj: KubeObject) -> bool:
        return not obj.deleting and _shows(obj, _NO_OTHERS)

    return Need(
        by=by,
        words=words,
        evidence=evidence,
        shows=_shows,
        alone=None if looks_up else _alone,
        detail=_detail,
    )


SettingName: TypeAlias = str
"""A field of the settings, such as `kaito_namespace`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A shared Deployment that a stack brings along, or the controller of its objects.

    `reason` is raised when it is not ready. `part` is the shared part that it belongs to, by its
    name in `--components`; empty means the stack's own.

    Where it is: `names` are its Deployments, and `home` the namespaces where they may be; a place
    in `--components` replaces both. Or `deployment` is the setting with its name, and `namespaces`
    the setting with its namespaces, `else_namespaces` the fallback if that is empty; all settings
    in `given` must have a value too. If it is in none of
    these namespaces, it is found in any other by the end of the image for each of `names`, a path
    of two or three parts (`images`), or by a label that its project ships it with, `key=value`
    (`labels`), because some registry mirrors rename the image. `revisions`: Deployments named
    `<deployment>-<revision>` are also its instances. If it is not found, a leader election Lease of
    `leases` that is renewed in one of its namespaces or in kube-system shows that it works.

    What it does: `observes`: it writes `observedGeneration` of the objects that need it.
    `makes_for` are kinds for whose objects it creates others. `governs`: it writes a status that
    downstream reasons read. `reads_pods`: it reads the metrics of model pods, so network policies
    have to admit it.

    When it is expected: when any of `needs` is shown. `with_stack`: it is off if the stack is off,
    and expected if the stack is `on`; `optional`: the latter does not apply.
    """

    reason: str
    part: str = ""
    home: tuple[str, ...] = ()
    namespaces: SettingName = ""
    else_namespaces: SettingName = ""
    deployment: SettingName = ""
    names: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    leases: tuple[str, ...] = ()
    observes: bool = False
    makes_for: tuple[str, ...] = ()
    given: tuple[SettingName, ...] = ()
    needs: tuple[Need, ...] = ()
    governs: bool = False
    revisions: bool = False
    with_stack: bool = True
    optional: bool = False
    reads_pods: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredKind:
    """A CustomResourceDefinition that a shared part, or a user of the part, cannot do without.

    `part` and `needs` are as in `Controller`. Any of `instead` is as good, for example after a kind
    has moved to another group. No Deployment of the parts in `of` can run without it.
    `only_needed`: it is expected only if something needs it, even if its part is `on`.
    `with_stack`: it follows the stack's mode if its part has none.
    """

    crd: str
    owner: str
    part: str = ""
    instead: tuple[str, ...] = ()
    settings: tuple[SettingName, ...] = ()
    needs: tuple[Need, ...] = ()
    of: tuple[str, ...] = ()
    only_needed: bool = False
    with_stack: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedPods:
    """The pods of a stack that serve metrics.

    The value of `label` names the subject in the pod's namespace.

    `container` is the name of the container that serves; its image must contain one of `images`, if
    given, as servers that are not judged may use the same name. With `images` only, for stacks
    whose users choose the name, the first container with such an image and a port serves, else the
    first with a port named `port`; routers are left out. With neither, the first container that is
    not a mesh proxy serves, on the port from the settings. Pods without such a container are not
    scraped. `port` names the container's port; if no port has that name, the first one counts.

    The value of `index_label` is a pod's index in its group, whose first pod serves the page; if it
    is empty, the ordinal of a StatefulSet's pod is used. `not_ready` is the reason for pods that
    are not Ready; their pages add nothing.
    """

    kind: SubjectKind
    label: str
    labels: Labels = field(default_factory=dict)
    container: str = ""
    images: tuple[str, ...] = ()
    port: str = ""
    index_label: str = ""
    not_ready: str

    def serves(self, image: str) -> bool:
        """Tell whether the container's image may be that of an engine."""
        return not self.images or any(part in image for part in self.images)

    @property
    def picks_container(self) -> bool:
        return bool(self.container or self.images)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedPickers:
    """The endpoint pickers of a stack, which have metrics that pods do not have.

    `value` turns the subject's name into the label's value. `pools` has the InferencePools that
    reference them.
    """

    kind: SubjectKind
    label: str
    value: Callable[[str], str] = str
    labels: Labels = field(default_factory=dict)
    pools: tuple[AnyResource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackWords:
    """What docs/stacks.md says about a stack in addition to the tables.

    `derived` names the status or objects that are derived by the project's own rules; `unsaid`
    lists, for each kind, what its description leaves open.
    """

    derived: str
    required: str
    unsaid: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class StackRows:
    """The table rows of a stack. `name` is its name in `--stacks`.

    `expected`: a dump that contains nothing of the stack lists its resources as unknown. Some
    objects of the shared resources in `shares` are its subjects too. `reasons` are those of its
    subjects by priority, Ready last; `cluster_reasons` those of its controllers. `scraped` are the
    pods that serve metrics. `scales`: HorizontalPodAutoscalers of its models are judged.
    `made_with` is a label that its controllers put on the objects they create, with the subject's
    name as value.
    """

    name: str
    project: str
    words: StackWords
    expected: bool = False
    resources: tuple[AnyResource, ...]
    shares: tuple[AnyResource, ...] = ()
    cluster_reasons: tuple[Reason, ...] = ()
    reasons: tuple[Reason, ...]
    suppression: tuple[SuppressionRow, ...] = ()
    controllers: tuple[Controller, ...] = ()
    required: tuple[RequiredKind, ...] = ()
    scraped: ScrapedPods | None = None
    pickers: ScrapedPickers | None = None
    scales: bool = False
    made_with: str = ""

    @property
    def subjects(self) -> tuple[AnyResource, ...]:
        """The resources whose objects are its subjects; the first wins if names are equal."""
        return tuple(each for each in self.resources if each.subject_kind)

    @property
    def shows_needs(self) -> frozenset[AnyResource]:
        return frozenset(each.by for controller in self.controllers for each in controller.needs)

    @property
    def kinds(self) -> tuple[SubjectKind, ...]:
        found = (each.subject_kind for each in self.subjects)
        return tuple(dict.fromkeys(each for each in found if each))
