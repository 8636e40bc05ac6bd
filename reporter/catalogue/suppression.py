"""Which firing reason hides which others, whatever stacks there are, and why that is no correlation.

A row needs evidence that the downstream check has no valid input while the upstream is down. The rows
that a stack's reasons are in are in its folder.
"""

from typing import Final

from reporter.catalogue import reasons as c
from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import Resource


def missing_kind(resource: Resource[KubeObject], *downstream: str, why: str = "") -> SuppressionRow:
    """Return the row of a CustomResourceDefinition that is missing."""
    why = why or f"the API server cannot serve {resource.plural}"
    return SuppressionRow(c.CLUSTER_CRD_MISSING, downstream, why, crd=resource.crd_name)


def seen_on_objects(reasons: tuple[Reason, ...]) -> tuple[str, ...]:
    """Return the faults among some reasons that are read from objects: few enough for one message."""
    return tuple(
        each.name for each in reasons if not each.says_ready and each.window_seconds is None
    )


def on_a_node(*downstream: str) -> SuppressionRow:
    """Return the row of a node at fault: it explains each fault of these reasons that rests on it."""
    return SuppressionRow(
        c.CLUSTER_NODE,
        downstream,
        "no pod runs on a node that is lost, and one that the scheduler keeps from a node cannot start",
    )


SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    on_a_node(c.CLUSTER_ISTIO, c.CLUSTER_GATEWAY_AUTH, c.CLUSTER_BBR, c.HARNESS_GATEWAY_DATA_PLANE),
    SuppressionRow(
        c.CLUSTER_ISTIO,
        (c.HARNESS_GATEWAY_CLASS, c.HARNESS_GATEWAY_PROGRAMMING),
        "istiod writes the Accepted and Programmed conditions of Gateways",
    ),
    SuppressionRow(
        c.CLUSTER_GATEWAY_AUTH,
        (c.HARNESS_API_KEY, c.HARNESS_EXT_AUTHZ),
        "apikey-operator writes the status of APIKeys and owns the provider",
    ),
    missing_kind(r.APIKEYS, c.HARNESS_API_KEY),
    missing_kind(
        r.GATEWAYS,
        c.HARNESS_GATEWAY_CLASS,
        c.HARNESS_GATEWAY_PROGRAMMING,
        c.HARNESS_GATEWAY_DATA_PLANE,
    ),
    missing_kind(r.ENVOYFILTERS, c.HARNESS_CATCH_ALL),
    missing_kind(r.AUTHORIZATIONPOLICIES, c.HARNESS_EXT_AUTHZ),
)
