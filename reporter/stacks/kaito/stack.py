"""KAITO: InferenceSets and the Workspaces that they are made of."""

from typing import TYPE_CHECKING, Final

from reporter.catalogue import needs as shared
from reporter.catalogue import resources as r
from reporter.model.stack import Controller, Need, RequiredKind, ScrapedPods, StackWords, need
from reporter.stacks.kaito import reasons
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings


ALL_INFERENCESETS: Final = need(
    reasons.INFERENCESETS,
    "InferenceSets",
    evidence="the KAITO controller makes a Workspace for each replica "
    "(kaito-project/kaito, InferenceSet, v0.12)",
)
ALL_WORKSPACES: Final = need(
    reasons.WORKSPACES,
    "Workspaces",
    evidence="the KAITO controller makes the pods of each (kaito-project/kaito, Workspace, v0.12)",
)
WORKSPACES_OF_SETS: Final = need(
    reasons.WORKSPACES,
    f"Workspaces with the label {reasons.MADE_WITH}",
    evidence="the InferenceSet that the label names made them "
    "(kaito-project/kaito, InferenceSet, v0.12)",
    shows=lambda workspace, _: workspace.metadata.label(reasons.MADE_WITH) is not None,
)
PODS_OF_SETS: Final = need(
    r.PODS,
    f"Pods with the label {reasons.MADE_WITH}",
    evidence="the InferenceSet that the label names made their Workspace "
    "(kaito-project/kaito, InferenceSet, v0.12)",
    shows=lambda pod, _: pod.metadata.label(reasons.MADE_WITH) is not None,
)
PROVISIONED_WORKSPACES: Final = need(
    reasons.WORKSPACES,
    "Workspaces with a condition NodeClaimReady",
    evidence="KAITO asks the provisioner for their nodes by NodeClaims "
    "(kaito-project/kaito, Workspace, v0.12)",
    shows=lambda workspace, _: workspace.status.condition("NodeClaimReady") is not None,
)
SCALED_OBJECTS: Final = need(
    r.SCALEDOBJECTS,
    "ScaledObjects",
    evidence="KEDA makes the HorizontalPodAutoscaler of each, and serves its metrics "
    "(keda.sh, Scaling Deployments)",
)
SCALED_INFERENCESETS: Final = need(
    reasons.INFERENCESETS,
    'InferenceSets with scaledobject.kaito.sh/auto-provision: "true"',
    evidence="the scaler makes a ScaledObject for each, with a ClusterTriggerAuthentication "
    "(kaito-project/keda-kaito-scaler, README)",
    shows=lambda inferenceset, _: inferenceset.scaling.auto_provision == "true",
    detail=lambda _: ", which asks for scaling",
)

OF_KAITO: Final[tuple[Need, ...]] = (ALL_INFERENCESETS, ALL_WORKSPACES)
OF_KEDA: Final[tuple[Need, ...]] = (SCALED_OBJECTS, SCALED_INFERENCESETS)


KEDA: Final = "keda"
KEDA_SCALER: Final = "keda-scaler"
NODE_PROVISIONER: Final = "node-provisioner"

_KEDA: Final = ("keda-operator", "keda-operator-metrics-apiserver")
"""Constants of KEDA's chart and add-on; its admission webhooks are not probed."""

_CONFIGURED: Final = ("kaito_deployment", "kaito_namespace")


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.kaito.settings import KaitoSettings

    return (KaitoSettings,)


def _probes() -> "StackProbes":
    from reporter.stacks.kaito.probes import PROBES

    return PROBES


KAITO: Final = Stack(
    name=reasons.STACK,
    project="KAITO",
    expected=True,
    resources=reasons.RESOURCES,
    cluster_reasons=reasons.CLUSTER_REASONS,
    reasons=reasons.REASONS,
    suppression=reasons.SUPPRESSION,
    controllers=(
        Controller(
            reason=reasons.CLUSTER_KAITO,
            deployment="kaito_deployment",
            images=("kaito/workspace",),
            leases=("ef60f9b0.io",),
            observes=True,
            namespaces="kaito_namespace",
            needs=OF_KAITO,
            governs=True,
        ),
        Controller(
            reason=reasons.CLUSTER_NODE_PROVISIONER,
            part=NODE_PROVISIONER,
            deployment="node_provisioner_name",
            leases=("karpenter-leader-election", "gpu-provisioner-leader-election"),
            namespaces="node_provisioner_namespace",
            needs=(PROVISIONED_WORKSPACES,),
            governs=True,
            with_stack=False,
        ),
        Controller(
            reason=reasons.CLUSTER_KEDA,
            part=KEDA,
            names=_KEDA,
            images=("kedacore/keda", "kedacore/keda-metrics-apiserver"),
            labels=(
                "app.kubernetes.io/name=keda-operator",
                "app.kubernetes.io/name=keda-operator-metrics-apiserver",
            ),
            leases=("operator.keda.sh",),
            namespaces="keda_namespace",
            needs=OF_KEDA,
            with_stack=False,
        ),
        Controller(
            reason=reasons.CLUSTER_KEDA_SCALER,
            part=KEDA_SCALER,
            deployment="keda_scaler_deployment",
            images=("keda-kaito-scaler",),
            leases=("keda-kaito-scaler",),
            namespaces="keda_scaler_namespace",
            needs=(SCALED_INFERENCESETS,),
            with_stack=False,
            reads_pods=True,
        ),
    ),
    required=(
        RequiredKind(
            crd=reasons.INFERENCESETS.crd_name,
            owner="KAITO",
            settings=_CONFIGURED,
            needs=(WORKSPACES_OF_SETS, PODS_OF_SETS),
            of=(KEDA_SCALER,),
        ),
        RequiredKind(
            crd=reasons.WORKSPACES.crd_name,
            owner="KAITO",
            settings=_CONFIGURED,
            needs=(ALL_INFERENCESETS,),
            of=(reasons.STACK,),
        ),
        RequiredKind(
            crd=r.INFERENCEPOOLS.crd_name,
            owner="Gateway API Inference Extension",
            instead=(r.FORMER_POOLS.crd_name,),
            settings=_CONFIGURED,
            needs=(shared.ROUTES_TO_POOLS, shared.DEPLOYMENTS_OF_MODELS),
            only_needed=True,
        ),
        *(
            RequiredKind(
                crd=crd,
                owner="KEDA",
                part=KEDA,
                settings=("keda_namespace",),
                needs=(SCALED_INFERENCESETS,),
                of=(part,),
                with_stack=False,
            )
            for crd, part in (
                (r.SCALEDOBJECTS.crd_name, KEDA),
                ("clustertriggerauthentications.keda.sh", KEDA_SCALER),
            )
        ),
    ),
    scraped=ScrapedPods(
        kind=reasons.INFERENCESET_KIND,
        label=reasons.MADE_WITH,
        not_ready=reasons.MODEL_PODS,
    ),
    pickers=reasons.PICKERS,
    made_with=reasons.MADE_WITH,
    words=StackWords(
        derived="nothing: findings come from the objects as they are",
        required="Deployment `kaito-workspace`",
    ),
    settings=_settings,
    probes=_probes,
)
