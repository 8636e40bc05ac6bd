"""inferencesetReady: positive evidence that a model serves (design 5.7)."""

from collections.abc import Iterator

from reporter.catalogue.reasons import MODEL_READY
from reporter.catalogue.resources import (
    DEPLOYMENTS,
    HTTPROUTES,
    INFERENCEPOOLS,
    INFERENCESETS,
    PODS,
    WORKSPACES,
)
from reporter.model.finding import ReadyEvidence
from reporter.model.objects import InferenceSet, Pod
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.probes.epp import epp_fault
from reporter.stacks.kaito.probes.scope import (
    epp_name,
    live_workspaces,
    model_pods,
    pods_of,
    routes_of,
    subject_of,
    wants_traffic,
)
from reporter.workload.deployment import is_available
from reporter.workload.namespaces import namespace_ref
from reporter.workload.pod import counts, is_ready
from reporter.workload.routing import is_accepted


def probe_ready(inferenceset: InferenceSet, snapshot: Snapshot) -> Iterator[ReadyEvidence]:
    """Yield evidence if every wanted replica is ready and requests reach them.

    Nothing is concluded while anything that it rests on is unknown.
    """
    place = inferenceset.namespace
    rests_on = (WORKSPACES, PODS, DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)
    if not all(snapshot.absence_known(each, place) for each in rests_on):
        return
    pods = model_pods(inferenceset, snapshot)
    workspaces = live_workspaces(inferenceset, snapshot)
    if sum(_is_served(pods_of(each, pods)) for each in workspaces) < inferenceset.wanted:
        return
    parts = [_count(inferenceset)]
    if wants_traffic(inferenceset, snapshot):
        if not (_has_epp(inferenceset, snapshot) and _has_route(inferenceset, snapshot)):
            return
        parts += ["endpoint picker available", "route accepted"]
    title = f"InferenceSet {place}/{inferenceset.name}"
    yield ReadyEvidence(
        reason=MODEL_READY,
        subject=subject_of(inferenceset),
        involved=namespace_ref(snapshot, place),
        related=INFERENCESETS.ref(inferenceset),
        message=cut(clean(f"{title} is ready: {', '.join(parts)}"), MESSAGE_BYTES),
    )


def _count(inferenceset: InferenceSet) -> str:
    wanted = inferenceset.wanted
    return f"{wanted}/{wanted} replicas ready" if wanted else "0 replicas wanted"


def _is_served(pods: tuple[Pod, ...]) -> bool:
    """Tell whether a replica is ready: it has pods, and all of them are Ready."""
    standing = [each for each in pods if counts(each)]
    return bool(standing) and all(map(is_ready, standing))


def _has_epp(inferenceset: InferenceSet, snapshot: Snapshot) -> bool:
    deployment = snapshot[DEPLOYMENTS].get(inferenceset.namespace, epp_name(inferenceset))
    if deployment is None or not is_available(deployment):
        return False
    return epp_fault(inferenceset, snapshot) is None


def _has_route(inferenceset: InferenceSet, snapshot: Snapshot) -> bool:
    routes = routes_of(inferenceset, snapshot)
    return bool(routes) and all(map(is_accepted, routes))
