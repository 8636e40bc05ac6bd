"""What hides reasons of InferenceSets, and why that is no mere correlation."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.pickers import PICKER_NAMES
from reporter.catalogue.suppression import missing_kind, on_a_node
from reporter.model.reason import SuppressionRow
from reporter.stacks.kaito import reasons as k
from reporter.stacks.kaito.resources import INFERENCESETS, WORKSPACES

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    on_a_node(
        k.CLUSTER_KAITO,
        k.CLUSTER_NODE_PROVISIONER,
        k.CLUSTER_KEDA,
        k.CLUSTER_KEDA_SCALER,
        k.MODEL_PODS,
        k.MODEL_EPP,
        k.MODEL_NODE_PRESSURE,
    ),
    SuppressionRow(
        k.CLUSTER_KAITO,
        (k.MODEL_INFRA, k.MODEL_PODS),
        "KAITO writes the conditions of Workspaces",
    ),
    SuppressionRow(
        k.CLUSTER_KAITO,
        (k.MODEL_NODE_PRESSURE,),
        "KAITO writes the text of NodesReady; pressure read from the node itself is not suppressed",
    ),
    SuppressionRow(
        k.CLUSTER_NODE_PROVISIONER,
        (k.MODEL_INFRA,),
        "without a provisioner, a lack of progress is no evidence of a failure",
    ),
    # Pickers are looked for by their InferenceSets, and a longer row would leave a message no room.
    missing_kind(
        INFERENCESETS,
        *(
            each.name
            for each in k.REASONS
            if not each.says_ready and not each.name.endswith(PICKER_NAMES)
        ),
    ),
    missing_kind(
        r.GATEWAYS, k.MODEL_ROUTE, why="no route can have a parent while no Gateway can exist"
    ),
    missing_kind(r.HTTPROUTES, k.MODEL_ROUTE),
    missing_kind(r.INFERENCEPOOLS, k.MODEL_ROUTE),
    missing_kind(WORKSPACES, k.MODEL_INFRA, k.MODEL_PODS, k.MODEL_NODE_PRESSURE),
)
