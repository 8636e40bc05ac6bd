"""What shows that a cluster needs KAITO and the parts that come with it."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.model.stack import Need, need
from reporter.stacks.kaito.objects import InferenceSet
from reporter.stacks.kaito.resources import INFERENCESETS, MADE_WITH, WORKSPACES


def _scales(inferenceset: InferenceSet) -> bool:
    return inferenceset.metadata.annotation("scaledobject.kaito.sh/auto-provision") == "true"


ALL_INFERENCESETS: Final = need(
    INFERENCESETS,
    "InferenceSets",
    evidence="the KAITO controller makes a Workspace for each replica "
    "(kaito-project/kaito, InferenceSet, v0.12)",
)
ALL_WORKSPACES: Final = need(
    WORKSPACES,
    "Workspaces",
    evidence="the KAITO controller makes the pods of each (kaito-project/kaito, Workspace, v0.12)",
)
WORKSPACES_OF_SETS: Final = need(
    WORKSPACES,
    f"Workspaces with the label {MADE_WITH}",
    evidence="the InferenceSet that the label names made them "
    "(kaito-project/kaito, InferenceSet, v0.12)",
    shows=lambda workspace, _: workspace.metadata.label(MADE_WITH) is not None,
)
PODS_OF_SETS: Final = need(
    r.PODS,
    f"Pods with the label {MADE_WITH}",
    evidence="the InferenceSet that the label names made their Workspace "
    "(kaito-project/kaito, InferenceSet, v0.12)",
    shows=lambda pod, _: pod.metadata.label(MADE_WITH) is not None,
)
PROVISIONED_WORKSPACES: Final = need(
    WORKSPACES,
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
    INFERENCESETS,
    'InferenceSets with scaledobject.kaito.sh/auto-provision: "true"',
    evidence="the scaler makes a ScaledObject for each, with a ClusterTriggerAuthentication "
    "(kaito-project/keda-kaito-scaler, README)",
    shows=lambda inferenceset, _: _scales(inferenceset),
    detail=lambda _: ", which asks for scaling",
)

OF_KAITO: Final[tuple[Need, ...]] = (ALL_INFERENCESETS, ALL_WORKSPACES)
OF_KEDA: Final[tuple[Need, ...]] = (SCALED_OBJECTS, SCALED_INFERENCESETS)
