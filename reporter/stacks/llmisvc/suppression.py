"""What hides reasons of LLMInferenceServices, and why that is no mere correlation.

Probes mark as independent what an upstream does not explain: a Deployment needs no LeaderWorkerSet
controller, a Gateway of another class no Istio, and a kind that no other part misses is told here.
"""

from typing import Final

from reporter.catalogue import reasons as c
from reporter.catalogue import resources as r
from reporter.catalogue.suppression import missing_kind, on_a_node, seen_on_objects
from reporter.model.reason import SuppressionRow
from reporter.stacks.llmisvc import reasons as i
from reporter.stacks.llmisvc.resources import LLMS

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    on_a_node(i.CLUSTER_LLMISVC, i.CLUSTER_LWS, i.PODS_NOT_READY, i.EPP_NOT_READY),
    SuppressionRow(
        i.CLUSTER_LLMISVC,
        i.NEEDS_CONTROLLER,
        "llmisvc-controller-manager writes the status of LLMInferenceServices and makes their objects",
    ),
    SuppressionRow(
        i.CLUSTER_LWS,
        (i.PODS_NOT_CREATED, i.ROLLOUT_STUCK),
        "the LeaderWorkerSet controller makes the StatefulSets of each group",
    ),
    SuppressionRow(
        c.CLUSTER_ISTIO,
        (i.GATEWAY_NOT_READY, i.ROUTE_NOT_READY, i.POOL_NOT_READY),
        "istiod writes the status of Gateways of its classes, of their routes and their pools",
    ),
    missing_kind(LLMS, *seen_on_objects(i.REASONS)),
    *(
        missing_kind(each, i.DEPENDENCY_MISSING)
        for each in (r.INFERENCEPOOLS, r.HTTPROUTES, r.GATEWAYS)
    ),
)
