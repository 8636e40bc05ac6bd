"""The resources that only KServe needs, the reasons of InferenceServices, and their suppression.

The order is from cause to symptom: specs that cannot be deployed, a model that cannot be fetched or
loaded, pods, the newest revision, its rollout and traffic, a component, the ingress, and the whole
InferenceService if nothing else explains it.
"""

from functools import partial
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import controller_row, ready_row, row
from reporter.catalogue.runtime import rows_of
from reporter.catalogue.suppression import missing_kind, of_pods, seen_on_objects
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType, Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.subject import RequestStage, SubjectKind
from reporter.stacks.kserve import objects

STACK: Final = "kserve"
"""Its name in `--stacks`."""

HOME: Final = ("kserve", "opendatahub", "redhat-ods-applications")
"""Namespaces where the controller may be; the last two are those of Open Data Hub and OpenShift AI
(github.com/opendatahub-io/opendatahub-operator)."""

INFERENCESERVICE_KIND: Final = SubjectKind("inferenceservice")

INFERENCESERVICES: Final = Resource(
    group="serving.kserve.io", versions=("v1beta1",), plural="inferenceservices",
    kind="InferenceService", namespaced=True, custom=True,
    type=objects.InferenceService, purpose="InferenceServices, their revisions and conditions",
    stack=STACK, subject_kind=INFERENCESERVICE_KIND, observes_another=True,
)  # fmt: skip
KNATIVE_SERVICES: Final = Resource(
    group="serving.knative.dev", versions=("v1",), plural="services", kind="Service",
    namespaced=True, custom=True,
    type=objects.KnativeService, purpose="revisions and traffic of the components",
    label_selector="serving.kserve.io/inferenceservice", stack=STACK,
)  # fmt: skip
KNATIVE_REVISIONS: Final = Resource(
    group="serving.knative.dev", versions=("v1",), plural="revisions", kind="Revision",
    namespaced=True, custom=True,
    type=objects.KnativeRevision, purpose="whether a revision that gets traffic exists, and works",
    label_selector="serving.kserve.io/inferenceservice", stack=STACK,
)  # fmt: skip

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    INFERENCESERVICES,
    KNATIVE_SERVICES,
    KNATIVE_REVISIONS,
)
"""In the order of the ClusterRole."""


CLUSTER_KSERVE: Final = "clusterKServeControllerNotReady"
CLUSTER_KNATIVE: Final = "clusterKnativeNotReady"
KNATIVE_MISSING: Final = "inferenceserviceKnativeMissing"
INVALID_SPEC: Final = "inferenceserviceInvalidSpec"
RUNTIME_MISSING: Final = "inferenceserviceRuntimeMissing"
RECONCILE_FAILED: Final = "inferenceserviceReconcileFailed"
STORAGE_FAILED: Final = "inferenceserviceStorageFailed"
MODEL_LOAD_FAILED: Final = "inferenceserviceModelLoadFailed"
PODS_NOT_CREATED: Final = "inferenceservicePodsNotCreated"
PODS_NOT_READY: Final = "inferenceservicePodsNotReady"
REVISION_NOT_READY: Final = "inferenceserviceRevisionNotReady"
ROLLOUT_STUCK: Final = "inferenceserviceRolloutStuck"
TRAFFIC: Final = "inferenceserviceTrafficNotAsSpecified"
COMPONENT_NOT_READY: Final = "inferenceserviceComponentNotReady"
INGRESS_NOT_READY: Final = "inferenceserviceIngressNotReady"
NOT_READY: Final = "inferenceserviceNotReady"
STATUS_STALE: Final = "inferenceserviceStatusStale"
SCALING_NOT_READY: Final = "inferenceserviceScalingNotReady"
CANARY_NOT_READY: Final = "inferenceserviceCanaryNotReady"
ROLLED_BACK: Final = "inferenceserviceRolledBack"
CANARY_IN_PROGRESS: Final = "inferenceserviceCanaryInProgress"
STOPPED: Final = "inferenceserviceStopped"
READY: Final = "inferenceserviceReady"

ROLLOUT_SECONDS: Final = 600
"""How long traffic may take to move."""

_ITSELF: Final = (INFERENCESERVICES,)
_PODS: Final = (*_ITSELF, r.PODS, r.NODES)
_KNATIVE: Final = (*_ITSELF, KNATIVE_SERVICES)
_BOTH: Final = (*_KNATIVE, r.DEPLOYMENTS)
_DESCRIBE: Final = "kubectl -n <namespace> describe inferenceservice <name>"

_row = partial(row, of=INFERENCESERVICE_KIND, reads=_ITSELF)

REASONS: Final[tuple[Reason, ...]] = (
    _row(
        KNATIVE_MISSING,
        "The InferenceService needs Knative, which the cluster does not have.",
        trigger="The deployment mode in effect is Knative, and the API server does not serve "
        "services.serving.knative.dev.",
        silent="Standard mode and ModelMesh.",
        action="Install Knative Serving, or annotate the InferenceService with "
        "serving.kserve.io/deploymentMode: Standard and create it again.",
        reads=_KNATIVE,
    ),
    _row(
        INVALID_SPEC,
        "KServe cannot create pods from the spec of the InferenceService.",
        trigger="transitionStatus is InvalidSpec for a cause other than the runtime, a component's "
        "Ready is False with InvalidGPUAllocation or InvalidWorkerSpecNotSet, or the "
        "percents of spec.canary add up to more than 100.",
        action=f"{_DESCRIBE}, and correct the field that the message names.",
    ),
    _row(
        RUNTIME_MISSING,
        "There is no runtime that could serve the model.",
        trigger="transitionStatus is InvalidSpec with RuntimeNotRecognized, RuntimeDisabled or "
        "NoSupportingRuntime.",
        action="Make or enable the ServingRuntime that the message names (kubectl get "
        "servingruntime -A, clusterservingruntime), or set spec.predictor.model.runtime.",
    ),
    _row(
        RECONCILE_FAILED,
        "KServe fails to create what a component needs.",
        trigger="A component's Ready is False with ReconcileFailed.",
        action="Read the error; the log of kserve-controller-manager has all of it.",
    ),
    _row(
        STORAGE_FAILED,
        "The model cannot be fetched.",
        trigger="The init container storage-initializer of a pod ended with an error, out of "
        "memory (OOMKilled) included, or waits in CrashLoopBackOff; or a pod is to fetch a model, "
        "and KServe's webhook leaves its namespace out, for the label control-plane.",
        silent="A download in progress.",
        action="kubectl -n <namespace> logs <pod> -c storage-initializer --previous: check the "
        "storage URI, its credentials and the free disk space of the node; if it was "
        "OOMKilled, its memory limit.",
        reads=_PODS,
        grace_note="Fires at once in a crash loop.",
    ),
    _row(
        MODEL_LOAD_FAILED,
        "The model server ends with an error while it loads the model.",
        trigger="kserve-container of a predictor's pod ended in Error, or is in a crash loop after "
        "it; or, where pods cannot be read, transitionStatus is BlockedByFailedLoad.",
        silent="lastFailureInfo of a model that is up to date: KServe never clears it. Crashes of "
        "transformers and explainers, OOMKilled, and images that cannot be pulled: these "
        "are reported for the pod.",
        action="kubectl -n <namespace> logs <pod> -c kserve-container --previous",
        reads=_PODS,
        grace_note="Fires at once in a crash loop.",
    ),
    _row(
        PODS_NOT_CREATED,
        "Pods of a component cannot be created.",
        trigger="A Deployment of the component says ReplicaFailure=True (Standard mode).",
        action="kubectl -n <namespace> describe deployment <deployment>: mostly a quota or an "
        "admission webhook.",
        reads=(*_ITSELF, r.DEPLOYMENTS),
    ),
    _row(
        PODS_NOT_READY,
        "Pods of the InferenceService do not run, or run without becoming Ready.",
        trigger="A container of a pod waits or ended in an error, the pod is unschedulable, "
        "evicted or on a dead node, or its start-up takes longer than its budget. In Knative mode "
        "only pods of the newest revision and of those that get traffic are judged.",
        silent="Pods that start within their budget, no pods at all in Knative mode: scaled to "
        "zero.",
        action="kubectl -n <namespace> describe pod <pod>, and its logs (--previous after a "
        "crash).",
        reads=_PODS,
        grace_note="Fire at once: InvalidImageName, ErrImageNeverPull, CrashLoopBackOff. Start-up "
        "has --grace model-startup or the start-up probe's own budget; volumes, "
        "network and sandbox have 300 s.",
    ),
    _row(
        REVISION_NOT_READY,
        "The newest revision of a component is not ready; an older one serves, or none.",
        trigger="The latest created revision is not the latest ready one: its configuration is "
        "False, or it takes longer than start-up may.",
        action="kubectl -n <namespace> describe revision <revision>. Going back to the older spec "
        "creates another revision.",
        reads=_KNATIVE,
        grace_note="A start has --grace model-startup, or a longer start-up probe's budget.",
    ),
    _row(
        ROLLOUT_STUCK,
        "A ready revision is not rolled out.",
        trigger="The latest ready revision is not the one rolled out for 600 s though no canary "
        "percent is set; or a Deployment's Progressing is False (Standard mode).",
        silent="Canaries. A newer revision that is not ready, which is reported instead. A gradual "
        "rollout, while Knative says RolloutInProgress.",
        action="kubectl -n <namespace> describe ksvc <service>: its RoutesReady; or kubectl -n "
        "<namespace> rollout status deployment <deployment>.",
        reads=_BOTH,
        grace_note="Its budget is 600 s in Knative mode.",
    ),
    _row(
        TRAFFIC,
        "Requests do not go to the revisions that the spec asks for.",
        stage=RequestStage.ROUTING,
        trigger="A revision that gets traffic does not exist, nothing gets traffic, the percents "
        "do not add up to 100, the route differs from what canaryTrafficPercent asks for, a "
        "rollback has no revision to go back to, or the route's condition stays Unknown.",
        silent="A canary percent before anything was rolled out: KServe ignores it. A gradual "
        "rollout, while Knative says RolloutInProgress.",
        action="kubectl -n <namespace> get ksvc <service> -o yaml: compare spec.traffic and "
        "status.traffic.",
        reads=(*_KNATIVE, KNATIVE_REVISIONS),
        grace_note="A route that is being changed, and traffic that is split over one revision, "
        "have 600 s; while a newer revision starts, --grace model-startup if that is longer.",
    ),
    _row(
        COMPONENT_NOT_READY,
        "A component is not ready: the predictor, the transformer or the explainer.",
        trigger="A component's Ready is False because of its Knative Service or Deployments; or it "
        "is True, or was never written, although its Knative Service does not exist; or it "
        "is True although one of its Deployments wants 0 replicas; or it "
        "stays Unknown for a transformer or an explainer. Ready of the InferenceService "
        "follows only the predictor, so it may be True all the same.",
        silent="Components that are stopped, or whose pods start within their budget. "
        "Deployments that want 0 replicas while those of the predictor do: it is idle.",
        action=f"{_DESCRIBE}, and the Knative Service or Deployment of the component.",
        reads=(*_BOTH, r.PODS),
        grace_note="Unknown, and while pods of that component start: "
        "--grace model-startup, or a longer start-up probe's budget.",
    ),
    _row(
        INGRESS_NOT_READY,
        "Requests from outside cannot reach the InferenceService.",
        stage=RequestStage.ROUTING,
        trigger="IngressReady is False while all components are ready or because a Gateway refuses "
        "a route, or Ready is True and there is no URL, or a Gateway of its routes is not "
        "programmed.",
        silent="A component that is not ready, which has no ingress yet: the component is "
        "reported.",
        action=f"{_DESCRIBE}: the reason names the route or the Gateway that is missing.",
        reads=_BOTH,
    ),
    _row(
        NOT_READY,
        "The InferenceService is not Ready, and nothing that the reporter reads says why.",
        trigger="Ready is False, or Unknown for longer than start-up may take; or KServe has not "
        "written any condition 120 s after the creation.",
        silent="What a reason above reports. Pods that start within their budget. A gradual "
        "rollout, while Knative says RolloutInProgress.",
        action=f"{_DESCRIBE}, its Events, and the log of kserve-controller-manager.",
        reads=(*_BOTH, r.PODS),
        grace_note="Unknown, and pods that start: --grace model-startup, or a longer "
        "start-up probe's budget.",
    ),
    _row(
        STATUS_STALE,
        "The status of the InferenceService does not match its objects.",
        trigger="Fields of the status differ from what KServe would write now from the Knative "
        "Services, Deployments and pods.",
        silent="InferenceServices that are frozen while Ready (disable-auto-update), texts that "
        "differ between versions of KServe, readiness of pods, which KServe does not follow.",
        action="Look at the log of kserve-controller-manager; believe the objects until then.",
        reads=(*_BOTH, r.PODS),
        grace_seconds=120,
        chain=False,
    ),
    _row(
        SCALING_NOT_READY,
        "The InferenceService is not scaled; its pods serve.",
        trigger="Ready of a ScaledObject, or AbleToScale or ScalingActive of a "
        "HorizontalPodAutoscaler, that names a Deployment of it is False, or the ScaledObject "
        "falls back; or there is no ScaledObject for autoscalerClass keda (Standard mode).",
        silent="A ScaledObject that is paused.",
        action="kubectl -n <namespace> describe scaledobject,hpa",
        reads=(*_ITSELF, r.DEPLOYMENTS, r.SCALEDOBJECTS),
        chain=False,
    ),
    _row(
        CANARY_NOT_READY,
        "A canary of the InferenceService is not ready (Standard mode).",
        trigger="CanaryPredictorReady is False with CanariesNotReady.",
        action="Look at the Deployment of the canary that the message names, and at its pods.",
        grace_note="Its budget is --grace model-startup.",
        chain=False,
    ),
    _row(
        ROLLED_BACK,
        "A component is rolled back: its newest revision is ready and gets no requests.",
        trigger="The latest entry of the route has 0 percent, and the latest and the previous "
        "rolled-out revision are the same.",
        silent="A new revision that is held at 0 percent.",
        action="Nothing, if this is intended. To promote it again, remove canaryTrafficPercent.",
        reads=_KNATIVE,
        chain=False,
        type_=EventType.NORMAL,
    ),
    _row(
        CANARY_IN_PROGRESS,
        "A newer revision gets a part of the requests.",
        trigger="The latest entry of the route has 1 to 99 percent, and its revision is ready "
        "and not rolled out.",
        action="Nothing, if this is intended. To promote it, remove canaryTrafficPercent.",
        reads=_KNATIVE,
        chain=False,
        type_=EventType.NORMAL,
    ),
    _row(
        STOPPED,
        "The InferenceService is switched off.",
        trigger="The annotation serving.kserve.io/stop is true. Nothing else is reported about "
        "it then.",
        action="Nothing, if this is intended. KServe has forgotten which revisions were rolled "
        "out.",
        chain=False,
        type_=EventType.NORMAL,
    ),
    *rows_of(INFERENCESERVICE_KIND, reads=(INFERENCESERVICES, r.PODS)),
    ready_row(
        READY,
        "An InferenceService serves: all of its components and its ingress are ready.",
        of=INFERENCESERVICE_KIND,
        trigger="Ready of the InferenceService and of each component is True, and their objects "
        "agree; in Knative mode the newest revision is the ready one. It may be scaled to zero: by "
        "Knative, or in Standard mode with the predictor's Deployment, which makes it idle.",
        reads=(*_BOTH, r.PODS),
    ),
)
"""In the order of the priority chain."""

CLUSTER_REASONS: Final = (
    controller_row(
        CLUSTER_KSERVE,
        "The KServe controller, which rolls out InferenceServices,",
        setting="kserve",
        frozen="the status of InferenceServices is frozen, and changes to them have no effect",
    ),
    controller_row(
        CLUSTER_KNATIVE,
        "The Knative controller, which makes the revisions of InferenceServices,",
        setting="knative",
        frozen="no revision is created, and no traffic is moved",
    ),
)


SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    *of_pods(
        *(CLUSTER_KSERVE, CLUSTER_KNATIVE, PODS_NOT_READY, MODEL_LOAD_FAILED),
        at_one_object=(PODS_NOT_CREATED, STORAGE_FAILED),
    ),
    SuppressionRow(
        CLUSTER_KSERVE,
        (
            *(INVALID_SPEC, RUNTIME_MISSING, RECONCILE_FAILED, ROLLOUT_STUCK, TRAFFIC),
            *(INGRESS_NOT_READY, NOT_READY, STATUS_STALE, CANARY_NOT_READY),
        ),
        "the KServe controller writes the status of InferenceServices and makes what they need",
    ),
    SuppressionRow(
        CLUSTER_KNATIVE,
        (REVISION_NOT_READY, ROLLOUT_STUCK, TRAFFIC),
        "the Knative controller makes revisions and moves traffic",
    ),
    missing_kind(INFERENCESERVICES, *seen_on_objects(REASONS)),
)
