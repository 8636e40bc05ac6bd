"""The reasons of plain workloads: Deployments, StatefulSets, LeaderWorkerSets with an engine.

The order is from cause to symptom: a model that cannot be fetched or loaded, pods, the rollout, and
the path of requests.
"""

from functools import partial
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import ready_row, row
from reporter.catalogue.suppression import of_pods
from reporter.model.objects import LeaderWorkerSet
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.subject import RequestStage, SubjectKind

STACK: Final = "workloads"
WORKLOAD_KIND: Final = SubjectKind("workload")

LEADERWORKERSETS: Final = Resource(
    group="leaderworkerset.x-k8s.io", versions=("v1",), plural="leaderworkersets",
    kind="LeaderWorkerSet", namespaced=True, custom=True,
    type=LeaderWorkerSet, purpose="LeaderWorkerSets that run an engine",
    stack=STACK, subject_kind=WORKLOAD_KIND, seldom=True,
)  # fmt: skip

STORAGE_FAILED: Final = "workloadStorageFailed"
MODEL_LOAD_FAILED: Final = "workloadModelLoadFailed"
PODS_NOT_CREATED: Final = "workloadPodsNotCreated"
PODS_NOT_READY: Final = "workloadPodsNotReady"
ROLLOUT_STUCK: Final = "workloadRolloutStuck"
ROUTER_NOT_READY: Final = "workloadRouterNotReady"
EPP_NOT_READY: Final = "workloadEPPNotReady"
ROUTE_NOT_READY: Final = "workloadRouteNotReady"
SCALING_NOT_READY: Final = "workloadScalingNotReady"
READY: Final = "workloadReady"

_WORKLOADS: Final = (r.DEPLOYMENTS, r.STATEFULSETS, LEADERWORKERSETS)
_PODS: Final = (*_WORKLOADS, r.PODS, r.NODES)
_row = partial(row, of=WORKLOAD_KIND)

REASONS: Final[tuple[Reason, ...]] = (
    _row(
        STORAGE_FAILED,
        "The model cannot be fetched.",
        trigger="An init container that downloads the model ended with an error, or crashes.",
        silent="A download in progress.",
        action="kubectl -n <namespace> logs <pod> -c <container> --previous: check the model's "
        "name, its credentials and the free disk space of the node.",
        reads=_PODS,
        grace_note="Fires at once in a crash loop.",
    ),
    _row(
        MODEL_LOAD_FAILED,
        "The model server ends before it is ready.",
        trigger="The engine container of a pod that was never Ready is in a crash loop, ended in "
        "Error, or was restarted twice.",
        silent="OOMKilled, and pods that had been Ready: these are reported for the pod.",
        action="kubectl -n <namespace> logs <pod> --previous",
        reads=_PODS,
        grace_note="Fires at once in a crash loop.",
    ),
    _row(
        PODS_NOT_CREATED,
        "Pods of the model are not created.",
        trigger="The Deployment says ReplicaFailure=True or has fewer pods than replicas, the "
        "controller of a StatefulSet says FailedCreate, or a LeaderWorkerSet has fewer pods than "
        "its groups need.",
        silent="Pods that are being replaced; replicas: 0.",
        action="kubectl -n <namespace> describe deployment <name> (or statefulset, "
        "leaderworkerset): mostly a quota or an admission webhook.",
        reads=_PODS,
    ),
    _row(
        PODS_NOT_READY,
        "Pods of the model do not run, or run without becoming Ready.",
        trigger="A container of a pod waits or ended in an error; or the pod is unschedulable, "
        "evicted or on a dead node, or its start-up takes longer than its budget.",
        silent="Pods that start within their budget; replicas: 0.",
        action="kubectl -n <namespace> describe pod <pod>, and its logs (--previous after a "
        "crash).",
        reads=_PODS,
        grace_note="Fire at once: InvalidImageName, ErrImageNeverPull, CrashLoopBackOff. Start-up "
        "has --grace model-startup or the start-up probe's own budget; volumes, "
        "network and sandbox have 300 s.",
    ),
    _row(
        ROLLOUT_STUCK,
        "A rollout does not come to its end; older pods serve.",
        trigger="Progressing of the Deployment is False with ProgressDeadlineExceeded, it has "
        "fewer updated replicas than wanted for 600 s, or UpdateInProgress of the LeaderWorkerSet "
        "stays True.",
        silent="A rollout whose pods are at fault, which are reported; pods that load within their "
        "start-up probe's time.",
        action="kubectl -n <namespace> rollout status deployment <name>, and the newest pods.",
        reads=_PODS,
    ),
    _row(
        ROUTER_NOT_READY,
        "The router that requests to the model come by is not available.",
        stage=RequestStage.ROUTING,
        trigger="The router of the same release of vLLM's production stack (container "
        "`router-container` or an image `lmstack-router`) has no available replica.",
        silent="A release without a router; a router at zero replicas.",
        action="kubectl -n <namespace> describe deployment <router>. The model's own Service still "
        "answers.",
        reads=(r.DEPLOYMENTS, r.PODS),
    ),
    _row(
        EPP_NOT_READY,
        "The endpoint picker of the model is not available.",
        stage=RequestStage.PICKER,
        trigger="An InferencePool selects the model's pods, and the Service that it names for its "
        "endpoint picker does not exist, or no pod of the Deployment behind it is available; or a "
        "Gateway of Istio leads to it, it serves TLS, and no DestinationRule is for its Service, "
        "or the Gateway calls it by TLS, which it does not serve.",
        action="kubectl -n <namespace> describe inferencepool <pool>, and the log of its picker; "
        "or a DestinationRule for its Service with tls.mode SIMPLE and insecureSkipVerify.",
        reads=(r.DEPLOYMENTS, r.PODS, r.SERVICES, r.INFERENCEPOOLS, r.FORMER_POOLS),
        also_reads=(
            (r.DESTINATIONRULES, (r.DESTINATIONRULES, r.HTTPROUTES, r.GATEWAYS, r.GATEWAYCLASSES)),
            (r.GATEWAYS, (r.HTTPROUTES, r.GATEWAYS, r.GATEWAYCLASSES)),
        ),
        grace_seconds=90,
    ),
    _row(
        ROUTE_NOT_READY,
        "A route to the model, its InferencePool or a Service does not lead to it alone.",
        stage=RequestStage.ROUTING,
        trigger="Accepted or ResolvedRefs of an HTTPRoute that leads to its InferencePool, or of "
        "the pool, is not True for a Gateway that it names, or that Gateway does not exist; the "
        "route names the pool in the other API group; none of the ports of the pool, or of its "
        "Services, is one that the pods declare; or a Service selects the pods of two models.",
        action="kubectl -n <namespace> describe httproute <route>",
        reads=(r.HTTPROUTES, r.GATEWAYS, r.INFERENCEPOOLS, r.FORMER_POOLS, r.SERVICES, r.PODS),
    ),
    _row(
        SCALING_NOT_READY,
        "The model is not scaled; its pods serve.",
        trigger="Ready of the ScaledObject, or AbleToScale or ScalingActive of the "
        "HorizontalPodAutoscaler, that names it is False, or the ScaledObject falls back.",
        action="kubectl -n <namespace> describe scaledobject,hpa",
        reads=(r.SCALEDOBJECTS,),
        chain=False,
    ),
    ready_row(
        READY,
        "A workload that runs an engine serves.",
        of=WORKLOAD_KIND,
        trigger="Each of its roles has an available replica, and what requests come by is ready.",
        reads=(r.DEPLOYMENTS, r.PODS, r.SERVICES),
    ),
)
"""In the order of the priority chain, Ready last."""

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = of_pods(
    *(PODS_NOT_READY, MODEL_LOAD_FAILED, ROUTER_NOT_READY, EPP_NOT_READY),
    at_one_object=(PODS_NOT_CREATED, STORAGE_FAILED),
)
