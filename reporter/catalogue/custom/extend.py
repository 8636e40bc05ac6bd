"""The catalogue with what a user declares: `custom-components` in the file of `--config`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, get_type_hints

from reporter.catalogue.custom.kinds import kind_of
from reporter.catalogue.custom.words import action, silent, summary, trigger
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.catalogue import Catalogue, Declared
from reporter.model.custom import CustomComponent, CustomCondition, WorkloadKind
from reporter.model.objects import (
    Conditioned,
    ConditionedObject,
    DaemonSet,
    KubeObject,
    StatefulSet,
)
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import Resource

STATEFULSETS: Final = Resource(
    group="apps", versions=("v1",), plural="statefulsets", kind="StatefulSet", namespaced=True,
    type=StatefulSet, purpose="components that are declared in custom-components",
)  # fmt: skip
DAEMONSETS: Final = Resource(
    group="apps", versions=("v1",), plural="daemonsets", kind="DaemonSet", namespaced=True,
    type=DaemonSet, purpose="components that are declared in custom-components",
)  # fmt: skip

WORKLOADS: Final[Mapping[WorkloadKind, Resource[KubeObject]]] = {
    WorkloadKind.DEPLOYMENT: DEPLOYMENTS,
    WorkloadKind.STATEFULSET: STATEFULSETS,
    WorkloadKind.DAEMONSET: DAEMONSETS,
}

BUILT_IN_GROUPS: Final = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    }
)
"""Groups of Kubernetes itself; kinds of any other are defined by CustomResourceDefinitions."""

_ResourceKey = tuple[str, str, str, str]


def extended(catalogue: Catalogue, components: Sequence[CustomComponent]) -> Catalogue:
    """Return a catalogue with declarations that `reporter.catalogue.custom.checks` found right.

    Reasons that were there keep their order. Without any declaration it is the catalogue itself.
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


def _declared(catalogue: Catalogue, components: Sequence[CustomComponent]) -> tuple[Declared, ...]:
    conditions = {
        (each.group, version, each.plural, each.label_selector): each
        for each in catalogue.resources
        if not each.stack and _has_conditions(each)
        for version in each.versions
    }
    return tuple(Declared(each, _resource(each, conditions)) for each in components)


def _has_conditions(resource: Resource[KubeObject]) -> bool:
    status = get_type_hints(resource.type).get("status")
    return isinstance(status, type) and issubclass(status, Conditioned)


def _resource(
    component: CustomComponent, conditions: dict[_ResourceKey, Resource[KubeObject]]
) -> Resource[KubeObject] | None:
    """Return what is read for a declaration; those that read the same share it.

    What is read in any case is shared too. What is read for a stack is not: it may be switched off.
    """
    if component.workload:
        return WORKLOADS[component.workload.kind]
    if component.condition:
        condition = component.condition
        key = (condition.group, condition.version, condition.plural, condition.selector)
        return conditions.setdefault(key, _conditioned(condition))
    return None


def _conditioned(condition: CustomCondition) -> Resource[KubeObject]:
    return Resource(
        group=condition.group,
        versions=(condition.version,),
        plural=condition.plural,
        kind=condition.kind,
        namespaced=condition.namespaced,
        type=ConditionedObject,
        purpose="conditions that are declared in custom-components",
        label_selector=condition.selector,
        custom=condition.group not in BUILT_IN_GROUPS,
    )


def _row(declared: Declared, catalogue: Catalogue) -> Reason:
    component, resource = declared.component, declared.resource
    return Reason(
        name=component.reason,
        layer=component.layer,
        of=kind_of(component, catalogue),
        summary=component.summary or summary(component),
        trigger=trigger(component),
        silent=silent(component),
        action=component.action or action(component),
        reads=(resource,) if resource else (),
        grace_seconds=component.grace_seconds,
        blocks_ready=component.blocks_ready,
    )


def _suppression(components: Sequence[CustomComponent]) -> Iterator[SuppressionRow]:
    for each in components:
        if each.suppresses:
            crd = each.crd.name if each.crd else ""
            yield SuppressionRow(each.reason, each.suppresses, each.why, crd=crd)


def _in_place(
    catalogue: Catalogue, components: Sequence[CustomComponent], rows: Mapping[str, Reason]
) -> Iterator[Reason]:
    """Yield all reasons in the order of their priority; those of one place in that of the file."""
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


def _last(catalogue: Catalogue, row: Reason) -> str:
    """Return the reason that ends the chapter of a kind, its Ready."""
    kind = row.subject_kind
    return next(each.name for each in catalogue if each.subject_kind == kind and each.says_ready)
