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

    In the layer `cluster` the first of `namespaces` that has it counts. In the layer `modelharness`
    each of these workload namespaces must have it, or, where empty, each that there is.
    """

    kind: WorkloadKind
    name: str
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCrd:
    """A CustomResourceDefinition that must be served, `<plural>.<group>`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCondition:
    """A condition that every object of a kind must have in a status.

    An object that has no such condition yet, or has it with the status Unknown, is no fault. Of
    objects that are not `namespaced` the layer is `cluster`. `selector` is a label selector of those
    that count. In the layer `modeldeployment` the value of `subject_label` names the subject; where
    it is empty, that is the one that owns the object (`metadata.ownerReferences`), or that it is.
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
    """One declaration: a reason, its place in the catalogue, and one of three things that raise it.

    `reason` begins as those of its layer do: `cluster`, `modelharness`, or the kind of its subjects
    (`inferenceset`, `modelserving`, ...). Its priority is just above that of `before`, or just below
    that of `after`, another reason of its layer; with neither it is the last one. `grace_seconds` of
    None takes the global grace. `why` is the evidence that what it suppresses has no valid input
    then; required with it. `blocks_ready`: its layer's Ready waits for it.
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
