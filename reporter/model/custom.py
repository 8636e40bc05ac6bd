"""What users declare in addition to the built-in catalogue: components of their own, and rules
about them.

A declaration is one reason and exactly one thing that raises it: a workload that must be
available, a CustomResourceDefinition that must be served, or a condition that must have a status.
"""

from dataclasses import dataclass
from enum import StrEnum

from reporter.model.subject import Layer


class WorkloadKind(StrEnum):
    """Kinds of `apps/v1` that say how many of their replicas are available."""

    DEPLOYMENT = "Deployment"
    STATEFULSET = "StatefulSet"
    DAEMONSET = "DaemonSet"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomWorkload:
    """A workload that must be there and available.

    Attributes:
        namespaces: in the layer `cluster`, where it may be, the first that has it counts. In the
            layer `modelharness` each of these workload namespaces must have it, or, where empty,
            each that there is.

    """

    kind: WorkloadKind
    name: str
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCrd:
    """A CustomResourceDefinition that must be served.

    Attributes:
        name: `<plural>.<group>`.

    """

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCondition:
    """A condition that every object of a kind must have in a status.

    An object that has no such condition yet, or has it with the status Unknown, is no fault.

    Attributes:
        group: API group, empty for the core group.
        plural: name in URLs and in RBAC rules.
        namespaced: whether the objects live in namespaces; only then is the layer another than
            `cluster`.
        selector: label selector of the objects that count; empty is all.
        subject_label: in the layer `modeldeployment`, the label whose value names the subject;
            empty: the subject that owns the object (`metadata.ownerReferences`), or that it is.

    """

    group: str
    version: str
    plural: str
    kind: str
    type: str
    status: str = "True"
    namespaced: bool = True
    selector: str = ""
    subject_label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomComponent:
    """One declaration: a reason, its place in the catalogue, and what raises it.

    Attributes:
        reason: its name; it begins as those of its layer do: `cluster`, `modelharness`, or the
            kind of its subjects (`inferenceset`, `modelserving`, ...).
        before: its priority is just above that of this reason of its layer; of `before` and
            `after` at most one is set.
        after: its priority is just below that of this reason; with neither it is the last one.
        grace_seconds: its own grace; None takes the global one.
        why: the evidence that what it suppresses has no valid input then; required with it.
        blocks_ready: whether its layer's Ready waits for it.
        workload: what raises it, one of three.
        crd: what raises it, one of three.
        condition: what raises it, one of three.

    """

    reason: str
    layer: Layer
    before: str = ""
    after: str = ""
    grace_seconds: int | None = None
    suppresses: tuple[str, ...] = ()
    why: str = ""
    blocks_ready: bool = True
    summary: str = ""
    action: str = ""
    workload: CustomWorkload | None = None
    crd: CustomCrd | None = None
    condition: CustomCondition | None = None
