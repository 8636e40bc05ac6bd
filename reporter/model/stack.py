"""What the tables hold of a stack: a way of deploying models, with the project that it is of.

Everything here is data. What a stack looks at, derives and writes is added to it by
`reporter.stacks.stack.Stack`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, TypeVar

from reporter.model.objects import KubeObject, Labels
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind

ObjectT = TypeVar("ObjectT", bound=KubeObject)


class Objects(Protocol):
    """The objects of a cluster, by resource, in the order of namespace and name."""

    def __getitem__(self, resource: Resource[ObjectT], /) -> Iterable[ObjectT]: ...

    def known(self, resource: Resource[KubeObject], /) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Need:
    """Objects that do nothing without a part.

    `words` say which of them in the plural, for the documentation; `evidence` why they need the
    part, with its public source. `shows` tells whether an object is one of them; others may have to
    be looked up. `alone` tells the same of an object that is not being deleted, where none has to
    be. `detail` is what a message says of one behind its name, with a space before it.
    """

    by: Resource[KubeObject]
    words: str
    evidence: str
    shows: Callable[[KubeObject, Objects], bool]
    alone: Callable[[KubeObject], bool] | None
    detail: Callable[[KubeObject], str]

    def first(self, objects: Objects) -> str:
        """Return the first object that shows it, as a message names it; empty where none does."""
        for each in objects[self.by]:
            if not each.deleting and self.shows(each, objects):
                return self.names(each)
        return ""

    def names(self, obj: KubeObject) -> str:
        return f"{self.by.ref(obj)}{self.detail(obj)}"


class _NoOthers:
    """Nothing can be looked up: what shows a need says so where it looks up others."""

    def __getitem__(self, resource: Resource[ObjectT], /) -> Iterable[ObjectT]:
        raise TypeError(f"{resource} is looked up by a need that looks at each object alone")

    def known(self, resource: Resource[KubeObject], /) -> bool:
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

    `looks_up` says that other objects decide too, so that it has to be asked again when they
    change.
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
"""A field of the settings, such as `kthena_namespace`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A shared Deployment that a stack brings along, or the controller of its objects.

    `reason` is raised when it is not ready. `part` is the shared part that it is of, by its name in
    `--components`; the stack's own if empty.

    Where it is: `deployment` is the setting that names it, or `names` are those of Deployments that
    no setting changes; `namespaces` is the setting that says where, `else_namespaces` the one that
    does where that is empty, and all of `given` must have a value too. Where it is in none of
    these, it is found in any by how the image of each of `names` ends, in a path of two or three
    parts (`images`), or by a label that its project ships it with, `key=value` (`labels`): behind
    some mirrors of registries its image has another name. `revisions`: Deployments named
    `<deployment>-<revision>` are its instances too. Where it is not found, one of its `leases` of
    leader election that is renewed in a namespace of its own or in kube-system shows that it works.

    What it does: `observes`: it writes `observedGeneration` of what needs it. `makes_for` are kinds
    for whose objects it makes others. `governs`: it writes a status that downstream reasons read.
    `reads_pods`: it reads the metrics of model pods, so network policies have to admit it.

    Whether it is expected: any of `needs` shows that it has to be there. `with_stack`: it is
    switched off with the stack, and on where the stack is `on`; `optional`: it is not missed just
    for that.
    """

    reason: str
    part: str = ""
    namespaces: SettingName
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
    """A CustomResourceDefinition that a shared part cannot do without, or what uses the part.

    `part` and `needs` are as in `Controller`. One of `instead` is as good, as where a kind has
    moved to another group. No Deployment of the parts in `of` can run without it. `only_needed`: it
    is missed only where something needs it, also where its part is `on`. `with_stack`: it follows
    the stack's mode where its part has none.
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

    The value of `label` names the subject, in the pod's namespace; a setting has it where it is
    empty. Only pods that have the `container` that serves are scraped. Its image name has one of
    `images`, where servers that are not judged serve under that name too, or where users choose the
    name: then the first container of such an image that has a port serves, and no router; else the
    first with a port named `port`. Where neither is given, the first container serves that is no
    mesh proxy, on the port of the settings. `port` names the container's port; its first port where
    none has that name. The value of `index_label` is a pod's place in its group, of which the first
    one serves the page; where it is empty, the ordinal of a StatefulSet's pod tells. `not_ready` is
    the reason that tells of pods that are not Ready: their pages say nothing more.
    """

    kind: SubjectKind
    label: str = ""
    label_setting: SettingName = ""
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
    """The endpoint pickers of a stack, whose metrics say what no pod's do.

    `value` makes the label's value of the subject's name. The InferencePools that name them are in
    `pools`.
    """

    kind: SubjectKind
    label: str
    value: Callable[[str], str] = str
    labels: Labels = field(default_factory=dict)
    pools: tuple[Resource[KubeObject], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackWords:
    """What docs/stacks.md says of a stack beyond what the tables hold.

    `derived` is which status, or which objects, are worked out by the project's own rules; `unsaid`
    of each kind what its description leaves open.
    """

    derived: str
    required: str
    unsaid: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class StackRows:
    """What the tables hold of a stack, by its `name` in `--stacks`.

    `expected`: a dump that holds nothing of it lists what is read for it as unknown. Some objects
    of the shared resources that it `shares` are its subjects too. `reasons` are those of its
    subjects in the order of priority, Ready last; `cluster_reasons` those of its controllers.
    `scraped` are the pods that serve metrics, `scales`: HorizontalPodAutoscalers of its models are
    judged. `made_with` is a label of what its controllers make for a subject, with the subject's
    name as value.
    """

    name: str
    project: str
    words: StackWords
    expected: bool = False
    resources: tuple[Resource[KubeObject], ...]
    shares: tuple[Resource[KubeObject], ...] = ()
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
    def subjects(self) -> tuple[Resource[KubeObject], ...]:
        """The resources whose objects are its subjects; of two of a name the first counts."""
        return tuple(each for each in self.resources if each.subject_kind)

    @property
    def shows_needs(self) -> frozenset[Resource[KubeObject]]:
        return frozenset(each.by for controller in self.controllers for each in controller.needs)

    @property
    def kinds(self) -> tuple[SubjectKind, ...]:
        found = (each.subject_kind for each in self.subjects)
        return tuple(dict.fromkeys(each for each in found if each))
