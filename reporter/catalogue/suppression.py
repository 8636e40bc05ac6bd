"""Which firing reason suppresses which others, for all stacks, and the evidence for each row.

A correlation is not enough: the downstream check must have no valid input while the upstream is
down. Rows with a stack's reasons are in the stack's folder.

Rows for faults of pods need the same evidence, but apply within one pod and not to everything that
a component governs.
"""

from typing import Final

from reporter.catalogue import pickers as p
from reporter.catalogue import reasons as c
from reporter.catalogue import resources as r
from reporter.catalogue import runtime as t
from reporter.model.reason import Reason, SuppressionRow
from reporter.model.resource import AnyResource
from reporter.model.subject import SubjectKind


def missing_kind(resource: AnyResource, *downstream: str, why: str = "") -> SuppressionRow:
    why = why or f"the API server cannot serve {resource.plural}"
    return SuppressionRow(c.CLUSTER_CRD_MISSING, downstream, why, crd=resource.crd_name)


def seen_on_objects(reasons: tuple[Reason, ...]) -> tuple[str, ...]:
    """Return the names of faults that are read from objects: few enough for a message."""
    return tuple(e.name for e in reasons if not e.says_ready and e.window_seconds is None)


def of_pods(
    *downstream: str, on_a_node: tuple[str, ...] = (), at_one_object: tuple[str, ...] = ()
) -> tuple[SuppressionRow, SuppressionRow]:
    """Return the rows by which a faulty node, and an object that several need, suppress these
    reasons about pods. `on_a_node` and `at_one_object` are suppressed by one of the two only.

    Only faults that depend on that node or object are suppressed.
    """
    return (
        SuppressionRow(
            c.CLUSTER_NODE,
            (*downstream, *on_a_node),
            "no pod runs on a node that is lost, and one that the scheduler keeps from a node "
            "cannot start",
        ),
        SuppressionRow(
            c.CLUSTER_SHARED,
            (*downstream, *at_one_object),
            "the diagnosis of each of these faults names that object, so none ends before it is "
            "mended",
        ),
    )


_OF_PODS: Final = (
    c.CLUSTER_ISTIO, c.CLUSTER_GATEWAY_AUTH, c.CLUSTER_BBR, c.HARNESS_GATEWAY_DATA_PLANE,
)  # fmt: skip

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    *of_pods(*_OF_PODS),
    SuppressionRow(c.CLUSTER_ISTIO, (c.HARNESS_GATEWAY_CLASS, c.HARNESS_GATEWAY_PROGRAMMING),
        "istiod writes the Accepted and Programmed conditions of Gateways"),
    SuppressionRow(c.CLUSTER_GATEWAY_AUTH, (c.HARNESS_API_KEY, c.HARNESS_EXT_AUTHZ),
        "apikey-operator writes the status of APIKeys and owns the provider"),
    missing_kind(r.APIKEYS, c.HARNESS_API_KEY),
    missing_kind(r.GATEWAYS, c.HARNESS_GATEWAY_CLASS, c.HARNESS_GATEWAY_PROGRAMMING,
        c.HARNESS_GATEWAY_DATA_PLANE),
    missing_kind(r.ENVOYFILTERS, c.HARNESS_CATCH_ALL),
    missing_kind(r.AUTHORIZATIONPOLICIES, c.HARNESS_EXT_AUTHZ),
)  # fmt: skip


_OF_SERVING: Final = (
    t.METRICS_MISSING, t.ENGINE_UNHEALTHY, t.ENGINE_STALLED, t.ENGINE_RESTARTING,
    t.OUTPUT_CORRUPTED, t.KV_CACHE, t.BACKLOG, t.PREEMPTION, t.ERROR_RATE, t.REJECTED, t.LATENCY,
)  # fmt: skip
_OF_PAGES: Final = (*_OF_SERVING, t.KV_TRANSFER, t.SCHEDULER_STUCK)


_NOT_READY: Final = "not ready"
"""Placeholder for a stack's own reason for pods that are not Ready."""

_ROWS: Final[tuple[SuppressionRow, ...]] = (
    SuppressionRow(_NOT_READY, (t.SCRAPE_FAILING, *_OF_PAGES),
        "a pod that is not Ready is not in service"),
    SuppressionRow(t.DOWNLOAD_SLOW, (t.SCRAPE_FAILING, *_OF_SERVING),
        "the pod still loads its weights"),
    SuppressionRow(t.DOWNLOAD_STALLED, (t.SCRAPE_FAILING, *_OF_SERVING),
        "the pod still loads its weights"),
    SuppressionRow(t.DOWNLOAD_STALLED, (t.DOWNLOAD_SLOW,),
        "a download that is stalled is slow too"),
    SuppressionRow(t.SCRAPE_FAILING, _OF_PAGES, "there are no metrics to judge"),
    SuppressionRow(t.ENGINE_UNHEALTHY, (t.ENGINE_STALLED,),
        "it is the same fault, with better evidence"),
    SuppressionRow(t.ENGINE_STALLED,
        (t.KV_CACHE, t.BACKLOG, t.PREEMPTION, t.ERROR_RATE, t.REJECTED, t.LATENCY),
        "the gauges of an engine that makes no steps are frozen"),
    SuppressionRow(t.KV_TRANSFER, (t.ERROR_RATE, t.SCHEDULER_STUCK),
        "requests whose KV cache does not arrive wait, or fail"),
    SuppressionRow(t.KV_CACHE, (t.PREEMPTION, t.LATENCY),
        "a full cache makes requests wait and preempts them"),
    SuppressionRow(t.BACKLOG, (t.LATENCY,),
        "requests that wait in a growing queue are answered late"),
)  # fmt: skip


PICKER_ROWS: Final = (
    SuppressionRow(p.NO_ENDPOINTS, (p.STALE_METRICS, p.SCHEDULING_FAILING, p.SHEDDING),
        "without an endpoint it has nothing to choose from"),
    SuppressionRow(p.STALE_METRICS, (p.SHEDDING,),
        "endpoints with stale metrics count as full, so that it refuses early"),
)  # fmt: skip
"""The same between faults of one endpoint picker."""


def pod_rows_of(
    kind: SubjectKind, not_ready: str, rows: tuple[SuppressionRow, ...] = _ROWS
) -> tuple[SuppressionRow, ...]:
    """Return the rows for subjects of a kind; `not_ready` replaces the placeholder."""
    return tuple(
        SuppressionRow(
            not_ready if row.upstream == _NOT_READY else t.of_kind(row.upstream, kind),
            tuple(t.of_kind(each, kind) for each in row.downstream),
            row.why,
        )
        for row in rows
    )
