"""Which firing reason hides which others, and why that is no mere correlation.

A row needs evidence that the downstream check has no valid input while the upstream is down
(sections 2.1 and 2.2 of the KAITO sheet).
"""

from typing import Final

from reporter.catalogue import reasons as c
from reporter.catalogue import resources as r
from reporter.model.catalogue import SuppressionRow
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.kserve.reasons import NEEDS_KNATIVE, NEEDS_KSERVE
from reporter.stacks.kthena.reasons import NEEDS_CONTROLLER
from reporter.stacks.otterscale.reasons import NEEDS_OPERATOR, ROUTE


def _warnings_of(kind: SubjectKind) -> tuple[str, ...]:
    return tuple(
        reason.name for reason in c.REASONS if reason.subject_kind is kind and not reason.says_ready
    )


def _seen_on_objects(kind: SubjectKind) -> tuple[str, ...]:
    """Return the reasons of a kind that are read from objects, few enough for one message."""
    return tuple(each for each in _warnings_of(kind) if c.BY_NAME[each].window_seconds is None)


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
    _crd(r.INFERENCESETS, *_warnings_of(SubjectKind.INFERENCESET)),
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
    SuppressionRow(
        c.CLUSTER_KTHENA,
        NEEDS_CONTROLLER,
        "the Kthena controller makes the pods of ModelServings and replaces old ones",
    ),
    _crd(r.MODELSERVINGS, *_seen_on_objects(SubjectKind.MODELSERVING)),
    SuppressionRow(
        c.CLUSTER_KSERVE,
        NEEDS_KSERVE,
        "the KServe controller writes the status of InferenceServices and makes what they need",
    ),
    SuppressionRow(
        c.CLUSTER_KNATIVE,
        NEEDS_KNATIVE,
        "the Knative controller makes revisions and moves traffic",
    ),
    _crd(r.INFERENCESERVICES, *_seen_on_objects(SubjectKind.INFERENCESERVICE)),
    SuppressionRow(
        c.CLUSTER_OTTERSCALE,
        NEEDS_OPERATOR,
        "the model operator makes the objects of ModelServices and writes their status",
    ),
    _crd(r.MODELSERVICES, *_seen_on_objects(SubjectKind.MODELSERVICE)),
    _crd(r.GATEWAYS, ROUTE, why="no route can have a parent while no Gateway can exist"),
    _crd(r.HTTPROUTES, ROUTE),
    _crd(r.INFERENCEPOOLS, ROUTE),
)
