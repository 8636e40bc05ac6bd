"""The resources read for OtterScale only, the reasons of ModelServices, and which causes hide them.

The order is from cause to symptom: names that can never work, an operator that makes no progress,
missing objects, the pods, their rollout, the endpoint picker, the path to the pods.
"""

from functools import partial
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.catalogue.pickers import picker_rows_of
from reporter.catalogue.reasons import controller_row, ready_row, row
from reporter.catalogue.runtime import rows_of
from reporter.catalogue.suppression import missing_kind, of_pods, seen_on_objects
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType, Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.stack import ScrapedPickers
from reporter.model.subject import RequestStage, SubjectKind
from reporter.stacks.otterscale import objects
from reporter.stacks.otterscale.manifests import names

STACK: Final = "otterscale"

OPERATOR_NAMES: Final = ("model-operator-controller-manager",)
OPERATOR_HOME: Final = ("otterscale-system",)
"""The Deployment of the model operator, and the namespace where it may be."""
"""Its name in `--stacks`."""

MadeResource: TypeAlias = Resource[objects.Made]
"""A second copy of a kind that is read anyway, with the whole objects of the operator."""

MODELSERVICE_KIND: Final = SubjectKind("modelservice")

_MANAGED: Final = f"{names.MANAGED_BY}={names.OPERATOR}"
"""The label of the operator's objects."""

MODELSERVICES: Final = Resource(
    group="model.otterscale.io", versions=("v1alpha1",), plural="modelservices",
    kind="ModelService", namespaced=True, custom=True,
    type=objects.ModelService, purpose="ModelServices, and what should exist for them",
    stack=STACK, subject_kind=MODELSERVICE_KIND,
)  # fmt: skip
PODMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="podmonitors", kind="PodMonitor",
    namespaced=True, custom=True,
    type=objects.Monitor, purpose="whether the monitors of a ModelService exist",
    label_selector=_MANAGED, stack=STACK,
)  # fmt: skip
SERVICEMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="servicemonitors",
    kind="ServiceMonitor", namespaced=True, custom=True,
    type=objects.Monitor, purpose="whether the monitor of an endpoint picker exists",
    label_selector=_MANAGED, stack=STACK,
)  # fmt: skip
SERVICEACCOUNTS: Final = Resource(
    group="", versions=("v1",), plural="serviceaccounts", kind="ServiceAccount", namespaced=True,
    type=KubeObject, purpose="whether the ServiceAccount of an endpoint picker exists",
    label_selector=_MANAGED, stack=STACK, wide=True,
)  # fmt: skip
PLUGINS_CONFIGMAPS: Final = Resource(
    group="", versions=("v1",), plural="configmaps", kind="ConfigMap", namespaced=True,
    type=objects.PluginsConfigMap, purpose="the configuration of an endpoint picker",
    label_selector=_MANAGED, stack=STACK, wide=True,
)  # fmt: skip
CLUSTERROLES: Final = Resource(
    group="rbac.authorization.k8s.io", versions=("v1",), plural="clusterroles", kind="ClusterRole",
    namespaced=False, type=KubeObject,
    purpose="whether the ClusterRole of an endpoint picker exists",
    label_selector=_MANAGED, stack=STACK, opt_in="otterscale_cluster_roles",
)  # fmt: skip
CLUSTERROLEBINDINGS: Final = Resource(
    group="rbac.authorization.k8s.io", versions=("v1",), plural="clusterrolebindings",
    kind="ClusterRoleBinding", namespaced=False, type=KubeObject,
    purpose="whether its binding exists",
    label_selector=_MANAGED, stack=STACK, opt_in="otterscale_cluster_roles",
)  # fmt: skip


def _made(of: Resource[KubeObject], purpose: str) -> MadeResource:
    return Resource(
        group=of.group, versions=of.versions, plural=of.plural, kind=of.kind, namespaced=True,
        custom=of.custom, type=objects.Made, purpose=purpose,
        label_selector=_MANAGED, stack=STACK,
    )  # fmt: skip


MADE_SERVICES: Final = _made(r.SERVICES, "each field of the Service of an endpoint picker")
MADE_DEPLOYMENTS: Final = _made(r.DEPLOYMENTS, "each field of the Deployments of a ModelService")
MADE_ROUTES: Final = _made(r.HTTPROUTES, "each field of the route of a ModelService")
MADE_INFERENCEPOOLS: Final = _made(r.INFERENCEPOOLS, "each field of the pool of a ModelService")

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    MODELSERVICES,
    PODMONITORS,
    SERVICEMONITORS,
    SERVICEACCOUNTS,
    PLUGINS_CONFIGMAPS,
    CLUSTERROLES,
    CLUSTERROLEBINDINGS,
    MADE_SERVICES,
    MADE_DEPLOYMENTS,
    MADE_ROUTES,
    MADE_INFERENCEPOOLS,
)
"""In the order of the ClusterRole."""


CLUSTER_OTTERSCALE: Final = "clusterOtterScaleOperatorNotReady"
INVALID: Final = "modelserviceInvalid"
DELETION_STUCK: Final = "modelserviceDeletionStuck"
NOT_OBSERVED: Final = "modelserviceNotObserved"
RECONCILE_FAILED: Final = "modelserviceReconcileFailed"
OBJECT_MISSING: Final = "modelserviceObjectMissing"
PODS: Final = "modelservicePodsNotReady"
ROLLOUT_STALLED: Final = "modelserviceRolloutStalled"
EPP: Final = "modelserviceEPPNotReady"
ROUTE: Final = "modelserviceRouteNotReady"
MISCONFIGURED: Final = "modelserviceMisconfigured"
STATUS_STALE: Final = "modelserviceStatusStale"
DRIFT: Final = "modelserviceDrift"
READY: Final = "modelserviceReady"

APPEARS_SECONDS: Final = 120
"""How long the operator and its objects may take to follow."""

_ITSELF: Final = (MODELSERVICES,)
_SERVING: Final = (MODELSERVICES, r.DEPLOYMENTS, r.PODS)
_ROUTED: Final = (MODELSERVICES, r.HTTPROUTES, r.INFERENCEPOOLS)
_NEEDED: Final = (MODELSERVICES, r.DEPLOYMENTS, r.SERVICES, r.INFERENCEPOOLS, r.HTTPROUTES)
_WHOLE: Final = (MADE_DEPLOYMENTS, MADE_SERVICES, MADE_INFERENCEPOOLS, MADE_ROUTES)
_DESCRIBE: Final = "kubectl -n <namespace> describe modelservice <name>"
_OPERATOR_LOG: Final = (
    "the log of the model operator (namespace otterscale-system as it is shipped)"
)

_row = partial(row, of=MODELSERVICE_KIND)

_FAULTS: Final[tuple[Reason, ...]] = (
    _row(
        INVALID,
        "The ModelService can never work under its name.",
        trigger="Its name is too long for labels (63) or for the Service of its endpoint picker "
        "(59 without the suffix -epp); or another ModelService of the namespace has the same "
        "endpoint picker's name, or one that makes the operator delete this one's InferencePool.",
        silent="ModelServices that are being deleted.",
        action="Create the ModelService again under another name.",
        reads=_ITSELF,
        grace_note="Fires at once: it stays wrong until somebody corrects it.",
    ),
    _row(
        DELETION_STUCK,
        "The ModelService is being deleted, and the deletion does not finish.",
        trigger="It has a deletionTimestamp, and finalizers are left.",
        silent="A namespace that is being deleted; an operator that is down, which "
        "clusterOtterScaleOperatorNotReady reports.",
        action=f"Look at {_OPERATOR_LOG}: its finalizer model.otterscale.io/epp-cluster-rbac is "
        "removed once the ClusterRole and ClusterRoleBinding <namespace>-<name>-epp are deleted. "
        "If the operator is gone for good, delete these two, then remove the finalizer.",
        reads=_ITSELF,
        grace_seconds=APPEARS_SECONDS,
    ),
    _row(
        NOT_OBSERVED,
        "The operator has not observed the newest generation of the ModelService.",
        trigger="status.observedGeneration is missing or older than metadata.generation.",
        silent="An operator that is down, which clusterOtterScaleOperatorNotReady reports.",
        action=f"Look at {_OPERATOR_LOG}: it is stuck, or has no permission to read what it needs.",
        reads=_ITSELF,
        grace_seconds=APPEARS_SECONDS,
    ),
    _row(
        RECONCILE_FAILED,
        "The operator cannot create what the ModelService needs.",
        trigger="Ready is False with reason ReconcileError. Phase and counters are out of date "
        "then, even if the phase is Ready.",
        silent="An error that is gone with the next attempt, within the grace.",
        action=f"The message is the operator's error: {_DESCRIBE}, and {_OPERATOR_LOG}. Kinds that "
        "are not installed, quotas and admission are the usual causes.",
        reads=_ITSELF,
    ),
    _row(
        OBJECT_MISSING,
        "An object that requests need does not exist.",
        trigger="The decode, prefill or endpoint picker's Deployment, the endpoint picker's "
        "Service, the InferencePool or the HTTPRoute is missing. The operator calls a ModelService "
        "Ready without its prefill Deployment, and never looks at the others.",
        silent="A default HTTPRoute that no ModelService has; kinds that are not installed.",
        action=f"Look at {_OPERATOR_LOG}: it recreates what is deleted, unless an error stops it.",
        reads=_NEEDED,
        grace_seconds=APPEARS_SECONDS,
    ),
    _row(
        PODS,
        "Decode or prefill pods do not run.",
        trigger="A pod's container waits or ended in an error (unpacking the model, pulling "
        "images, "
        "crashes, out of memory), the pod is unschedulable, evicted or on a dead node, start-up "
        "takes longer than its budget, or a role has fewer pods than it wants. Each role is judged "
        "alone: the operator's phase counts them together, and stays Running whatever happens.",
        silent="Pods that start within their budget; a role that wants no pods. A pod that crashed "
        "and runs again, once its engine answers, or after 3 min.",
        action="kubectl -n <namespace> describe pod <pod>, and its logs: -c model-unpack, -c vllm, "
        "-c routing-proxy (--previous after a crash).",
        reads=(*_SERVING, r.NODES),
        grace_note="Fire at once: InvalidImageName, ErrImageNeverPull, CrashLoopBackOff. Start-up "
        "has --grace model-startup; volumes, network and sandbox have 300 s.",
    ),
    _row(
        ROLLOUT_STALLED,
        "A rollout of decode or prefill pods does not progress.",
        trigger="The role's Deployment has Progressing False with reason ProgressDeadlineExceeded.",
        silent="A role that wants no pods; pods that still have time to start.",
        action="kubectl -n <namespace> rollout status deployment <name>. Old pods keep serving.",
        reads=_SERVING,
        grace_note="The time by which --grace model-startup is longer than the "
        "Deployment's deadline.",
    ),
    _row(
        EPP,
        "The endpoint picker of the ModelService is not available.",
        stage=RequestStage.PICKER,
        trigger="Its Deployment is scaled to zero or has no ready pod; its Service selects no "
        "ready "
        "pod, or lacks the port that the InferencePool names. The operator never looks at it.",
        silent="With more than one replica, those that do not lead: they are never Ready.",
        action="kubectl -n <namespace> describe deployment <name>, and the log of its pods. "
        "Without it requests fail (failureMode FailClose, also without spec.inferencePool), or are "
        "spread blindly (FailOpen).",
        reads=(MODELSERVICES, r.DEPLOYMENTS, r.PODS, r.SERVICES, r.INFERENCEPOOLS),
        grace_seconds=APPEARS_SECONDS,
    ),
    *picker_rows_of(MODELSERVICE_KIND, chain=True, reads=(MODELSERVICES, r.PODS)),
    _row(
        ROUTE,
        "Requests for the ModelService do not reach its pods.",
        stage=RequestStage.ROUTING,
        trigger="The HTTPRoute or the InferencePool is not accepted or not resolved by a parent, "
        "or a parent does not report it in time; the Gateway is gone or not programmed; "
        "the route has no parents; the pool selects none of the pods, or names for its endpoint "
        "picker another Service than the operator does, which does not exist; the endpoint "
        "picker's DestinationRule is missing although other ModelServices have theirs; or "
        "the kind of pool or route is not installed.",
        silent="A new route, entries of other controllers, a ModelService without a route.",
        action="kubectl -n <namespace> describe httproute,inferencepool <name>; their parents name "
        "the cause. The default Gateway is in namespace llm-d and must allow routes from this one.",
        reads=(*_ROUTED, r.GATEWAYS, r.PODS, r.SERVICES, r.DESTINATIONRULES),
        grace_seconds=APPEARS_SECONDS,
    ),
    _row(
        MISCONFIGURED,
        "Settings of the ModelService contradict each other.",
        trigger="spec.prefill without spec.routingProxy; two containers of a decode pod on one "
        "port (routingProxy.targetPort or VLLM_NIXL_SIDE_CHANNEL_PORT is engine.port); or a "
        "ClusterRole with the name of another ModelService's (<namespace>-<name>-epp).",
        silent="ClusterRoles where metrics need no token.",
        action="Correct the field that the message names, or rename one of the two ModelServices.",
        reads=(MODELSERVICES, r.DEPLOYMENTS),
        grace_note="Fires at once: it stays wrong until somebody corrects it.",
        chain=False,
        type_=EventType.WARNING,
    ),
    _row(
        STATUS_STALE,
        "The status of the ModelService contradicts the operator's own rules.",
        trigger="Phase, counters or Ready do not match the Deployments, or each other.",
        silent="A status that a reconcile error froze, or of an older generation; the first 15 "
        "s after a pod became Ready or stopped being Ready.",
        action=f"Believe the report (its derived status) and not the phase; look at "
        f"{_OPERATOR_LOG}.",
        reads=(MODELSERVICES, r.DEPLOYMENTS),
        grace_seconds=APPEARS_SECONDS,
        chain=False,
        type_=EventType.NORMAL,
    ),
    _row(
        DRIFT,
        "Objects of the ModelService differ from what the operator creates.",
        trigger="An object that only monitoring or the endpoint picker's start needs is "
        "missing, one that should not exist does, or a field that the operator sets differs "
        "(defaults and the forms of quantities aside); by the operator's own arguments also "
        "an image, tracing or a token that those flags set. The operator's other settings are "
        "inferred from the objects that it created.",
        silent="Images, tracing and tokens for which no flag is given; replicas, the text of "
        "the script that unpacks the model (what it names is), and what the operator does not "
        "set; Secrets, Roles and RoleBindings, which are never read; ClusterRoles without "
        "--otterscale-cluster-roles; kinds that are not installed.",
        action="status-reporter render prints what should exist. The operator watches neither "
        "monitors nor DestinationRules nor ClusterRoles: a change of the ModelService makes it "
        "repair them.",
        reads=(*_NEEDED, r.DESTINATIONRULES, PODMONITORS, SERVICEMONITORS, *_WHOLE),
        grace_seconds=APPEARS_SECONDS,
        chain=False,
        type_=EventType.NORMAL,
    ),
)
"""The faults, in the order of the priority chain, and those outside of it."""

REASONS: Final[tuple[Reason, ...]] = (
    *_FAULTS,
    *rows_of(MODELSERVICE_KIND, reads=(MODELSERVICES, r.PODS)),
    *picker_rows_of(MODELSERVICE_KIND, chain=False, reads=(MODELSERVICES, r.PODS)),
    ready_row(
        READY,
        "A ModelService serves: the pods of its roles run and requests reach them.",
        of=MODELSERVICE_KIND,
        trigger="Each role has as many Ready pods as it wants, the endpoint picker is available "
        "(its leader, where there are several), and the route is accepted, where there is "
        "one. The pods have no probes, so Ready only means that their containers run: the "
        "model may still be loading.",
        reads=(MODELSERVICES, r.DEPLOYMENTS, r.PODS, r.INFERENCEPOOLS, r.HTTPROUTES),
    ),
)
"""In the order of the priority chain."""

NEEDS_OPERATOR: Final = (
    DELETION_STUCK, NOT_OBSERVED, RECONCILE_FAILED, OBJECT_MISSING, STATUS_STALE, DRIFT,
)  # fmt: skip
"""Reasons that need the operator, which writes the status, and creates and corrects the objects.

Pods, the endpoint picker and the route do not need it: others run them.
"""

CLUSTER_REASONS: Final = (
    controller_row(
        CLUSTER_OTTERSCALE,
        "OtterScale's model operator, which creates what ModelServices need,",
        setting="otterscale",
        frozen="the status of ModelServices is frozen, and what is deleted is not recreated",
    ),
)


SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    *of_pods(CLUSTER_OTTERSCALE, PODS, EPP),
    SuppressionRow(
        CLUSTER_OTTERSCALE,
        NEEDS_OPERATOR,
        "the model operator creates the objects of ModelServices and writes their status",
    ),
    missing_kind(MODELSERVICES, *seen_on_objects(REASONS)),
    missing_kind(r.GATEWAYS, ROUTE, why="no route can have a parent while no Gateway can exist"),
    missing_kind(r.HTTPROUTES, ROUTE),
    missing_kind(r.INFERENCEPOOLS, ROUTE),
    *(
        missing_kind(each, RECONCILE_FAILED, why=f"the operator cannot make {each.kind}s")
        for each in (PODMONITORS, SERVICEMONITORS)
    ),
)

PICKERS: Final = ScrapedPickers(
    kind=MODELSERVICE_KIND,
    label="inferencepool",
    value=names.epp,
    labels={"app.kubernetes.io/part-of": "otterscale-system", "app.kubernetes.io/component": "epp"},
    pools=(r.INFERENCEPOOLS,),
)
