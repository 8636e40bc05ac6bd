"""The reasons of the cluster and of workload namespaces, and constructors of common rows.

A row's place in its table is its priority. A stack's reasons are in its folder; a `Catalogue`
contains all. `docs/reasons.md` and `status-reporter explain` are rendered from these tables.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.reason import EventType, Reason
from reporter.model.report import BLIND
from reporter.model.resource import AnyResource
from reporter.model.subject import Layer, RequestStage, SubjectKind
from reporter.yaml_reader.strict import FilePart

SHARED_SILENT: Final = (
    "A rollout in progress within its deadline, terminating pods, a component that is switched "
    "off, or that is not there and nothing needs; a leftover at zero replicas where it moved from."
)
SHARED_TRIGGER: Final = (
    "is down (missing, scaled to zero, no available replica) or degraded (fewer ready replicas "
    "than wanted and no rollout in progress, or a rollout past its deadline)."
)


def row(
    name: str,
    summary: str,
    *,
    of: SubjectKind,
    trigger: str,
    silent: str = "",
    action: str,
    reads: tuple[AnyResource, ...],
    also_reads: tuple[tuple[AnyResource, tuple[AnyResource, ...]], ...] = (),
    grace_seconds: int | None = None,
    grace_note: str = "",
    stage: RequestStage | None = None,
    chain: bool = True,
    type_: EventType = EventType.WARNING,
) -> Reason:
    """Return a row; one of the priority chain blocks its subject's Ready reason."""
    return Reason(
        name=name,
        layer=Layer.DEPLOYMENT,
        type=type_,
        chain=chain,
        blocks_ready=chain,
        of=of,
        summary=summary,
        trigger=trigger,
        silent=silent,
        action=action,
        reads=reads,
        also_reads=also_reads,
        grace_seconds=grace_seconds,
        grace_note=grace_note,
        stage=stage,
    )


def switch_off(part: str) -> str:
    """Return the sentence for users who do not want a shared part; it follows other sentences."""
    return f" Where it is not wanted: --components {part}=off."


def controller_row(name: str, what: str, *, setting: str, frozen: str) -> Reason:
    return Reason(
        name=name,
        layer=Layer.CLUSTER,
        summary=f"{what} is not available.",
        trigger=f"The Deployment named by --{setting}-deployment {SHARED_TRIGGER}",
        silent=SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs. While it "
        f"is down, {frozen}.{switch_off(setting)}",
        reads=(r.DEPLOYMENTS,),
    )


def ready_row(
    name: str,
    summary: str,
    *,
    of: SubjectKind,
    trigger: str,
    reads: tuple[AnyResource, ...],
) -> Reason:
    reason = row(
        name, summary, of=of, trigger=trigger, action="Nothing.", reads=reads,
        chain=False, type_=EventType.NORMAL,
    )  # fmt: skip
    return replace(reason, says_ready=True)


CLUSTER_CRD_MISSING: Final = "clusterCRDMissing"
CLUSTER_NODE: Final = "clusterNodeNotReady"
CLUSTER_SHARED: Final = "clusterSharedCause"
CLUSTER_ISTIO: Final = "clusterIstioControlPlaneNotReady"
CLUSTER_GATEWAY_AUTH: Final = "clusterGatewayAuthNotReady"
CLUSTER_BBR: Final = "clusterBBRNotReady"
CLUSTER_STATUS_UNKNOWN: Final = BLIND
CLUSTER_READY: Final = "clusterReady"
HARNESS_GATEWAY_CLASS: Final = "modelharnessGatewayClassMissing"
HARNESS_GATEWAY_PROGRAMMING: Final = "modelharnessGatewayProgrammingFailed"
HARNESS_GATEWAY_DATA_PLANE: Final = "modelharnessGatewayDataPlaneNotReady"
HARNESS_EXT_AUTHZ: Final = "modelharnessExtAuthzProviderMissing"
HARNESS_API_KEY: Final = "modelharnessAPIKeyReconcileFailed"
HARNESS_CATCH_ALL: Final = "modelharnessCatchAllFilterRejected"
HARNESS_NETWORK_POLICY: Final = "modelharnessNetworkPolicyMisconfigured"
HARNESS_READY: Final = "modelharnessReady"

CLUSTER_BEFORE_STACKS: Final[tuple[Reason, ...]] = (
    Reason(name=CLUSTER_CRD_MISSING, layer=Layer.CLUSTER,
        summary="A CustomResourceDefinition that the stack needs is not served.",
        trigger="API discovery answered and does not list a resource that something needs, or "
        "whose part is on, or that was served before; one finding for each CRD.",
        silent="Discovery that failed, CRDs of a component that is switched off, CRDs that nothing "
        "needs.",
        action="Install or repair the chart that owns the CRD, then check that it is Established: "
        "kubectl get crd <name>. Where it is not wanted: --components NAME=off, with the name that "
        "the message says."),
    Reason(name=CLUSTER_NODE, layer=Layer.CLUSTER,
        summary="A node does not work for the parts and models that are on it or wait for it.",
        trigger="A node is gone, does not answer or is NotReady, and pods of parts or models are "
        "on it; or pods of theirs wait for it by the scheduler's words while it is so, is under "
        "pressure, is cordoned, or has no allocatable devices (GPUs) of a kind that it had; or "
        "several parts or models fail on it for one cause of its own, such as its driver, runtime, "
        "network or disk; one finding for each node.",
        silent="A node that nothing of ours is on or waits for, and one that was never Ready.",
        action="kubectl describe node <node>. Not answering: look at the machine and its kubelet. "
        "Under pressure: free what it lacks. Cordoned: kubectl uncordon <node>, or wait for who "
        "drained it. No allocatable devices: look at the pods of the device plugin there.",
        reads=(r.NODES, r.PODS)),
    Reason(name=CLUSTER_SHARED, layer=Layer.CLUSTER,
        summary="Several models, or a model and a shared part, fail for one object that must be "
        "mended.",
        trigger="Pods of two or more of them do not run, or are not made, for the same cause at "
        "the same object: a Secret, a ConfigMap, a claim, a quota, a queue, an image, a "
        "StorageClass, a NodePool, or the Service of a webhook that refuses pods; one finding for "
        "each object, those of one namespace in one Event. A webhook without endpoints counts "
        "where it hits one model too. A node has its own reason.",
        silent="An object that one model alone needs: that model tells it. Causes that are only "
        "similar.", action="Do what the message says to the object that it names.", reads=(r.PODS,),
        grace_note="Fires at once where a fault that it explains would; a budget is the smallest "
        "of theirs.", blocks_ready=False,
        look=("kubectl get events -A --field-selector type=Warning",)),
    Reason(name=CLUSTER_ISTIO, layer=Layer.CLUSTER,
        summary="istiod, which programs all Gateways, is not available.",
        trigger=f"The istiod Deployment (also istiod-<revision>) {SHARED_TRIGGER}",
        silent=SHARED_SILENT,
        action="kubectl -n <namespace> describe deployment istiod, and look at its pods and logs."
        + switch_off("istio"), reads=(r.DEPLOYMENTS,)),
    Reason(name=CLUSTER_GATEWAY_AUTH, layer=Layer.CLUSTER,
        summary="The gateway authentication service or its operator is not available.",
        trigger=f"A Deployment of apikey-operator, apikey-authz or azure-authz {SHARED_TRIGGER} Or "
        "AuthorizationPolicies name the provider apikey-ext-authz and MeshConfig does not define "
        "it.",
        silent=f"{SHARED_SILENT} A MeshConfig without the provider, while no policy names it: "
        "current charts do not use it.",
        action="Look at the Deployment that the message names, its pods and their logs."
        + switch_off("gateway-auth"), on_path=True, reads=(r.DEPLOYMENTS,),
        also_reads=((r.CONFIGMAPS, (r.CONFIGMAPS, r.AUTHORIZATIONPOLICIES, r.NAMESPACES)),)),
    Reason(name=CLUSTER_BBR, layer=Layer.CLUSTER,
        summary="The body-based router, which reads the model's name from requests, is down.",
        trigger=f"The body-based-router Deployment {SHARED_TRIGGER}", silent=SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs."
        + switch_off("bbr"), on_path=True, reads=(r.DEPLOYMENTS,)),
)  # fmt: skip
"""The reasons before those of the stacks' controllers."""

CLUSTER_AFTER_STACKS: Final[tuple[Reason, ...]] = (
    Reason(name=CLUSTER_STATUS_UNKNOWN, layer=Layer.CLUSTER,
        summary="The reporter cannot see something it needs, so parts of its report are missing. "
        "It is no cause in the stack, and is never the primary one.",
        trigger="A resource is forbidden, or could not be reached for 120 s, for longer than the "
        "grace; no metrics page of any pod can be read; the reporter failed on an object, so that "
        "a subject, or a reason, cannot be judged; or something else, such as a second "
        "installation, changed its Events three times within ten minutes.",
        silent="A kind that is not installed: it is absent, not unknown. Pods that a reporter "
        "outside of the cluster cannot reach: it does not scrape unless told to.",
        action="Do what the message says: it names what is to blame (credentials, permission, "
        "connection, pods) and a command. That a subject or a reason cannot be judged is a bug of "
        "the reporter: correct what is unusual about its objects, and report the bug.", chain=False,
        blocks_ready=True),
    Reason(name=CLUSTER_READY, layer=Layer.CLUSTER, type=EventType.NORMAL, says_ready=True,
        summary="The shared control plane works.",
        trigger="Every shared Deployment that is there or needed is available, and every CRD that "
        "is needed is served.",
        silent="A cluster without any of them, or where it cannot be read whether one is needed.",
        action="Nothing.", reads=(r.DEPLOYMENTS,), chain=False, blocks_ready=False),
)  # fmt: skip

HARNESS: Final[tuple[Reason, ...]] = (
    Reason(name=HARNESS_GATEWAY_CLASS, layer=Layer.HARNESS,
        summary="No controller has accepted the namespace's Gateway.",
        trigger="The GatewayClass that the Gateway names does not exist or is not Accepted, or the "
        "Gateway's own Accepted condition stays Unknown, or is False for NoMatchingParent, "
        "InvalidParameters or UnsupportedValue.",
        silent="Accepted=False for another reason, a new Gateway.",
        action="kubectl get gatewayclass, and compare with the Gateway's spec.gatewayClassName.",
        reads=(r.GATEWAYS, r.GATEWAYCLASSES)),
    Reason(name=HARNESS_GATEWAY_PROGRAMMING, layer=Layer.HARNESS,
        summary="The namespace's Gateway could not be programmed.",
        trigger="Programmed=False on the Gateway, or on a listener: Conflicted=True, "
        "ResolvedRefs=False or Programmed=False.", silent="Programmed=Unknown.",
        action="kubectl -n <namespace> describe gateway <name>; its conditions name the cause.",
        reads=(r.GATEWAYS,), grace_seconds=300,
        grace_note="An address that is still pending has --grace load-balancer."),
    Reason(name=HARNESS_GATEWAY_DATA_PLANE, layer=Layer.HARNESS,
        summary="The Gateway is programmed, but no pod of its data plane is Ready.",
        trigger="Programmed=True, and the Deployment made for the Gateway has no ready replica.",
        silent="A Gateway that is not Programmed, no such Deployment, terminating pods.",
        action="kubectl -n <namespace> describe pods -l "
        "gateway.networking.k8s.io/gateway-name=<gateway>",
        reads=(r.GATEWAYS, r.DEPLOYMENTS, r.PODS), grace_seconds=300),
    Reason(name=HARNESS_EXT_AUTHZ, layer=Layer.HARNESS,
        summary="Requests are sent to an authorization provider that does not exist.",
        trigger="An AuthorizationPolicy with action CUSTOM names a provider that MeshConfig does "
        "not define, or an ext_authz EnvoyFilter points to a Service that does not exist.",
        silent="A policy without provider, a MeshConfig that cannot be read.",
        action="Correct the provider's name, or install what it points to.",
        reads=(r.AUTHORIZATIONPOLICIES, r.ENVOYFILTERS, r.CONFIGMAPS, r.SERVICES)),
    Reason(name=HARNESS_API_KEY, layer=Layer.HARNESS,
        summary="The API key of the namespace was refused by its operator, or expired.",
        trigger="APIKey Ready=False, phase Expired, or phase Pending for longer than the grace.",
        silent="A new APIKey without conditions.",
        action="kubectl -n <namespace> describe apikey <name>", reads=(r.APIKEYS,)),
    Reason(name=HARNESS_CATCH_ALL, layer=Layer.HARNESS,
        summary="The catch-all filter for unknown models is not in effect.",
        trigger="The EnvoyFilter model-not-found-direct reports an error, or its workloadSelector "
        "does not match the pods of the namespace's Gateway.",
        silent="An empty status with a matching selector, a Gateway without pods, no such filter.",
        action="Compare the filter's spec.workloadSelector.labels with the Gateway's pod labels.",
        reads=(r.ENVOYFILTERS, r.GATEWAYS, r.PODS)),
    Reason(name=HARNESS_NETWORK_POLICY, layer=Layer.HARNESS,
        summary="The network policy of the inference pods names the wrong namespaces.",
        trigger="CiliumNetworkPolicy inference-pods-ingress names a namespace that does not exist "
        "(the chart's defaults are exempt), or does not admit the KEDA scaler's namespace.",
        silent="No Cilium, no policy, the chart's default namespaces.",
        action="Correct networkPolicy.allowedIngressNamespaces of the workload's chart.",
        reads=(r.CILIUMNETWORKPOLICIES, r.NAMESPACES, r.DEPLOYMENTS)),
    Reason(name=HARNESS_READY, layer=Layer.HARNESS, type=EventType.NORMAL, says_ready=True,
        summary="The entrance of a workload namespace works.",
        trigger="Every Gateway is programmed and its data plane has a ready replica.",
        action="Nothing.", reads=(r.GATEWAYS, r.DEPLOYMENTS), chain=False, blocks_ready=False),
)  # fmt: skip


class ReasonData(FilePart, frozen=True):
    """A row of a YAML file; `{word}` in its summary and action is replaced."""

    name: str
    summary: str
    trigger: str
    action: str
    silent: str = ""
    grace_note: str = ""
    grace_seconds: int | None = None
    stage: str = ""
    chain: bool = True
    type: EventType = EventType.WARNING


def reasons_of(
    rows: tuple[ReasonData, ...],
    of: SubjectKind,
    *,
    texts: Mapping[str, str],
    reads: tuple[AnyResource, ...],
) -> Iterator[Reason]:
    """Yield the reasons of a kind, in the order of the rows; `texts` are inserted."""
    for each in rows:
        yield row(
            f"{of}{each.name}",
            each.summary.format_map(texts),
            of=of,
            trigger=each.trigger,
            silent=each.silent,
            action=each.action.format_map(texts),
            reads=reads,
            grace_note=each.grace_note,
            grace_seconds=each.grace_seconds,
            stage=RequestStage[each.stage] if each.stage else None,
            chain=each.chain,
            type_=each.type,
        )
