"""What is wrong with the objects that declarations name."""

from collections.abc import Iterator, Sequence
from typing import Final

from reporter.catalogue.custom.extend import WORKLOADS
from reporter.catalogue.custom.problems import ALLOWED, Problem
from reporter.catalogue.resources import BY_PLACE
from reporter.model.catalogue import Catalogue
from reporter.model.custom import CustomComponent, CustomCondition, CustomCrd, CustomWorkload
from reporter.model.resource import parse_selector
from reporter.model.subject import Layer
from reporter.model.text import (
    is_crd_name,
    is_kind,
    is_label,
    is_label_key,
    is_plural,
    is_subdomain,
    is_version,
)

_STATUSES: Final = ("True", "False")
_SELECTOR_LETTERS: Final = 1000
MOST_NAMESPACES: Final = 20
_CRD_GROUP: Final = "apiextensions.k8s.io"
_WITHOUT_CONDITIONS: Final = {
    ("", "configmaps"), ("", "events"), ("", "secrets"), ("", "serviceaccounts"),
    ("rbac.authorization.k8s.io", "*"), ("authentication.k8s.io", "*"),
    ("authorization.k8s.io", "*"), ("coordination.k8s.io", "*"),
}  # fmt: skip
"""Kinds that have no conditions; some of them nobody should be able to read without need."""


def wrong_objects(component: CustomComponent) -> Iterator[Problem]:
    """Yield what is wrong with what raises a reason."""
    if component.workload:
        yield from _workload(component.workload, component.layer)
    if component.crd:
        yield from _crd(component.crd, component.layer)
    if component.condition:
        yield from _condition(component.condition, component.layer)


def wrong_kinds(
    components: Sequence[CustomComponent], catalogue: Catalogue
) -> Iterator[tuple[int, Problem]]:
    """Yield the entries that say of a resource something else than another one, or the catalogue."""
    known = {
        (each.group, each.plural): (each.kind, each.namespaced, each.versions, "as it is built in")
        for each in (*catalogue.resources, *BY_PLACE, *WORKLOADS.values())
    }
    for entry, component in enumerate(components, 1):
        condition = component.condition
        if condition is None:
            continue
        own = (condition.kind, condition.namespaced, (condition.version,), f"as in entry {entry}")
        kind, namespaced, versions, where = known.setdefault(
            (condition.group, condition.plural), own
        )
        if condition.kind != kind:
            yield entry, Problem("condition.kind", condition.kind, f"{kind}, {where}")
        if condition.namespaced is not namespaced:
            said = str(namespaced).lower()
            yield (
                entry,
                Problem("condition.namespaced", condition.namespaced, f"{said}, {where}"),
            )
        if condition.version not in versions:
            said = " or ".join(versions)
            yield entry, Problem("condition.version", condition.version, f"{said}, {where}")


def _workload(workload: CustomWorkload, layer: Layer) -> Iterator[Problem]:
    if layer is Layer.DEPLOYMENT:
        yield Problem(
            "workload",
            f"{workload.kind} {workload.name}",
            "condition, as no workload can be told apart by model; or another layer",
            f"not in the layer {layer}",
        )
    if not is_subdomain(workload.name):
        yield Problem("workload.name", workload.name, ALLOWED["workload.name"])
    if layer is Layer.CLUSTER and not workload.namespaces:
        yield Problem(
            "workload.namespaces",
            None,
            f"{ALLOWED['workload.namespaces']}, one at least",
            "without it a workload is looked for in each workload namespace, in the layer "
            "modelharness only",
        )
    if len(workload.namespaces) > MOST_NAMESPACES:
        yield Problem(
            "workload.namespaces",
            f"{len(workload.namespaces)} namespaces",
            f"at most {MOST_NAMESPACES}",
        )
    for namespace in workload.namespaces:
        if not is_label(namespace):
            yield Problem("workload.namespaces", namespace, ALLOWED["workload.namespaces"])


def _crd(crd: CustomCrd, layer: Layer) -> Iterator[Problem]:
    if layer is not Layer.CLUSTER:
        yield Problem(
            "crd",
            crd.name,
            "the layer cluster, which all CustomResourceDefinitions are of",
            f"not in the layer {layer}",
        )
    if not is_crd_name(crd.name):
        yield Problem("crd.name", crd.name, ALLOWED["crd.name"])


def _condition(condition: CustomCondition, layer: Layer) -> Iterator[Problem]:
    forms = (
        ("condition.group", condition.group, not condition.group or is_subdomain(condition.group)),
        ("condition.version", condition.version, is_version(condition.version)),
        ("condition.plural", condition.plural, is_plural(condition.plural)),
        ("condition.kind", condition.kind, is_kind(condition.kind)),
        ("condition.type", condition.type, is_label_key(condition.type)),
        ("condition.status", condition.status, condition.status in _STATUSES),
        ("condition.selector", condition.selector, _is_selector(condition.selector)),
    )
    for key, value, right in forms:
        if not right:
            yield Problem(key, value, ALLOWED[key])
    group, plural = condition.group, condition.plural
    if _WITHOUT_CONDITIONS & {(group, plural), (group, "*")}:
        yield Problem("condition.plural", plural, "a kind that has conditions", "it has none")
    if group == _CRD_GROUP:
        yield Problem("condition.group", group, "crd, which says that one must be served")
    if layer is not Layer.CLUSTER and not condition.namespaced:
        yield Problem("condition.namespaced", False, f"true, in the layer {layer}")
    yield from _subject_label(condition, layer)


def _subject_label(condition: CustomCondition, layer: Layer) -> Iterator[Problem]:
    key, label = "condition.subject-label", condition.subject_label
    if label and layer is not Layer.DEPLOYMENT:
        yield Problem(key, label, "nothing, as it is for the layer modeldeployment")
    if label and not is_label_key(label):
        yield Problem(key, label, ALLOWED[key])


def _is_selector(text: str) -> bool:
    if len(text) > _SELECTOR_LETTERS:  # of a long one the terms take long to tell apart
        return False
    try:
        parse_selector(text)
    except ValueError:
        return False
    return True
