"""The resources read for KAITO only, the reasons of its production stack (shared parts,
InferenceSets and Workspaces), and which causes hide them.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.pickers import PICKER_NAMES, picker_rows_of
from reporter.catalogue.reasons import (
    SHARED_SILENT,
    SHARED_TRIGGER,
    ready_row,
    row,
    switch_off,
)
from reporter.catalogue.runtime import rows_of
from reporter.catalogue.suppression import missing_kind, of_pods
from reporter.model.objects import KubeObject
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import Resource
from reporter.model.stack import ScrapedPickers
from reporter.model.subject import Layer, RequestStage, SubjectKind
from reporter.stacks.kaito import objects

STACK: Final = "kaito"
"""Its name in `--stacks`."""

INFERENCESET_KIND: Final = SubjectKind("inferenceset")
WORKSPACE_KIND: Final = SubjectKind("workspace")

INFERENCESETS: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="inferencesets",
    kind="InferenceSet", namespaced=True, custom=True,
    type=objects.InferenceSet, purpose="the deployments of models, and their scaling settings",
    stack=STACK, subject_kind=INFERENCESET_KIND,
)  # fmt: skip
WORKSPACES: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="workspaces", kind="Workspace",
    namespaced=True, custom=True,
    type=objects.Workspace, purpose="node provisioning and inference conditions",
    stack=STACK, subject_kind=WORKSPACE_KIND,
)  # fmt: skip
RAGENGINES: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="ragengines", kind="RAGEngine",
    namespaced=True, custom=True,
    type=KubeObject, purpose="RAGEngines, which are counted and not judged",
    stack=STACK, seldom=True, unjudged=True,
)  # fmt: skip
"""From a separate chart (kaito-project/kaito, config/crd/bases/kaito.sh_ragengines.yaml)."""
RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (INFERENCESETS, WORKSPACES, RAGENGINES)
"""In the order of the ClusterRole."""

MADE_WITH: Final = "inferenceset.kaito.sh/created-by"
"""Label of an InferenceSet's Workspaces and of their pods; its value is the InferenceSet's name."""


_SCALING_SETTINGS: Final = (
    "kubectl -n <namespace> get inferenceset.kaito.sh <name> -o jsonpath='{.metadata.annotations}'"
)

CLUSTER_KAITO: Final = "clusterKaitoControllerNotReady"
CLUSTER_NODE_PROVISIONER: Final = "clusterNodeProvisionerNotReady"
CLUSTER_KEDA: Final = "clusterKedaNotReady"
CLUSTER_KEDA_SCALER: Final = "clusterKedaKaitoScalerNotReady"
MODEL_SCALING: Final = "inferencesetScalingMisconfigured"
MODEL_INFRA: Final = "inferencesetInfraProvisioningFailed"
MODEL_PODS: Final = "inferencesetModelPodsNotReady"
MODEL_ROUTE: Final = "inferencesetRouteNotReady"
MODEL_EPP: Final = "inferencesetEPPNotReady"
MODEL_NODE_PRESSURE: Final = "inferencesetNodeUnderPressure"
MODEL_READY: Final = "inferencesetReady"

CLUSTER_REASONS: Final[tuple[Reason, ...]] = (
    Reason(
        name=CLUSTER_KAITO,
        layer=Layer.CLUSTER,
        summary="The KAITO workspace controller, which runs the models, is not available.",
        trigger=f"The kaito-workspace Deployment {SHARED_TRIGGER}",
        silent=SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs. While it "
        "is down, the conditions of Workspaces are frozen: do not trust them."
        + switch_off("kaito"),
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_NODE_PROVISIONER,
        layer=Layer.CLUSTER,
        summary="The node provisioner, which creates GPU nodes, is not available.",
        trigger=f"The Deployment named by --node-provisioner-name {SHARED_TRIGGER}",
        silent=f"{SHARED_SILENT} No provisioner configured.",
        action="Look at the Deployment that the message names, its pods and their logs."
        + switch_off("node-provisioner"),
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_KEDA,
        layer=Layer.CLUSTER,
        summary="KEDA, which scales the models, is not available.",
        trigger=f"keda-operator or keda-operator-metrics-apiserver {SHARED_TRIGGER}",
        silent=SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs."
        + switch_off("keda"),
        reads=(r.DEPLOYMENTS,),
    ),
    Reason(
        name=CLUSTER_KEDA_SCALER,
        layer=Layer.CLUSTER,
        summary="The KAITO scaler of KEDA is not available, or KEDA rejects its ScaledObjects.",
        trigger=f"The keda-kaito-scaler Deployment {SHARED_TRIGGER} Or a ScaledObject that the "
        "scaler made has Ready=False.",
        silent=f"{SHARED_SILENT} ScaledObjects that are paused, inactive or in fallback.",
        action="Look at the object that the message names: kubectl describe it."
        + switch_off("keda-scaler"),
        reads=(r.DEPLOYMENTS, r.SCALEDOBJECTS),
        also_reads=((r.SCALEDOBJECTS, (INFERENCESETS, r.NAMESPACES)),),
    ),
)

_SETS: Final = (INFERENCESETS, WORKSPACES)
_POOLS: Final = (r.INFERENCEPOOLS, r.FORMER_POOLS)
_row = partial(row, of=INFERENCESET_KIND)

_OF_SETS: Final[tuple[Reason, ...]] = (
    replace(
        _row(
            MODEL_SCALING,
            "The scaling settings of the InferenceSet can never work.",
            trigger='Scaling is on (scaledobject.kaito.sh/auto-provision: "true") and: maximum '
            "below minimum or below spec.replicas, a value the scaler refuses, a threshold of 0 or "
            "less.",
            silent="Scaling that is off. A scaler that is absent, which "
            "clusterKedaKaitoScalerNotReady reports.",
            action="Correct the scaledobject.kaito.sh/ annotations of the InferenceSet.",
            reads=(INFERENCESETS,),
            grace_note="Fires at once: it stays wrong until somebody corrects it.",
        ),
        look=(_SCALING_SETTINGS,),
        slows_only=True,
    ),
    _row(
        MODEL_INFRA,
        "The nodes for the model cannot be provisioned.",
        trigger="A Workspace's NodeClaimReady is False with a cloud error, or stays in a boot "
        "state for longer than the budget, or its nodes stay without device plugin.",
        silent="Boot states within the budget.",
        action="Read the reason: for quota and capacity errors ask the cloud provider, or choose "
        "another instance type or region.",
        reads=_SETS,
        grace_seconds=180,
        grace_note="SKUNotAvailable fires at once. Boot states have --grace node-boot.",
    ),
    _row(
        MODEL_PODS,
        "Replicas of the model do not run, or run without becoming Ready.",
        trigger="A model pod's container waits or ended in an error, the pod is unschedulable, "
        "evicted or on a dead node, start-up takes longer than its budget, a replica lacks pods, "
        "the API server refuses what KAITO makes for it, or a Workspace's InferenceReady is False "
        "with a cause.",
        silent="Pods that start within their budget, past crashes of a pod that is Ready again.",
        action="kubectl -n <namespace> describe pod <pod>, and its logs (--previous after a "
        "crash).",
        reads=(*_SETS, r.PODS, r.NODES),
        grace_note="Fire at once: InvalidImageName, ErrImageNeverPull, CrashLoopBackOff, failed "
        "benchmarks, invalid specs and streaming configuration. Start-up has "
        "--grace model-startup or the start-up probe's own budget; volumes, "
        "network and sandbox have 300 s.",
    ),
    _row(
        MODEL_ROUTE,
        "Requests for the model do not reach its pool.",
        stage=RequestStage.ROUTING,
        trigger="The HTTPRoute or the InferencePool is not accepted or not resolved by a parent, "
        "its Gateway is gone, it has no parents, the pool selects no pod, or the Service that it "
        "names for its endpoint picker does not exist.",
        silent="Unknown conditions, a new route, entries of other controllers. A Service that is "
        "missing together with the chart's Deployment, which inferencesetEPPNotReady reports.",
        action="kubectl -n <namespace> describe httproute <name>; its parents name the cause.",
        reads=(*_SETS, r.HTTPROUTES, *_POOLS, r.GATEWAYS, r.DEPLOYMENTS, r.PODS),
        also_reads=((r.INFERENCEPOOLS, (r.SERVICES,)),),
    ),
    _row(
        MODEL_EPP,
        "The endpoint picker of the model is not available.",
        stage=RequestStage.PICKER,
        trigger="The endpoint picker that endpointPickerRef of the InferencePool names, by default "
        "Deployment <inferenceset>-inferencepool-epp, is missing, scaled to zero, or has fewer "
        "ready replicas than wanted.",
        silent="An InferenceSet that the chart did not create, without InferencePool and "
        "HTTPRoute.",
        action="Look at the Deployment that the message names, its pods and their logs.",
        reads=(*_SETS, r.DEPLOYMENTS, r.PODS, *_POOLS, r.HTTPROUTES),
    ),
    *picker_rows_of(INFERENCESET_KIND, chain=True, reads=(INFERENCESETS, r.PODS)),
    _row(
        MODEL_NODE_PRESSURE,
        "A node of the model is short of disk, memory or processes.",
        trigger="DiskPressure, MemoryPressure or PIDPressure of a node that runs the model, or "
        "a Workspace that reports it for a node that cannot be read.",
        action="kubectl describe node <node>; free the resource before the kubelet evicts pods.",
        reads=(*_SETS, r.PODS, r.NODES),
        grace_seconds=30,
        chain=False,
    ),
    *rows_of(INFERENCESET_KIND, reads=(INFERENCESETS, r.PODS)),
    *picker_rows_of(INFERENCESET_KIND, chain=False, reads=(INFERENCESETS, r.PODS)),
    ready_row(
        MODEL_READY,
        "A model serves: all wanted replicas are ready and requests reach them.",
        of=INFERENCESET_KIND,
        trigger="Every wanted replica is ready, the endpoint picker is available and the route is "
        "accepted, where the model has them.",
        reads=(*_SETS, r.PODS, r.DEPLOYMENTS),
    ),
)
"""Of InferenceSets, in the order of the priority chain."""


def named(reason: str, kind: SubjectKind) -> str:
    """Return the name that a reason of InferenceSets has for subjects of a kind."""
    return f"{kind}{reason.removeprefix(INFERENCESET_KIND)}"


def _of_workspace(reason: Reason) -> Reason:
    """Return the row for a Workspace that no InferenceSet made."""
    return replace(
        reason,
        name=named(reason.name, WORKSPACE_KIND),
        of=WORKSPACE_KIND,
        reads=tuple(each for each in reason.reads if each is not INFERENCESETS),
    )


OF_WORKSPACES: Final = (MODEL_INFRA, MODEL_PODS, MODEL_NODE_PRESSURE, MODEL_READY)
"""The reasons that Workspaces without an InferenceSet have too, by their InferenceSet names."""

REASONS: Final[tuple[Reason, ...]] = (
    *_OF_SETS,
    *(_of_workspace(each) for each in _OF_SETS if each.name in OF_WORKSPACES),
)


def _both(*reasons: str) -> tuple[str, ...]:
    """Return reasons of InferenceSets, and the same reasons of Workspaces."""
    return (*reasons, *(named(each, WORKSPACE_KIND) for each in reasons))


SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    *of_pods(
        *(CLUSTER_KAITO, CLUSTER_NODE_PROVISIONER, CLUSTER_KEDA, CLUSTER_KEDA_SCALER),
        *(MODEL_EPP, *_both(MODEL_PODS)),
        on_a_node=_both(MODEL_NODE_PRESSURE),
    ),
    # A message names a whole row, so Workspaces without an InferenceSet have rows of their own.
    *(
        SuppressionRow(upstream, tuple(named(each, kind) for each in downstream), why)
        for kind in (INFERENCESET_KIND, WORKSPACE_KIND)
        for upstream, downstream, why in (
            (CLUSTER_KAITO, (MODEL_INFRA, MODEL_PODS), "KAITO writes the conditions of Workspaces"),
            (
                CLUSTER_KAITO,
                (MODEL_NODE_PRESSURE,),
                (
                    "KAITO writes the text of NodesReady; pressure read from the node itself "
                    "is not suppressed"
                ),
            ),
            (
                CLUSTER_NODE_PROVISIONER,
                (MODEL_INFRA,),
                "without a provisioner, a lack of progress is no evidence of a failure",
            ),
        )
    ),
    # Pickers are found through their InferenceSets, and a longer row would not fit in a message.
    missing_kind(
        INFERENCESETS,
        *(
            each.name
            for each in _OF_SETS
            if not each.says_ready and not each.name.endswith(PICKER_NAMES)
        ),
    ),
    missing_kind(
        r.GATEWAYS, MODEL_ROUTE, why="no route can have a parent while no Gateway can exist"
    ),
    missing_kind(r.HTTPROUTES, MODEL_ROUTE),
    missing_kind(r.INFERENCEPOOLS, MODEL_ROUTE),
    missing_kind(WORKSPACES, *_both(MODEL_INFRA, MODEL_PODS, MODEL_NODE_PRESSURE)),
)

PICKERS: Final = ScrapedPickers(
    kind=INFERENCESET_KIND, label="inferencepool", value="{}-inferencepool-epp".format, pools=_POOLS
)
"""Of the chart inferencepool (kubernetes-sigs/gateway-api-inference-extension,
config/charts/inferencepool/templates/_helpers.tpl), installed as `<inferenceset>-inferencepool`."""
