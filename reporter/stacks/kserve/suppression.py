"""What hides reasons of InferenceServices, and why that is no mere correlation."""

from typing import Final

from reporter.catalogue.suppression import missing_kind, on_a_node, seen_on_objects
from reporter.model.reason import SuppressionRow
from reporter.stacks.kserve import reasons as i
from reporter.stacks.kserve.resources import INFERENCESERVICES

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    on_a_node(i.CLUSTER_KSERVE, i.CLUSTER_KNATIVE, i.PODS_NOT_READY),
    SuppressionRow(
        i.CLUSTER_KSERVE,
        i.NEEDS_KSERVE,
        "the KServe controller writes the status of InferenceServices and makes what they need",
    ),
    SuppressionRow(
        i.CLUSTER_KNATIVE,
        i.NEEDS_KNATIVE,
        "the Knative controller makes revisions and moves traffic",
    ),
    missing_kind(INFERENCESERVICES, *seen_on_objects(i.REASONS)),
)
