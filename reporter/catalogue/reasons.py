"""The closed vocabulary of reasons (section 1 of the KAITO sheet, and `clusterStatusUnknown`).

To add a reason: add a row here (its place in the table is its priority), rows to `suppression.py`
if an upstream makes its input invalid, and a probe that yields findings with its name.
`docs/reasons.md` and `status-reporter explain` are rendered from this table.
"""

from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.runtime import DOWNLOADS, RUNTIME, rows_of
from reporter.model.reason import EventType, Reason
from reporter.model.subject import Layer, SubjectKind
from reporter.stacks.kserve.reasons import INFERENCESERVICE, INFERENCESERVICE_READY
from reporter.stacks.kthena.reasons import MODELSERVING, MODELSERVING_READY
from reporter.stacks.otterscale.reasons import MODELSERVICE, MODELSERVICE_READY

CLUSTER_CRD_MISSING: Final = "clusterCRDMissing"
CLUSTER_ISTIO: Final = "clusterIstioControlPlaneNotReady"
CLUSTER_GATEWAY_AUTH: Final = "clusterGatewayAuthNotReady"
CLUSTER_BBR: Final = "clusterBBRNotReady"
CLUSTER_KAITO: Final = "clusterKaitoControllerNotReady"
CLUSTER_NODE_PROVISIONER: Final = "clusterNodeProvisionerNotReady"
CLUSTER_KEDA: Final = "clusterKedaNotReady"
CLUSTER_KEDA_SCALER: Final = "clusterKedaKaitoScalerNotReady"
CLUSTER_KTHENA: Final = "clusterKthenaControllerNotReady"
CLUSTER_OTTERSCALE: Final = "clusterOtterScaleOperatorNotReady"
CLUSTER_KSERVE: Final = "clusterKServeControllerNotReady"
CLUSTER_KNATIVE: Final = "clusterKnativeNotReady"
CLUSTER_STATUS_UNKNOWN: Final = "clusterStatusUnknown"
CLUSTER_READY: Final = "clusterReady"
HARNESS_GATEWAY_CLASS: Final = "modelharnessGatewayClassMissing"
HARNESS_GATEWAY_PROGRAMMING: Final = "modelharnessGatewayProgrammingFailed"
HARNESS_GATEWAY_DATA_PLANE: Final = "modelharnessGatewayDataPlaneNotReady"
HARNESS_EXT_AUTHZ: Final = "modelharnessExtAuthzProviderMissing"
HARNESS_API_KEY: Final = "modelharnessAPIKeyReconcileFailed"
HARNESS_CATCH_ALL: Final = "modelharnessCatchAllFilterRejected"
HARNESS_NETWORK_POLICY: Final = "modelharnessNetworkPolicyMisconfigured"
HARNESS_READY: Final = "modelharnessReady"
MODEL_SCALING: Final = "inferencesetScalingMisconfigured"
MODEL_INFRA: Final = "inferencesetInfraProvisioningFailed"
MODEL_PODS: Final = "inferencesetModelPodsNotReady"
MODEL_ROUTE: Final = "inferencesetRouteNotReady"
MODEL_EPP: Final = "inferencesetEPPNotReady"
MODEL_NODE_PRESSURE: Final = "inferencesetNodeUnderPressure"
MODEL_READY: Final = "inferencesetReady"


_SHARED_SILENT = (
    "A rollout in progress within its deadline, terminating pods, a component that is switched off."
)
_SHARED_TRIGGER = (
    "is down (missing, scaled to zero, no available replica) or degraded (fewer ready replicas "
    "than wanted and no rollout in progress, or a rollout past its deadline)."
)


def _controller(name: str, what: str, setting: str, frozen: str) -> Reason:
    """Return the row of the controller of a stack."""
    return Reason(
        name=name,
        layer=Layer.CLUSTER,
        summary=f"{what} is not available.",
        trigger=f"The Deployment named by --{setting}-deployment {_SHARED_TRIGGER}",
        silent=f"{_SHARED_SILENT} A stack that is auto in --stacks and has no such Deployment.",
        action="Look at the Deployment that the message names, its pods and their logs. While it "
        f"is down, {frozen}.",
        reads=(r.DEPLOYMENTS,),
    )


REASONS: Final[tuple[Reason, ...]] = (
    Reason(
        name=CLUSTER_CRD_MISSING,
        layer=Layer.CLUSTER,
        summary="A CustomResourceDefinition that the stack needs is not served.",
        trigger="API discovery answered and does not list the resource; one finding for each CRD.",
        silent="Discovery that failed, CRDs of a component that is switched off.",
        action="Install or repair the chart that owns the CRD, then check that it is Established: "
        "kubectl get crd <name>",
    ),
    Reason(
        name=CLUSTER_ISTIO,
        layer=Layer.CLUSTER,
        summary="istiod, which programs all Gateways, is not available.",
        trigger=f"The istiod Deployment (also istiod-<revision>) {_SHARED_TRIGGER}",
        silent=_SHARED_SILENT,
        action="kubectl -n <namespace> describe deployment istiod, and look at its pods and logs.",
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_GATEWAY_AUTH,
        layer=Layer.CLUSTER,
        summary="The gateway authentication service or its operator is not available.",
        trigger=f"A Deployment of apikey-operator, apikey-authz or azure-authz {_SHARED_TRIGGER} Or "
        "AuthorizationPolicies name the provider apikey-ext-authz and MeshConfig does not define it.",
        silent=f"{_SHARED_SILENT} A MeshConfig without the provider that nothing names: current "
        "charts do not use it.",
        action="Look at the Deployment that the message names, its pods and their logs.",
        reads=(r.DEPLOYMENTS,),
        also_reads=((r.CONFIGMAPS, (r.CONFIGMAPS, r.AUTHORIZATIONPOLICIES, r.NAMESPACES)),),
    ),
    Reason(
        name=CLUSTER_BBR,
        layer=Layer.CLUSTER,
        summary="The body-based router, which reads the model's name from requests, is down.",
        trigger=f"The body-based-router Deployment {_SHARED_TRIGGER}",
        silent=_SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs.",
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_KAITO,
        layer=Layer.CLUSTER,
        summary="The KAITO workspace controller, which runs the models, is not available.",
        trigger=f"The kaito-workspace Deployment {_SHARED_TRIGGER}",
        silent=_SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs. While it "
        "is down, conditions of Workspaces are frozen and not to be trusted.",
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_NODE_PROVISIONER,
        layer=Layer.CLUSTER,
        summary="The node provisioner, which creates GPU nodes, is not available.",
        trigger=f"The Deployment named by --node-provisioner-name {_SHARED_TRIGGER}",
        silent=f"{_SHARED_SILENT} No provisioner configured.",
        action="Look at the Deployment that the message names, its pods and their logs.",
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_KEDA,
        layer=Layer.CLUSTER,
        summary="KEDA, which scales the models, is not available.",
        trigger=f"keda-operator or keda-operator-metrics-apiserver {_SHARED_TRIGGER}",
        silent=_SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs.",
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_KEDA_SCALER,
        layer=Layer.CLUSTER,
        summary="The KAITO scaler of KEDA is not available, or KEDA rejects its ScaledObjects.",
        trigger=f"The keda-kaito-scaler Deployment {_SHARED_TRIGGER} Or a ScaledObject that the "
        "scaler made has Ready=False.",
        silent=f"{_SHARED_SILENT} ScaledObjects that are paused, inactive or in fallback.",
        action="Look at the object that the message names: kubectl describe it.",
        reads=(r.DEPLOYMENTS, r.SCALEDOBJECTS),
        also_reads=((r.SCALEDOBJECTS, (r.INFERENCESETS, r.NAMESPACES)),),
    ),
    _controller(
        CLUSTER_KTHENA,
        "The Kthena controller, which makes and replaces the pods of ModelServings,",
        "kthena",
        "no pod of a ModelServing is made or replaced",
    ),
    _controller(
        CLUSTER_OTTERSCALE,
        "OtterScale's model operator, which makes what ModelServices need,",
        "otterscale",
        "the status of ModelServices is frozen, and what is deleted is not made anew",
    ),
    _controller(
        CLUSTER_KSERVE,
        "The KServe controller, which rolls out InferenceServices,",
        "kserve",
        "the status of InferenceServices is frozen, and changes of them do nothing",
    ),
    _controller(
        CLUSTER_KNATIVE,
        "The Knative controller, which makes the revisions of InferenceServices,",
        "knative",
        "no revision is made, and no traffic is moved",
    ),
    Reason(
        name=CLUSTER_STATUS_UNKNOWN,
        layer=Layer.CLUSTER,
        summary="The reporter cannot read something it needs, so parts of its report are missing.",
        trigger="A resource is forbidden, or could not be reached for 120 s, for longer than the "
        "grace; or the reporter failed on an object, so that a subject, or a reason, cannot be judged.",
        silent="A kind that is not installed: it is absent, not unknown.",
        action="Grant the permission that the message names to the reporter's ServiceAccount, or "
        "find out why the API server does not answer it. A subject or a reason that cannot be judged "
        "is a fault of the reporter: correct what is odd about its objects, and report it.",
        blocks_ready=True,
    ),
    Reason(
        name=CLUSTER_READY,
        layer=Layer.CLUSTER,
        type=EventType.NORMAL,
        says_ready=True,
        summary="The shared control plane works.",
        trigger="Every configured Deployment is available and every required CRD is served.",
        action="Nothing.",
        reads=(r.DEPLOYMENTS,),
        chain=False,
        blocks_ready=False,
    ),
    Reason(
        name=HARNESS_GATEWAY_CLASS,
        layer=Layer.HARNESS,
        summary="No controller feels responsible for the namespace's Gateway.",
        trigger="The GatewayClass that the Gateway names does not exist or is not Accepted, or the "
        "Gateway's own Accepted condition stays Unknown, or is False for NoMatchingParent, "
        "InvalidParameters or UnsupportedValue.",
        silent="Accepted=False for another reason, a young Gateway.",
        action="kubectl get gatewayclass, and compare with the Gateway's spec.gatewayClassName.",
        reads=(r.GATEWAYS, r.GATEWAYCLASSES),
    ),
    Reason(
        name=HARNESS_GATEWAY_PROGRAMMING,
        layer=Layer.HARNESS,
        summary="The namespace's Gateway could not be programmed.",
        trigger="Programmed=False on the Gateway, or on a listener: Conflicted=True, "
        "ResolvedRefs=False or Programmed=False.",
        silent="Programmed=Unknown.",
        action="kubectl -n <namespace> describe gateway <name>; its conditions name the cause.",
        reads=(r.GATEWAYS,),
        grace_seconds=300,
        grace_note="An address that is still pending has --load-balancer-budget-seconds.",
    ),
    Reason(
        name=HARNESS_GATEWAY_DATA_PLANE,
        layer=Layer.HARNESS,
        summary="The Gateway is programmed, but no pod of its data plane is Ready.",
        trigger="Programmed=True, and the Deployment made for the Gateway has no ready replica.",
        silent="A Gateway that is not Programmed, no such Deployment, terminating pods.",
        action="kubectl -n <namespace> describe pods -l "
        "gateway.networking.k8s.io/gateway-name=<gateway>",
        reads=(r.GATEWAYS, r.DEPLOYMENTS, r.PODS),
        grace_seconds=300,
    ),
    Reason(
        name=HARNESS_EXT_AUTHZ,
        layer=Layer.HARNESS,
        summary="Requests are sent to an authorization provider that does not exist.",
        trigger="An AuthorizationPolicy with action CUSTOM names a provider that MeshConfig does "
        "not define, or an ext_authz EnvoyFilter points to a Service that does not exist.",
        silent="A policy without provider, a MeshConfig that cannot be read.",
        action="Correct the provider's name, or install what it points to.",
        reads=(r.AUTHORIZATIONPOLICIES, r.ENVOYFILTERS, r.CONFIGMAPS, r.SERVICES),
    ),
    Reason(
        name=HARNESS_API_KEY,
        layer=Layer.HARNESS,
        summary="The API key of the namespace was refused by its operator, or expired.",
        trigger="APIKey Ready=False, phase Expired, or phase Pending for longer than the grace.",
        silent="A young APIKey without conditions.",
        action="kubectl -n <namespace> describe apikey <name>",
        reads=(r.APIKEYS,),
    ),
    Reason(
        name=HARNESS_CATCH_ALL,
        layer=Layer.HARNESS,
        summary="The catch-all filter for unknown models is not in effect.",
        trigger="The EnvoyFilter model-not-found-direct reports an error, or its workloadSelector "
        "does not match the pods of the namespace's Gateway.",
        silent="An empty status with a matching selector, a Gateway without pods, no such filter.",
        action="Compare the filter's spec.workloadSelector.labels with the Gateway's pod labels.",
        reads=(r.ENVOYFILTERS, r.GATEWAYS, r.PODS),
    ),
    Reason(
        name=HARNESS_NETWORK_POLICY,
        layer=Layer.HARNESS,
        summary="The network policy of the inference pods names the wrong namespaces.",
        trigger="CiliumNetworkPolicy inference-pods-ingress names a namespace that does not exist "
        "(the chart's defaults are exempt), or does not admit the KEDA scaler's namespace.",
        silent="No Cilium, no policy, --network-policy-ignored-namespaces.",
        action="Correct networkPolicy.allowedIngressNamespaces of the workload's chart.",
        reads=(r.CILIUMNETWORKPOLICIES, r.NAMESPACES, r.DEPLOYMENTS),
    ),
    Reason(
        name=HARNESS_READY,
        layer=Layer.HARNESS,
        type=EventType.NORMAL,
        says_ready=True,
        summary="The entrance of a workload namespace works.",
        trigger="Every Gateway is programmed and its data plane has a ready replica.",
        action="Nothing.",
        reads=(r.GATEWAYS, r.DEPLOYMENTS),
        chain=False,
        blocks_ready=False,
    ),
    Reason(
        name=MODEL_SCALING,
        layer=Layer.DEPLOYMENT,
        summary="The scaling settings of the InferenceSet can never work.",
        trigger='Scaling is on (scaledobject.kaito.sh/auto-provision: "true") and: maximum below '
        "minimum or below spec.replicas, a value the scaler refuses, a threshold of 0 or less.",
        silent="Scaling off. The scaler being absent is told by clusterKedaKaitoScalerNotReady.",
        action="Correct the scaledobject.kaito.sh/ annotations of the InferenceSet.",
        reads=(r.INFERENCESETS,),
        grace_note="Fires at once: it is static.",
    ),
    Reason(
        name=MODEL_INFRA,
        layer=Layer.DEPLOYMENT,
        summary="The nodes for the model cannot be provisioned.",
        trigger="A Workspace's NodeClaimReady is False with a cloud error, or stays in a boot "
        "state for longer than the budget, or its nodes stay without device plugin.",
        silent="Boot states within the budget.",
        action="Read the reason: quota and capacity errors are settled with the cloud provider, "
        "by another instance type or another region.",
        reads=(r.INFERENCESETS, r.WORKSPACES),
        grace_seconds=180,
        grace_note="SKUNotAvailable fires at once. Boot states have --node-boot-budget-seconds.",
    ),
    Reason(
        name=MODEL_PODS,
        layer=Layer.DEPLOYMENT,
        summary="Replicas of the model do not run, or run without becoming Ready.",
        trigger="A model pod's container waits or ended in an error, the pod is unschedulable, "
        "evicted or on a dead node, start-up takes longer than its budget, a replica has no pod, "
        "or a Workspace's InferenceReady is False with a cause.",
        silent="Pods that start within their budget, past crashes of a pod that is Ready again.",
        action="kubectl -n <namespace> describe pod <pod>, and its logs (--previous after a crash).",
        reads=(r.INFERENCESETS, r.WORKSPACES, r.PODS, r.NODES),
        grace_note="Fire at once: InvalidImageName, ErrImageNeverPull, CrashLoopBackOff, failed "
        "benchmarks, invalid specs and streaming configuration. Start-up has "
        "--model-startup-budget-seconds or the start-up probe's own budget.",
    ),
    Reason(
        name=MODEL_ROUTE,
        layer=Layer.DEPLOYMENT,
        summary="Requests for the model do not reach its pool.",
        trigger="The HTTPRoute or the InferencePool is not accepted or not resolved by a parent, "
        "its Gateway is gone, it has no parents, or the pool selects no pod.",
        silent="Unknown conditions, a young route, entries of other controllers.",
        action="kubectl -n <namespace> describe httproute <name>; its parents name the cause.",
        reads=(
            r.INFERENCESETS,
            r.WORKSPACES,
            r.HTTPROUTES,
            r.INFERENCEPOOLS,
            r.GATEWAYS,
            r.DEPLOYMENTS,
            r.PODS,
        ),
    ),
    Reason(
        name=MODEL_EPP,
        layer=Layer.DEPLOYMENT,
        summary="The endpoint picker of the model is not available.",
        trigger="Deployment <inferenceset>-inferencepool-epp is missing, scaled to zero, or has "
        "fewer ready replicas than wanted.",
        silent="An InferenceSet without InferencePool and HTTPRoute that was not made by the chart.",
        action="Look at the Deployment that the message names, its pods and their logs.",
        reads=(
            r.INFERENCESETS,
            r.WORKSPACES,
            r.DEPLOYMENTS,
            r.PODS,
            r.INFERENCEPOOLS,
            r.HTTPROUTES,
        ),
    ),
    Reason(
        name=MODEL_NODE_PRESSURE,
        layer=Layer.DEPLOYMENT,
        summary="A node of the model is short of disk, memory or processes.",
        trigger="DiskPressure, MemoryPressure or PIDPressure of a node that runs the model, or a "
        "Workspace that says so of a node that cannot be read.",
        action="kubectl describe node <node>; free the resource before the kubelet evicts pods.",
        reads=(r.INFERENCESETS, r.WORKSPACES, r.PODS, r.NODES),
        chain=False,
        grace_seconds=30,
        blocks_ready=False,
    ),
    *DOWNLOADS,
    *RUNTIME,
    Reason(
        name=MODEL_READY,
        layer=Layer.DEPLOYMENT,
        type=EventType.NORMAL,
        says_ready=True,
        summary="A model serves: all wanted replicas are ready and requests reach them.",
        trigger="Every wanted replica is ready, the endpoint picker is available and the route is "
        "accepted, where the model has them.",
        action="Nothing.",
        reads=(r.INFERENCESETS, r.WORKSPACES, r.PODS, r.DEPLOYMENTS),
        chain=False,
        blocks_ready=False,
    ),
    *MODELSERVING,
    MODELSERVING_READY,
    *MODELSERVICE,
    *rows_of(SubjectKind.MODELSERVICE),
    MODELSERVICE_READY,
    *INFERENCESERVICE,
    *rows_of(SubjectKind.INFERENCESERVICE),
    INFERENCESERVICE_READY,
)
"""All reasons, per layer in the order of the priority chain."""

BY_NAME: Final = {reason.name: reason for reason in REASONS}
