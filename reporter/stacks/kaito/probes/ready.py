"""inferencesetReady: positive evidence that a model serves."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import ReadyEvidence
from reporter.model.objects import Pod
from reporter.stacks.kaito.objects import InferenceSet, Workspace
from reporter.stacks.kaito.probes.epp import has_pickers
from reporter.stacks.kaito.probes.scope import InferenceSetScope, pods_of, wanted_pods
from reporter.stacks.kaito.reasons import MODEL_READY
from reporter.stacks.kaito.resources import WORKSPACES
from reporter.workload.pod import counts, is_ready
from reporter.workload.routing import is_accepted


def probe_ready(scope: InferenceSetScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if every wanted replica is ready and requests reach them.

    Nothing is concluded while anything that it rests on is unknown.
    """
    rests_on = (
        *((each, scope.made) for each in (WORKSPACES, PODS)),
        *((each, scope.charted) for each in (DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)),
    )
    for resource, sought in rests_on:
        if not scope.snapshot.absence_known(resource, scope.place, sought=sought):
            return
    pods = scope.pods
    workspaces = scope.workspaces
    if (
        sum(_is_served(each, pods_of(each, pods)) for each in workspaces)
        < scope.inferenceset.wanted
    ):
        return
    parts = [_count(scope.inferenceset)]
    if scope.wants_traffic:
        if not (has_pickers(scope) and _has_route(scope)):
            return
        parts += ["endpoint picker available", "route accepted"]
    yield scope.evidence(MODEL_READY, ", ".join(parts))


def _count(inferenceset: InferenceSet) -> str:
    wanted = inferenceset.wanted
    return f"{wanted}/{wanted} replicas ready" if wanted else "0 replicas wanted"


def _is_served(workspace: Workspace, pods: tuple[Pod, ...]) -> bool:
    """Tell whether a replica is ready: it has all of its pods, and all of them are Ready."""
    standing = [each for each in pods if counts(each)]
    return len(standing) >= wanted_pods(workspace, standing) and all(map(is_ready, standing))


def _has_route(scope: InferenceSetScope) -> bool:
    routes = scope.routes
    return bool(routes) and all(map(is_accepted, routes))
