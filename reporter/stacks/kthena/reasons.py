"""The resources read for Kthena only, the reasons of ModelServings, and which causes hide them.

The order is from cause to symptom: an invalid spec, pods that no node has room for, pods that do
not start, pods that do not terminate, a rollout that waits for them, a group that is not ready.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import controller_row, ready_row, row
from reporter.catalogue.runtime import rows_of
from reporter.catalogue.suppression import missing_kind, of_pods, seen_on_objects
from reporter.model.objects import KubeObject, PodGroup
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.kthena import objects
from reporter.stacks.kthena.templates import without_templates

STACK: Final = "kthena"
"""Its name in `--stacks`."""

MODELSERVING_KIND: Final = SubjectKind("modelserving")

MODELSERVINGS: Final = Resource(
    group="workload.serving.volcano.sh", versions=("v1alpha1",), plural="modelservings",
    kind="ModelServing", namespaced=True, custom=True,
    type=objects.ModelServing, purpose="ModelServings, and the status that they should have",
    stack=STACK, subject_kind=MODELSERVING_KIND, slim=without_templates,
)  # fmt: skip
MODELSERVINGS_FORMER: Final = replace(
    MODELSERVINGS, group="workload.volcano.sh", purpose="the same, in their former API group"
)
PODGROUPS: Final = Resource(
    group="scheduling.volcano.sh", versions=("v1beta1",), plural="podgroups", kind="PodGroup",
    namespaced=True, custom=True,
    type=PodGroup, purpose="whether the pods of a ServingGroup can be scheduled together",
    stack=STACK,
)  # fmt: skip
CONTROLLERREVISIONS: Final = Resource(
    group="apps", versions=("v1",), plural="controllerrevisions", kind="ControllerRevision",
    namespaced=True,
    type=objects.ControllerRevision, purpose="which revision of a ModelServing a pod belongs to",
    label_selector=objects.NAME_LABEL, stack=STACK, slim=without_templates,
)  # fmt: skip

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    MODELSERVINGS,
    MODELSERVINGS_FORMER,
    PODGROUPS,
    CONTROLLERREVISIONS,
)
"""In the order of the ClusterRole."""


CLUSTER_KTHENA: Final = "clusterKthenaControllerNotReady"
INVALID_SPEC: Final = "modelservingInvalidSpec"
GANG_NOT_SCHEDULABLE: Final = "modelservingGangNotSchedulable"
ROLE_CREATING: Final = "modelservingRoleStuckCreating"
ROLE_DELETING: Final = "modelservingRoleStuckDeleting"
ROLLOUT_STUCK: Final = "modelservingRolloutStuck"
GROUP_NOT_READY: Final = "modelservingGroupNotReady"
SCALING_NOT_READY: Final = "modelservingScalingNotReady"
STATUS_NOT_OWNED: Final = "modelservingStatusNotOwned"
READY: Final = "modelservingReady"

_THEMSELVES: Final = (MODELSERVINGS,)
_PODS: Final = (*_THEMSELVES, r.PODS)
_DESCRIBE: Final = "kubectl -n <namespace> describe modelserving <name>"

_row = partial(row, of=MODELSERVING_KIND, reads=_PODS)

_WARNINGS: Final[tuple[Reason, ...]] = (
    _row(
        INVALID_SPEC,
        "The spec of the ModelServing breaks a rule of Kthena.",
        trigger="A rule of the schema or of Kthena's webhook is broken: the webhook was away, or "
        "`scale` changed the replicas, which the webhook does not check.",
        silent="Rules that compare an object with its earlier version.",
        action="Correct the field that the message names. Until then Kthena's webhook refuses any "
        "other change of the object.",
        reads=_THEMSELVES,
        grace_note="Fires at once: it stays wrong until somebody corrects it.",
    ),
    _row(
        GANG_NOT_SCHEDULABLE,
        "The pods of a ServingGroup cannot be scheduled together.",
        trigger="The PodGroup of a wanted group has condition Unschedulable=True that no later "
        "Scheduled=True follows, or stays in phase Pending, while pods of it have no node.",
        silent="PodGroups of other schedulers, phases Running and Completed, groups whose pods all "
        "have a node, Unschedulable while fewer pods exist than minMember.",
        action="kubectl -n <namespace> describe podgroup <group>: free or add nodes, or look at "
        "the quota of its queue.",
        reads=(*_PODS, PODGROUPS),
    ),
    _row(
        ROLE_CREATING,
        "An instance of a role does not come up.",
        trigger="A pod of an instance that is Creating waits or ended in an error, is "
        "unschedulable, on a dead node, or takes longer to start than its budget; or it is "
        "not created.",
        silent="Pods that start within their budget, groups that are being deleted, instances that "
        "are Running or of a role that is not wanted any more.",
        action="kubectl -n <namespace> describe pod <pod>, and its logs (--previous after a "
        f"crash). If a pod is not created: {_DESCRIBE}, quotas, and the log of Kthena's "
        "controller.",
        reads=(*_PODS, r.NODES),
        grace_note="Fire at once: InvalidImageName, ErrImageNeverPull, CrashLoopBackOff. Start-up "
        "has --grace model-startup or the start-up probe's own budget; a pod "
        "that is not created has 300 s, and so have volumes, network and sandbox.",
    ),
    _row(
        ROLE_DELETING,
        "An instance of a role is being deleted, and the deletion does not finish.",
        trigger="A pod still exists 60 s after its termination grace period, or terminates on a "
        "dead node; a Service or PodGroup still exists 60 s after it was deleted and its "
        "last pod is gone.",
        silent="Pods within their termination grace period.",
        action="kubectl -n <namespace> get pod <pod> -o yaml: look at its node and at "
        "metadata.finalizers. Kthena recreates the instance only once it is gone.",
        reads=(*_PODS, r.NODES, r.SERVICES, PODGROUPS),
        grace_note="Termination has the pod's own grace period and 60 s more.",
    ),
    _row(
        ROLLOUT_STUCK,
        "An update of the ModelServing does not progress.",
        trigger="For 600 s no group is replaced although one still has to be updated; or a group "
        "that is being replaced takes 600 s longer than start-up may.",
        silent="Groups that partition protects, a rollout that goes on to the next group or, with "
        "RoleRollingUpdate, to the next instance.",
        action=f"{_DESCRIBE}, and look at the group that the message names: rollouts wait until "
        "what was replaced is ready.",
        reads=(*_PODS, CONTROLLERREVISIONS),
        grace_note="Its budgets are 600 s, and --grace model-startup and 600 s.",
    ),
    _row(
        GROUP_NOT_READY,
        "A wanted ServingGroup is not ready.",
        trigger="A group is missing, or was not Running for longer than a node's boot and start-up "
        "together may take, whatever happens to its pods in that time.",
        silent="Groups that are being deleted because fewer are wanted; an update by "
        "RoleRollingUpdate that goes on; missing groups where no role has instances.",
        action=f"{_DESCRIBE}. Pods that crash and are recreated each time say why in their "
        "predecessors' logs only: see docs/modelserving.md.",
        grace_note="Its budget is --grace node-boot and --grace model-startup "
        "together; 300 s where the group is missing.",
    ),
    _row(
        SCALING_NOT_READY,
        "The ModelServing is not scaled; its pods serve.",
        trigger="Ready of a ScaledObject, or AbleToScale or ScalingActive of a "
        "HorizontalPodAutoscaler, that names it is False.",
        silent="A ScaledObject that is paused.",
        action="kubectl -n <namespace> describe scaledobject,hpa",
        reads=(*_THEMSELVES, r.SCALEDOBJECTS),
        chain=False,
    ),
    _row(
        STATUS_NOT_OWNED,
        "Somebody else writes the status of the ModelServing, which the reporter should own.",
        trigger="Another field manager changed twice within a resync what "
        "--modelserving-status owns, or the API server drops it because the CRD has no such "
        "field. The reporter then writes less often, in the end every 10 minutes.",
        silent="--modelserving-status off.",
        action="Let only one of the two write: stop Kthena's controller, or set "
        "--modelserving-status to off. If a field is dropped, add it to the CRD: see "
        "docs/modelserving.md.",
        reads=_THEMSELVES,
        grace_note="Fires at once: it has waited for two changes already.",
        chain=False,
    ),
)
"""The warnings, in the order of the priority chain."""

REASONS: Final[tuple[Reason, ...]] = (
    *_WARNINGS,
    *rows_of(MODELSERVING_KIND, reads=(MODELSERVINGS, MODELSERVINGS_FORMER, r.PODS)),
    ready_row(
        READY,
        "A ModelServing serves: all wanted ServingGroups are Running.",
        of=MODELSERVING_KIND,
        trigger="As many groups as wanted are Running, and none is being created or changed.",
        reads=_PODS,
    ),
)
"""In the order of the priority chain."""

NEEDS_CONTROLLER: Final = (ROLE_CREATING, ROLLOUT_STUCK, GROUP_NOT_READY)
"""Reasons that need the Kthena controller, which creates missing pods and replaces old ones.

Findings about existing pods are independent of it.
"""

CLUSTER_REASONS: Final = (
    controller_row(
        CLUSTER_KTHENA,
        "The Kthena controller, which creates and replaces the pods of ModelServings,",
        setting="kthena",
        frozen="no pod of a ModelServing is created or replaced",
    ),
)


SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    *of_pods(CLUSTER_KTHENA, ROLE_CREATING, on_a_node=(ROLE_DELETING,)),
    SuppressionRow(
        CLUSTER_KTHENA,
        NEEDS_CONTROLLER,
        "the Kthena controller creates the pods of ModelServings and replaces old ones",
    ),
    missing_kind(MODELSERVINGS, *seen_on_objects(REASONS)),
)
