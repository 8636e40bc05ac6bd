"""The resources read for LLMInferenceServices only, their reasons, and which causes hide them.

The order is from cause to symptom: a spec that cannot be deployed at all, a model that cannot be
fetched or loaded, pods, the rollout, the endpoint picker, the path from the Gateway, and the
overall status if nothing else explains it.

Probes mark faults as independent that an upstream does not explain: a Deployment needs no
LeaderWorkerSet controller, a Gateway of another class no Istio, and a kind that only
LLMInferenceServices need is reported here.
"""

from functools import partial
from typing import Final

from reporter.catalogue import reasons as c
from reporter.catalogue import resources as r
from reporter.catalogue.pickers import picker_rows_of
from reporter.catalogue.reasons import controller_row, ready_row, row
from reporter.catalogue.runtime import rows_of
from reporter.catalogue.suppression import missing_kind, of_pods, seen_on_objects
from reporter.model.objects import KubeObject, LeaderWorkerSet
from reporter.model.reason import EventType, Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.stack import ScrapedPickers
from reporter.model.subject import RequestStage, SubjectKind
from reporter.stacks.llmisvc import objects

STACK: Final = "llmisvc"
"""Its name in `--stacks`: the short name of the kind, and of its controller."""

HOME: Final = ("kserve", "opendatahub", "redhat-ods-applications")
"""Namespaces where the controller, and the configs that it brings, may be; the last two are those
of Open Data Hub and OpenShift AI (github.com/opendatahub-io/opendatahub-operator)."""

LLM_KIND: Final = SubjectKind("llminferenceservice")

# The stored version comes first: the controller's webhook converts the other one, which cannot be
# read while the webhook is down.
_VERSIONS: Final = ("v1alpha2", "v1alpha1")

LLMS: Final = Resource(
    group="serving.kserve.io", versions=_VERSIONS, plural="llminferenceservices",
    kind="LLMInferenceService", namespaced=True, custom=True,
    type=objects.LLMInferenceService, purpose="LLMInferenceServices and their conditions",
    stack=STACK, subject_kind=LLM_KIND,
)  # fmt: skip
CONFIGS: Final = Resource(
    group="serving.kserve.io", versions=_VERSIONS, plural="llminferenceserviceconfigs",
    kind="LLMInferenceServiceConfig", namespaced=True, custom=True,
    type=objects.LLMInferenceServiceConfig, purpose="whether the configs that they name exist",
    stack=STACK,
)  # fmt: skip
LEADERWORKERSETS: Final = Resource(
    group="leaderworkerset.x-k8s.io", versions=("v1",), plural="leaderworkersets",
    kind="LeaderWorkerSet", namespaced=True, custom=True,
    type=LeaderWorkerSet, purpose="replicas that are groups of pods",
    label_selector="app.kubernetes.io/part-of=llminferenceservice", stack=STACK,
)  # fmt: skip
RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (LLMS, CONFIGS, LEADERWORKERSETS)
"""In the order of the ClusterRole."""


CLUSTER_LLMISVC: Final = "clusterLLMInferenceServiceControllerNotReady"
CLUSTER_LWS: Final = "clusterLWSControllerNotReady"
DEPENDENCY_MISSING: Final = "llminferenceserviceDependencyMissing"
INVALID: Final = "llminferenceserviceInvalid"
RECONCILE_FAILED: Final = "llminferenceserviceReconcileFailed"
OBJECT_MISSING: Final = "llminferenceserviceObjectMissing"
STORAGE_FAILED: Final = "llminferenceserviceStorageFailed"
MODEL_LOAD_FAILED: Final = "llminferenceserviceModelLoadFailed"
PODS_NOT_CREATED: Final = "llminferenceservicePodsNotCreated"
PODS_NOT_READY: Final = "llminferenceservicePodsNotReady"
ROLLOUT_STUCK: Final = "llminferenceserviceRolloutStuck"
EPP_NOT_READY: Final = "llminferenceserviceEPPNotReady"
GATEWAY_NOT_READY: Final = "llminferenceserviceGatewayNotReady"
ROUTE_NOT_READY: Final = "llminferenceserviceRouteNotReady"
POOL_NOT_READY: Final = "llminferenceservicePoolNotReady"
NOT_READY: Final = "llminferenceserviceNotReady"
STATUS_STALE: Final = "llminferenceserviceStatusStale"
SCALING_NOT_READY: Final = "llminferenceserviceScalingNotReady"
GROUP_DEGRADED: Final = "llminferenceserviceGroupDegraded"
MODEL_NAME_SHADOWED: Final = "llminferenceserviceModelNameShadowed"
STOPPED: Final = "llminferenceserviceStopped"
READY: Final = "llminferenceserviceReady"

_ITSELF: Final = (LLMS,)
_SPEC: Final = (LLMS, CONFIGS)
_WORKLOADS: Final = (LLMS, r.DEPLOYMENTS, LEADERWORKERSETS)
_PODS: Final = (LLMS, r.PODS, r.NODES)
_ROUTES: Final = (LLMS, r.HTTPROUTES, r.GATEWAYS)
_POOLS: Final = (*_ROUTES, r.INFERENCEPOOLS, r.FORMER_POOLS)
_DESCRIBE: Final = "kubectl -n <namespace> describe llmisvc <name>"
_LOG: Final = "the log of llmisvc-controller-manager"

_row = partial(row, of=LLM_KIND, reads=_ITSELF)

REASONS: Final[tuple[Reason, ...]] = (
    _row(
        DEPENDENCY_MISSING,
        "The cluster does not have a kind that the LLMInferenceService needs.",
        trigger="The API server does not serve LeaderWorkerSets for a worker, InferencePools for a "
        "scheduler, HTTPRoutes or Gateways for a route, or ScaledObjects for scaling by KEDA.",
        silent="API discovery that does not answer.",
        action="Install what brings the kind, then restart llmisvc-controller-manager: it watches "
        "only kinds that were there when it started.",
        reads=(*_SPEC, LEADERWORKERSETS, r.INFERENCEPOOLS, r.HTTPROUTES, r.GATEWAYS),
    ),
    _row(
        INVALID,
        "KServe cannot use the spec of the LLMInferenceService together with its configs.",
        trigger="PresetsCombined is False, or a config that it names or was made with exists "
        "neither in its namespace nor in that of the controller. KServe up to v0.20 goes on with "
        "Ready=True.",
        silent="PresetsCombined Unknown, as while the validating webhook is away.",
        action="Apply the LLMInferenceServiceConfigs of KServe's installation, or correct "
        "spec.baseRefs. Pods that run go on serving.",
        reads=_SPEC,
    ),
    _row(
        RECONCILE_FAILED,
        "KServe fails to make what the LLMInferenceService needs.",
        trigger="A condition is False with a reason such as ReconcileSingleNodeWorkloadError or "
        "SchedulerReconcileError, with ScalingCRDNotFound, or Ready with NewObservedGenFailure. "
        "All later conditions are frozen meanwhile.",
        silent="A kind that is missing and a spec that is invalid, which are reported instead.",
        action=f"Read the error, and {_LOG}; look at ConfigMap inferenceservice-config.",
        reads=_SPEC,
        grace_seconds=120,
    ),
    _row(
        OBJECT_MISSING,
        "An object that KServe makes for the LLMInferenceService does not exist.",
        trigger="KServe has looked at the spec without an error, and a Deployment, a "
        "LeaderWorkerSet, the HTTPRoute, the InferencePool or the Service of the pods is missing.",
        silent="Objects of one's own that it refers to: routes, Gateways, a pool.",
        action=f"Read {_LOG}; an object that somebody deleted is made again in the next pass, "
        "which an annotation on the LLMInferenceService starts.",
        reads=(*_SPEC, r.DEPLOYMENTS, LEADERWORKERSETS, r.SERVICES, r.HTTPROUTES, r.INFERENCEPOOLS),
    ),
    _row(
        STORAGE_FAILED,
        "The model cannot be fetched.",
        trigger="The init container storage-initializer of a pod ended with an error, out of "
        "memory (OOMKilled) included, or waits in CrashLoopBackOff.",
        silent="A download in progress.",
        action="kubectl -n <namespace> logs <pod> -c storage-initializer --previous: check "
        "spec.model.uri, its credentials and the free disk space of the node.",
        reads=_PODS,
        grace_note="Fires at once in a crash loop.",
    ),
    _row(
        MODEL_LOAD_FAILED,
        "The model server ends before it is ready.",
        trigger="The container main, modelcar or llm-d-routing-sidecar of a pod that was never "
        "Ready is in a crash loop, ended in Error, or was restarted twice.",
        silent="OOMKilled, and pods that had been Ready: these are reported for the pod.",
        action="kubectl -n <namespace> logs <pod> -c main --previous. KServe's start-up probe "
        "kills a load of more than 10 minutes: raise failureThreshold in spec.template.",
        reads=_PODS,
        grace_note="Fires at once in a crash loop.",
    ),
    _row(
        PODS_NOT_CREATED,
        "Pods of the LLMInferenceService are not created.",
        trigger="A Deployment says ReplicaFailure=True or has fewer pods than replicas, or a "
        "LeaderWorkerSet has fewer pods than its groups need. KServe's status does not show it "
        "while one pod serves.",
        silent="Pods that are being replaced; replicas: 0.",
        action="kubectl -n <namespace> describe deployment <deployment>, or describe "
        "leaderworkerset and its StatefulSets: mostly a quota or an admission webhook.",
        reads=(*_WORKLOADS, r.PODS),
    ),
    _row(
        PODS_NOT_READY,
        "Pods of the LLMInferenceService do not run, or run without becoming Ready.",
        trigger="A container of a pod that serves, prefills or decodes, or of a worker of a group, "
        "waits or ended in an error; or the pod is unschedulable, evicted or on a dead node, or "
        "its start-up takes longer than its budget. The message names the role.",
        silent="Pods that start within their budget; replicas: 0; endpoint pickers.",
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
        trigger="Progressing of a Deployment is False with ProgressDeadlineExceeded, it has fewer "
        "updated replicas than wanted for 600 s, or UpdateInProgress of a LeaderWorkerSet stays "
        "True. KServe reads Available alone, so Ready stays True.",
        silent="A rollout whose pods are at fault, which are reported.",
        action="kubectl -n <namespace> rollout status deployment <deployment>, and the newest "
        "pods.",
        reads=(*_WORKLOADS, r.PODS),
        grace_note="Its budget is 600 s; for a LeaderWorkerSet, the time of a start in addition.",
    ),
    _row(
        EPP_NOT_READY,
        "The endpoint picker or the tokenizer of the LLMInferenceService is not available.",
        stage=RequestStage.PICKER,
        trigger="No replica of its Deployment is available, or the Service that the InferencePool "
        "names selects no ready pod.",
        silent="Further replicas that are not ready: only the leader of several ever is. A pool "
        "of one's own.",
        action="kubectl -n <namespace> logs deployment <deployment>. With failureMode FailOpen a "
        "Gateway that honours it goes on without it.",
        reads=(LLMS, r.DEPLOYMENTS, r.PODS, r.SERVICES, r.INFERENCEPOOLS),
        grace_seconds=90,
    ),
    *picker_rows_of(LLM_KIND, chain=True, reads=(LLMS, r.PODS)),
    _row(
        GATEWAY_NOT_READY,
        "A Gateway of the LLMInferenceService does not exist or is not programmed.",
        stage=RequestStage.GATEWAY,
        trigger="A Gateway of spec.router.gateway.refs, or a parent of its routes, is missing, or "
        "its Programmed is not True. KServe does not look at the default Gateway.",
        silent="An LLMInferenceService without a route and without Gateways.",
        action="kubectl -n <namespace> describe gateway <gateway>: its address, its class and the "
        "controller of that.",
        reads=_ROUTES,
    ),
    _row(
        ROUTE_NOT_READY,
        "An HTTPRoute of the LLMInferenceService is missing or not accepted.",
        stage=RequestStage.ROUTING,
        trigger="A route has no status of its Gateway, Accepted or ResolvedRefs is not True, it "
        "has no backend, or one that spec.router.route.http.refs names does not exist.",
        silent="Parents that only a policy writes a status for. A Gateway at fault, which is "
        "reported.",
        action="kubectl -n <namespace> describe httproute <route>",
        reads=_ROUTES,
    ),
    _row(
        POOL_NOT_READY,
        "The InferencePool of the LLMInferenceService does not work.",
        stage=RequestStage.ROUTING,
        trigger="A Gateway that its routes use has not accepted the pool in either API group, the "
        "pool "
        "selects none of the pods that serve, the Service of its endpoint picker does not exist, "
        "a pool that spec.router.scheduler.pool.ref names does not, or no route leads to it.",
        silent="WaitingForGateway where KServe knows no route and another leads there: requests "
        "come through all the same. A Gateway at fault, which is reported.",
        action="kubectl -n <namespace> get inferencepool <pool> -o yaml, and the log of the "
        "Gateway's controller.",
        reads=(*_POOLS, r.PODS, r.SERVICES),
    ),
    _row(
        NOT_READY,
        "The LLMInferenceService is not Ready, and nothing that the reporter reads says why.",
        trigger="Ready is False, or Unknown for longer than start-up may take; or KServe has not "
        "written any condition 120 s after the creation.",
        silent="What a reason above reports, an autoscaler without its metric, WaitingForGateway "
        "that is no fault, and conditions that the objects contradict.",
        action=f"{_DESCRIBE}, its Events, and {_LOG}.",
        reads=(*_POOLS, r.DEPLOYMENTS, LEADERWORKERSETS, r.PODS),
        grace_note="Unknown, and pods that start: --grace model-startup.",
    ),
    _row(
        STATUS_STALE,
        "The status of the LLMInferenceService does not match its objects.",
        trigger="KServe has not looked at the newest spec, or a condition or a count differs "
        "from what its Deployments, LeaderWorkerSets, Gateways, routes and pools say.",
        silent="What comes after an error of KServe's, which freezes it; where the rules of "
        "KServe's "
        "releases differ; a route or Gateway that does not exist, which is reported itself.",
        action="Believe the objects. Restart llmisvc-controller-manager: it does not watch "
        "kinds that were installed after it started.",
        reads=(*_POOLS, r.DEPLOYMENTS, LEADERWORKERSETS),
        grace_seconds=120,
        chain=False,
    ),
    _row(
        SCALING_NOT_READY,
        "The LLMInferenceService is not scaled; its pods serve.",
        trigger="Ready of its ScaledObject, or AbleToScale or ScalingActive of its "
        "HorizontalPodAutoscaler, is False, or ScalingReady is False for another reason than that "
        "it begins, for which KServe sets Ready to False, or the ScaledObject falls back.",
        action="kubectl -n <namespace> describe scaledobject, or describe hpa: the metric that "
        "it cannot read.",
        reads=(LLMS, r.SCALEDOBJECTS),
        grace_note="Its budget is --grace model-startup.",
        chain=False,
    ),
    _row(
        GROUP_DEGRADED,
        "The group that shares a route is degraded.",
        trigger="GroupDegraded is True, or no member that is not stopped has a weight above 0.",
        action="Compare spec.model.name and spec.router.route of the members.",
        chain=False,
    ),
    _row(
        MODEL_NAME_SHADOWED,
        "Another LLMInferenceService of the namespace serves a model or adapter of that name.",
        trigger="Two that are not stopped, with routes of KServe's and not in one group, have "
        "a model or adapter name in common: the older route takes the requests. Told of the "
        "one with the younger route.",
        action="Rename one, or put both into one spec.router.route.group.",
        reads=(*_SPEC, r.HTTPROUTES),
        chain=False,
    ),
    _row(
        STOPPED,
        "The LLMInferenceService is switched off.",
        trigger="The annotation serving.kserve.io/stop is true. Nothing else is reported about "
        "it then. Its status keeps the URL.",
        action="Nothing, if this is intended.",
        chain=False,
        type_=EventType.NORMAL,
    ),
    *rows_of(LLM_KIND, reads=(LLMS, r.PODS)),
    *picker_rows_of(LLM_KIND, chain=False, reads=(LLMS, r.PODS)),
    ready_row(
        READY,
        "An LLMInferenceService serves: its pods, its endpoint picker and its route are ready.",
        of=LLM_KIND,
        trigger="Each role has an available replica; the endpoint picker, the route and the pool "
        "are ready where it asks for them. Ready of KServe's status is neither needed nor enough.",
        reads=(*_POOLS, CONFIGS, r.DEPLOYMENTS, LEADERWORKERSETS, r.PODS),
    ),
)
"""In the order of the priority chain."""

CLUSTER_REASONS: Final = (
    controller_row(
        CLUSTER_LLMISVC,
        "The KServe controller of LLMInferenceServices",
        setting="llmisvc",
        frozen="the status of LLMInferenceServices is frozen, none can be changed, and changes of "
        "what they refer to have no effect",
    ),
    controller_row(
        CLUSTER_LWS,
        "The controller of LeaderWorkerSets, which makes the pods of multi-node replicas,",
        setting="lws",
        frozen="no group of pods is made or made again",
    ),
)


SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    *of_pods(
        *(CLUSTER_LLMISVC, CLUSTER_LWS, PODS_NOT_READY, MODEL_LOAD_FAILED, EPP_NOT_READY),
        at_one_object=(PODS_NOT_CREATED, STORAGE_FAILED),
    ),
    SuppressionRow(
        CLUSTER_LLMISVC,
        (INVALID, RECONCILE_FAILED, OBJECT_MISSING, NOT_READY, STATUS_STALE, GROUP_DEGRADED),
        "llmisvc-controller-manager writes the status of LLMInferenceServices and makes their "
        "objects",
    ),
    SuppressionRow(
        CLUSTER_LWS,
        (PODS_NOT_CREATED, ROLLOUT_STUCK),
        "the LeaderWorkerSet controller makes the StatefulSets of each group",
    ),
    SuppressionRow(
        c.CLUSTER_ISTIO,
        (GATEWAY_NOT_READY, ROUTE_NOT_READY, POOL_NOT_READY),
        "istiod writes the status of Gateways of its classes, of their routes and their pools",
    ),
    missing_kind(LLMS, *seen_on_objects(REASONS)),
    *(
        missing_kind(each, DEPENDENCY_MISSING)
        for each in (r.INFERENCEPOOLS, r.HTTPROUTES, r.GATEWAYS)
    ),
)

PART_OF: Final = "app.kubernetes.io/part-of"
LLM_PART: Final = "llminferenceservice"
PICKERS: Final = ScrapedPickers(
    kind=LLM_KIND,
    label="app.kubernetes.io/name",
    labels={
        "app.kubernetes.io/part-of": "llminferenceservice",
        "app.kubernetes.io/component": "llminferenceservice-router-scheduler",
    },
    pools=(r.INFERENCEPOOLS, r.FORMER_POOLS),
)
"""Source: kserve/kserve, pkg/controller/v1alpha2/llmisvc/scheduler.go."""
