"""What can be wrong with a declaration, in the words of who wrote it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reporter.model.custom import CustomComponent

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
"""What each key takes; a key of a part follows the part's."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one key.

    Attributes:
        key: as it stands in the file, empty for the whole declaration.
        value: what was given.
        allowed: what may be given.
        why: what speaks against it, where that is more than the form.

    """

    key: str
    value: object
    allowed: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A problem, and the entry of the list that has it, counted from 1."""

    entry: int
    reason: str
    problem: Problem

    @classmethod
    def of(cls, entry: int, component: CustomComponent, problem: Problem) -> "Wrong":
        """Return what is wrong with a declaration."""
        return cls(entry, component.reason, problem)


class DeclarationError(ValueError):
    """Declarations that cannot be used, with what is wrong with each."""

    def __init__(self, wrong: tuple[Wrong, ...]) -> None:
        super().__init__(wrong)
        self.wrong = wrong
