"""Which workloads are models, and the objects that belong to one.

A workload is a model if a container of its pod template is an engine, no other stack's kind owns
it, and its annotation does not say otherwise. The decode and prefill workloads of llm-d are roles
of one model: their pods have the same labels except for the role.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model import objects as o
from reporter.model.catalogue import Catalogue
from reporter.model.resource import Resource
from reporter.model.subject import Subject
from reporter.probes.scope import SubjectScope
from reporter.served.role import Containers, ServedRole, Workload
from reporter.served.ways import Ways
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.workloads.reasons import LEADERWORKERSETS, STACK, WORKLOAD_KIND
from reporter.workload.engines import ROLE, command_line, engines_of, model_named

Member: TypeAlias = tuple[Resource[Workload], Workload]

_KINDS: Final[tuple[Resource[Workload], ...]] = (r.DEPLOYMENTS, LEADERWORKERSETS, r.STATEFULSETS)
"""If two workloads have the same name, the first kind in this order counts."""

_GROUP: Final = "leaderworkerset.sigs.k8s.io/name"
_OTHERS: Final = (
    "inferenceset.kaito.sh/created-by", "kaito.sh/workspace", "modelserving.volcano.sh/name",
    "serving.knative.dev/revision", "serving.kserve.io/inferenceservice", _GROUP,
)  # fmt: skip
"""Labels of workloads that belong to another kind."""

_MADE_BY: Final = (
    ("app.kubernetes.io/part-of", "llminferenceservice"),
    ("app.kubernetes.io/managed-by", "model-operator"),
)
"""The same, as label values: KServe's LLMInferenceServices and OtterScale's operator."""

_PORT: Final = re.compile(r"--port[=\s]++([0-9]{1,5})\b")
_RELEASE: Final = "helm-release-name"
_NEAR: Final = 200
_MOST: Final = 8
"""The most routers and stray pods (of each) examined for one model."""


@dataclass(frozen=True, kw_only=True)
class WorkloadScope(SubjectScope[Workload]):
    members: tuple[Member, ...]  # its workloads, the decode role first

    @cached_property
    def subject(self) -> Subject:
        """The subject of its findings, the same kind for all kinds of workloads."""
        return Subject(WORKLOAD_KIND, self.place, self.name)

    @cached_property
    def roles(self) -> tuple[ServedRole, ...]:
        return tuple(self._role(resource, obj) for resource, obj in self.members)

    def _role(self, resource: Resource[Workload], obj: Workload) -> ServedRole:
        init = (each.name for each in template_of(obj).spec.init_containers or ())
        sole = len(self.members) == 1
        return ServedRole(
            name="main" if sole else labels_of(obj).get(ROLE, obj.name),
            resource=resource,
            workload=obj,
            pods=self._pods(resource, obj),
            containers=Containers(
                fetch=frozenset(each for each in init if "download" in each or "fetch" in each),
                serve=frozenset(engines_of(template_of(obj))),
            ),
        )

    def _pods(self, resource: Resource[Workload], obj: Workload) -> tuple[o.Pod, ...]:
        """Return the pods that a workload controls, else selected pods without a controller.

        Selectors may overlap, but a pod has at most one controller.
        """
        if isinstance(obj, o.LeaderWorkerSet):
            return self.snapshot[r.PODS].labelled(obj.namespace, _GROUP, obj.name)
        owned = self.snapshot.entry(
            ("pods of workloads", self.place),
            (resource.kind, obj.name),
            partial(_controlled, self.place),
        )
        selector = obj.spec.selector
        if owned or selector is None or not selector.match_labels:
            return owned or ()
        label = max(selector.match_labels.items(), key=lambda each: (len(each[1]), each))
        near = self.snapshot[r.PODS].labelled(obj.namespace, *label)[:_NEAR]
        stray = (each for each in near if _controller_of(each) is None)
        return tuple(
            islice((each for each in stray if selector.matches(each.metadata.labels)), _MOST)
        )

    @cached_property
    def router(self) -> o.Deployment | None:
        """The router of its release, if it has one with replicas."""
        found = self.snapshot.once(("routers", self.place), partial(_routers, self.place))
        release = labels_of(self.object).get(_RELEASE, "")
        near = (*found.get(release, ()), *(found.get("", ()) if release else ()))
        return next((each for each in near[:_MOST] if self._is_routed_by(each)), None)

    def _is_routed_by(self, router: o.Deployment) -> bool:
        labels = labels_of(self.object)
        if _release_of(router):
            return _release_of(router) == labels.get(_RELEASE)
        selector = _selector_of(router)
        if selector and not selector.items() <= labels.items():
            return False
        return self.name.startswith(router.name.removesuffix("deployment-router"))

    @cached_property
    def ways(self) -> Ways:
        """The paths to its pods, whose engines listen on the ports on their command lines."""
        lines = (command_line(template_of(obj)) for _, obj in self.members)
        ports = frozenset(int(port) for line in lines for port in _PORT.findall(line))
        labels = labels_of(self.object)
        return Ways(snapshot=self.snapshot, place=self.place, labels=labels, listens=ports)

    @cached_property
    def shared_services(self) -> tuple[tuple[o.Service, str], ...]:
        """Its Services that a route names and that also select another model's pods, with its name.

        A Service without a route may be for metrics only. A router chooses pods by model.
        """
        own = model_named(template_of(self.object))
        if not own or self.router is not None:
            return ()
        others = self.snapshot.once(("engines", self.place), partial(_engines, self.place))
        found = []
        for service in self.ways.services:
            selector = service.spec.selector or {}
            near = others.get(max(selector.items(), key=lambda each: (len(each[1]), each)), ())
            for obj, name in near[:_NEAR] if self.ways.naming(r.SERVICES.kind, (service,)) else ():
                if name != own and selector.items() <= labels_of(obj).items():
                    found.append((service, obj.name))
                    break
        return tuple(found)


def template_of(obj: Workload) -> o.PodTemplate:
    return obj.template if isinstance(obj, o.LeaderWorkerSet) else obj.spec.template


def labels_of(obj: Workload) -> o.Labels:
    return template_of(obj).metadata.labels or {}


def models_of(snapshot: Snapshot, catalogue: Catalogue) -> tuple[tuple[Member, ...], ...]:
    groups, kinds = _owners(catalogue)
    ending = {each.name for each in snapshot[r.NAMESPACES] if each.deleting}
    found: dict[tuple[str, ...], list[Member]] = {}
    taken: set[tuple[str, str]] = set()
    for resource in _KINDS:
        for obj in snapshot[resource].showing(_is_model):
            place = (obj.namespace, obj.name)
            if obj.deleting or place in taken or obj.namespace in ending:
                continue
            if any(_is_of(owner, groups, kinds) for owner in obj.metadata.owner_references or ()):
                continue
            taken.add(place)
            found.setdefault(_model_key(obj), []).append((resource, obj))
    return tuple(tuple(sorted(each, key=_decodes_first)) for each in found.values())


def _is_model(obj: o.KubeObject) -> bool:
    if not isinstance(obj, o.Deployment | o.StatefulSet | o.LeaderWorkerSet):
        return False
    is_model = obj.metadata.annotations.is_model if obj.metadata.annotations else None
    if is_model in {"true", "false"}:
        return is_model == "true"
    labels = labels_of(obj) | (obj.metadata.labels or {})
    if any(each in labels for each in _OTHERS):
        return False
    if any(labels.get(key) == value for key, value in _MADE_BY):
        return False
    return bool(engines_of(template_of(obj)))


def _owners(catalogue: Catalogue) -> tuple[frozenset[str], frozenset[str]]:
    """Return the API groups and the kinds of the other stacks' custom resources."""
    own = [each for stack in catalogue.stacks if stack.name != STACK for each in stack.resources]
    custom = [each for each in own if each.custom]
    return frozenset(each.group for each in custom), frozenset(each.kind for each in custom)


def _is_of(owner: o.OwnerReference, groups: frozenset[str], kinds: frozenset[str]) -> bool:
    """True if an owner belongs to another stack; the group tells kinds of the same name apart."""
    if owner.kind == "Pod":  # the workers of a LeaderWorkerSet
        return True
    group, slash, _ = owner.api_version.rpartition("/")
    return group in groups if slash else owner.kind in kinds


def _model_key(obj: Workload) -> tuple[str, ...]:
    """Return a key that the roles of one model share; without a role label it is the workload's."""
    labels = labels_of(obj)
    if ROLE not in labels:
        return (obj.namespace, "", obj.name)
    same = sorted(f"{key}={value}" for key, value in labels.items() if key != ROLE)
    return (obj.namespace, "of roles", *same)


def _decodes_first(member: Member) -> tuple[bool, str]:
    role = labels_of(member[1]).get(ROLE, "")
    return "prefill" in role and "decode" not in role, member[1].name


def _controlled(namespace: str, snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[o.Pod, ...]]:
    """Return the pods of a namespace by the kind and name of the workload that controls them."""
    return grouped(
        (_made_by(owner), pod)
        for pod in snapshot[r.PODS].in_namespace(namespace)
        if (owner := _controller_of(pod))
    )


def _made_by(owner: o.OwnerReference) -> tuple[str, str]:
    if owner.kind == "ReplicaSet":  # named <Deployment>-<hash>
        return r.DEPLOYMENTS.kind, owner.name.rpartition("-")[0]
    return owner.kind, owner.name


def _controller_of(pod: o.Pod) -> o.OwnerReference | None:
    return next((each for each in pod.metadata.owner_references or () if each.controller), None)


def _engines(
    namespace: str, snapshot: Snapshot
) -> Mapping[tuple[str, str], tuple[tuple[o.Deployment, str], ...]]:
    """Return the Deployments of a namespace whose command line names a model, by label."""
    return grouped(
        (label, (each, name))
        for each in _running(namespace, snapshot)
        if (name := model_named(each.spec.template)) and _is_model(each)
        for label in labels_of(each).items()
    )


def _routers(namespace: str, snapshot: Snapshot) -> Mapping[str, tuple[o.Deployment, ...]]:
    """Return the routers of a namespace with replicas, by release; the key may be empty."""
    return grouped(
        (_release_of(each), each)
        for each in _running(namespace, snapshot)
        if any(
            of.name == "router-container" or "lmstack-router" in of.image
            for of in each.spec.template.spec.containers or ()
        )
    )


def _running(namespace: str, snapshot: Snapshot) -> Iterator[o.Deployment]:
    found = snapshot[r.DEPLOYMENTS].in_namespace(namespace)
    return (each for each in found if each.wanted and not each.deleting)


def _release_of(router: o.Deployment) -> str:
    labels = router.spec.template.metadata.labels or {}
    return router.metadata.label(_RELEASE) or labels.get(_RELEASE) or ""


def _selector_of(router: o.Deployment) -> dict[str, str]:
    """Return the labels by which a router selects engines, from its arguments."""
    for each in router.spec.template.spec.containers or ():
        for flag, value in pairwise(each.args or ()):
            if flag == "--k8s-label-selector":
                pairs = (part.partition("=") for part in value.split(","))
                return {key.strip(): what.strip() for key, equals, what in pairs if equals}
    return {}
