"""Which firing reason hides which others, and why that is no mere correlation.

A row needs evidence that the downstream check has no valid input while the upstream is down
(sections 2.1 and 2.2 of the KAITO sheet).
"""

from dataclasses import dataclass
from typing import Final

from reporter.catalogue import reasons as c
from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.report import EventType
from reporter.model.resource import Resource


@dataclass(frozen=True, slots=True)
class SuppressionRow:
    """While `upstream` fires, `downstream` is suppressed.

    `crd` narrows a row of `clusterCRDMissing` to one CustomResourceDefinition.
    """

    upstream: str
    downstream: tuple[str, ...]
    why: str
    crd: str = ""


def _inferenceset_warnings() -> tuple[str, ...]:
    return tuple(
        reason.name
        for reason in c.REASONS
        if reason.name.startswith("inferenceset") and reason.type is EventType.WARNING
    )


def _crd(resource: Resource[KubeObject], *downstream: str, why: str = "") -> SuppressionRow:
    why = why or f"the API server cannot serve {resource.plural}"
    return SuppressionRow(c.CLUSTER_CRD_MISSING, downstream, why, crd=resource.crd_name)


SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
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
    SuppressionRow(
        c.CLUSTER_KAITO,
        (c.MODEL_INFRA, c.MODEL_PODS),
        "KAITO writes the conditions of Workspaces",
    ),
    SuppressionRow(
        c.CLUSTER_KAITO,
        (c.MODEL_NODE_PRESSURE,),
        "KAITO writes the text of NodesReady; pressure read from the node itself is not suppressed",
    ),
    SuppressionRow(
        c.CLUSTER_NODE_PROVISIONER,
        (c.MODEL_INFRA,),
        "without a provisioner, no progress is no evidence of a failure",
    ),
    _crd(r.APIKEYS, c.HARNESS_API_KEY),
    _crd(r.INFERENCESETS, *_inferenceset_warnings()),
    _crd(
        r.GATEWAYS,
        c.HARNESS_GATEWAY_CLASS,
        c.HARNESS_GATEWAY_PROGRAMMING,
        c.HARNESS_GATEWAY_DATA_PLANE,
    ),
    _crd(r.GATEWAYS, c.MODEL_ROUTE, why="no route can have a parent while no Gateway can exist"),
    _crd(r.HTTPROUTES, c.MODEL_ROUTE),
    _crd(r.INFERENCEPOOLS, c.MODEL_ROUTE),
    _crd(r.WORKSPACES, c.MODEL_INFRA, c.MODEL_PODS, c.MODEL_NODE_PRESSURE),
    _crd(r.ENVOYFILTERS, c.HARNESS_CATCH_ALL),
    _crd(r.AUTHORIZATIONPOLICIES, c.HARNESS_EXT_AUTHZ),
)


def upstreams_of(downstream: str) -> tuple[SuppressionRow, ...]:
    """Return the rows that can suppress a reason."""
    return tuple(row for row in SUPPRESSION if downstream in row.downstream)
