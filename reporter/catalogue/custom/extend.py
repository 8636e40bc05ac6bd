"""Extends the catalogue with the user's `custom-components` from the file of `--config`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, get_type_hints

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import SHARED_TRIGGER
from reporter.model import catalogue as m
from reporter.model.objects import Conditioned
from reporter.model.paths import conditioned
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import AnyResource, Resource
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, SubjectKind

DAEMONSETS: Final = replace(
    r.DAEMONSETS, explains=False, purpose="components that are declared in custom-components"
)

WORKLOADS: Final[Mapping[m.WorkloadKind, AnyResource]] = {
    m.WorkloadKind.DEPLOYMENT: r.DEPLOYMENTS,
    m.WorkloadKind.STATEFULSET: r.STATEFULSETS,
    m.WorkloadKind.DAEMONSET: DAEMONSETS,
}

BUILT_IN_GROUPS: Final = frozenset(
    {
        "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
        "apps", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
        "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
        "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy",
        "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
    }
)  # fmt: skip
"""API groups of Kubernetes itself; kinds of other groups have CustomResourceDefinitions."""

_ResourceKey = tuple[str, str, str, str]


def extended(catalogue: m.Catalogue, components: Sequence[m.CustomComponent]) -> m.Catalogue:
    """Return the catalogue with declarations that `reporter.catalogue.custom.checks` accepted.

    Existing reasons keep their order. Without declarations, return the catalogue itself.
    """
    if not components:
        return catalogue
    declared = _declared(catalogue, components)
    added = {each.resource for each in declared if each.resource} - {*catalogue.resources}
    rows = {each.component.reason: _row(each, catalogue) for each in declared}
    return replace(
        catalogue,
        reasons=tuple(_in_place(catalogue, components, rows)),
        suppression=(*catalogue.suppression, *_suppression(components)),
        resources=(*catalogue.resources, *sorted(added, key=lambda each: each.selection)),
        declared=declared,
    )


def _declared(
    catalogue: m.Catalogue, components: Sequence[m.CustomComponent]
) -> tuple[m.Declared, ...]:
    conditions = {
        (each.group, version, each.plural, each.label_selector): each
        for each in catalogue.resources
        if not each.stack and _has_conditions(each)
        for version in each.versions
    }
    return tuple(m.Declared(each, _resource(each, conditions)) for each in components)


def _has_conditions(resource: AnyResource) -> bool:
    status = get_type_hints(resource.type).get("status")
    return isinstance(status, type) and issubclass(status, Conditioned)


def _resource(
    component: m.CustomComponent, conditions: dict[_ResourceKey, AnyResource]
) -> AnyResource | None:
    """Return the resource that is read for a declaration; equal declarations share it.

    Resources that are always read are shared too. A stack's are not: it may be switched off.
    """
    if component.workload:
        return WORKLOADS[component.workload.kind]
    if component.condition:
        condition = component.condition
        key = (condition.group, condition.version, condition.plural, condition.selector)
        return conditions.setdefault(key, _conditioned(condition))
    return None


def _conditioned(condition: m.CustomCondition) -> AnyResource:
    return Resource(
        group=condition.group,
        versions=(condition.version,),
        plural=condition.plural,
        kind=condition.kind,
        namespaced=condition.namespaced,
        type=conditioned(condition.kind),
        purpose="conditions that are declared in custom-components",
        label_selector=condition.selector,
        custom=condition.group not in BUILT_IN_GROUPS,
    )


def _row(declared: m.Declared, catalogue: m.Catalogue) -> Reason:
    component, resource = declared.component, declared.resource
    texts = _texts(component)
    return Reason(
        name=component.reason,
        layer=component.layer,
        of=kind_of(component, catalogue),
        summary=component.summary or texts.summary,
        trigger=texts.trigger,
        silent=texts.silent,
        action=component.action or texts.action,
        reads=(resource,) if resource else (),
        grace_seconds=component.grace_seconds,
        blocks_ready=component.blocks_ready,
    )


def _suppression(components: Sequence[m.CustomComponent]) -> Iterator[SuppressionRow]:
    for each in components:
        if each.suppresses:
            crd = each.crd.name if each.crd else ""
            yield SuppressionRow(each.reason, each.suppresses, each.why, crd=crd)


def _in_place(
    catalogue: m.Catalogue, components: Sequence[m.CustomComponent], rows: Mapping[str, Reason]
) -> Iterator[Reason]:
    """Yield all reasons by priority; declarations for the same place keep their order."""
    above: dict[str, list[str]] = defaultdict(list)
    below: dict[str, list[str]] = defaultdict(list)
    for each in components:
        if each.after:
            below[each.after].append(each.reason)
        else:
            above[each.before or _last(catalogue, rows[each.reason])].append(each.reason)

    def around(reason: Reason) -> Iterator[Reason]:
        for name in above[reason.name]:
            yield from around(rows[name])
        yield reason
        for name in below[reason.name]:
            yield from around(rows[name])

    for reason in catalogue:
        yield from around(reason)


def _last(catalogue: m.Catalogue, row: Reason) -> str:
    """Return the last reason of a kind of subject, its Ready reason."""
    kind = row.subject_kind
    return next(each.name for each in catalogue if each.subject_kind == kind and each.says_ready)


def prefixes_of(layer: Layer, catalogue: m.Catalogue) -> tuple[str, ...]:
    match layer:
        case Layer.CLUSTER:
            return ("cluster",)
        case Layer.HARNESS:
            return ("modelharness",)
        case _:
            return tuple(kind for stack in catalogue.stacks for kind in stack.kinds)


def kind_of(component: m.CustomComponent, catalogue: m.Catalogue) -> SubjectKind | None:
    """Return the kind of subject of a declaration; None if its name has no valid prefix."""
    prefixes = prefixes_of(component.layer, catalogue)
    found = next((each for each in prefixes if component.reason.startswith(each)), None)
    of_layer = {Layer.CLUSTER: CLUSTER_KIND, Layer.HARNESS: NAMESPACE_KIND}
    return of_layer.get(component.layer, SubjectKind(found)) if found else None


ALLOWED: Final[Mapping[str, str]] = {
    "": "a mapping with reason, layer, and one of workload, crd and condition",
    "reason": "a name in camel case, letters and digits, at most 63",
    "layer": "cluster, modelharness or modeldeployment",
    "before": "the name of a reason",
    "after": "the name of a reason",
    "grace-seconds": "a whole number from 0 to 86400",
    "suppresses": "a list of reasons of faults",
    "why": "text",
    "blocks-ready": "true or false",
    "summary": "text",
    "action": "text",
    "workload": "a mapping with kind, name and namespaces",
    "workload.kind": "Deployment, StatefulSet or DaemonSet",
    "workload.name": "the name of an object",
    "workload.namespaces": "a list of names of namespaces",
    "crd": "a mapping with name",
    "crd.name": "the name of a CustomResourceDefinition, <plural>.<group>",
    "condition": "a mapping with group, version, plural, kind and type",
    "condition.group": "an API group such as cert-manager.io, '' for the core group",
    "condition.version": "a version such as v1 or v1beta1",
    "condition.plural": "the name of a resource in lower case, such as certificates",
    "condition.kind": "the name of a kind, such as Certificate",
    "condition.type": "the type of a condition, such as Ready",
    "condition.status": "True or False",
    "condition.namespaced": "true or false",
    "condition.selector": "a label selector, such as app=qdrant,tier in (a, b)",
    "condition.subject-label": "the key of a label, without a value",
}
"""The values that each key accepts; keys of a part follow the part."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with one key of the file, empty for the whole declaration.

    `why` is the reason, if it is more than a wrong form.
    """

    key: str
    value: object
    allowed: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A problem, and the number of its entry in the list, counted from 1."""

    entry: int
    reason: str
    problem: Problem


class DeclarationError(ValueError):
    """Declarations cannot be used; `wrong` lists the problems."""

    def __init__(self, wrong: tuple[Wrong, ...]) -> None:
        super().__init__(wrong)
        self.wrong = wrong


_DOWN: Final = {
    m.WorkloadKind.DEPLOYMENT: SHARED_TRIGGER,
    m.WorkloadKind.STATEFULSET: "is down (missing, scaled to zero, no available replica) or "
    "degraded (fewer ready replicas than wanted, or a rollout that is stuck).",
    m.WorkloadKind.DAEMONSET: "is down (missing, no available pod) or degraded (fewer ready pods "
    "than nodes that should run one, or a rollout that is stuck).",
}
_STEP: Final = "A rollout whose last step, or a pod whose first start or deletion, is younger than"
_ROLLOUT: Final = {
    m.WorkloadKind.DEPLOYMENT: "A rollout within its progress deadline, terminating pods.",
    m.WorkloadKind.STATEFULSET: f"{_STEP} 10 minutes while a replica is available.",
    m.WorkloadKind.DAEMONSET: f"{_STEP} 10 minutes while one is available elsewhere; a first start "
    "on a node that is new.",
}


class _Texts(NamedTuple):
    summary: str
    trigger: str
    silent: str
    action: str


def _texts(component: m.CustomComponent) -> _Texts:
    if component.workload:
        return _of_workload(component.workload)
    if component.crd:
        name = component.crd.name
        return _Texts(
            f"CustomResourceDefinition {name} is not served.",
            f"API discovery answered and does not list {name}.",
            "Discovery that failed.",
            "Install or repair what owns the CRD, then check that it is Established: "
            f"kubectl get crd {name}",
        )
    if component.condition:
        return _of_condition(component.condition)
    raise ValueError(f"{component.reason} declares nothing that raises it")


def _of_workload(workload: m.CustomWorkload) -> _Texts:
    kind, spaces = workload.kind, workload.namespaces
    named = f"{kind} {workload.name}"
    place = f"in {' or '.join(spaces)}" if spaces else "of a workload namespace"
    namespace = spaces[0] if len(spaces) == 1 else "<namespace>"
    return _Texts(
        f"{named} is not available.",
        f"{named} {place} {_DOWN[kind]}",
        _ROLLOUT[kind],
        f"kubectl -n {namespace} describe {kind.lower()} {workload.name}, and look at its pods and "
        "logs.",
    )


def _of_condition(condition: m.CustomCondition) -> _Texts:
    kind = condition.kind.lower()
    selected = f" that {condition.selector!r} selects" if condition.selector else ""
    wrong = "False" if condition.status == "True" else "True"
    resource = f"{kind}.{condition.group}" if condition.group else kind
    place = "-n <namespace> " if condition.namespaced else ""
    return _Texts(
        f"Condition {condition.type} of a {condition.kind} is not {condition.status}.",
        f"A {condition.kind}{selected} has condition {condition.type} with status {wrong}.",
        "An object without that condition, with status Unknown, or that is being deleted; a status "
        "that was written for an earlier spec.",
        f"kubectl {place}describe {resource} <{kind}>; its conditions name the cause.",
    )
