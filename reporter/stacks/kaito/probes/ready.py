"""inferencesetReady: positive evidence that a model serves."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import ReadyEvidence, ServingEvidence
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.decode import Sought
from reporter.stacks.kaito.objects import InferenceSet
from reporter.stacks.kaito.probes.route import has_pickers, is_picked
from reporter.stacks.kaito.probes.scope import AnyScope, InferenceSetScope, WorkspaceScope
from reporter.stacks.kaito.reasons import MODEL_READY, WORKSPACES
from reporter.workload.routing import entrances_of, fails_open, is_accepted, is_reachable

_MADE: Final[tuple[Resource[KubeObject], ...]] = (WORKSPACES, PODS)
_CHARTED: Final[tuple[Resource[KubeObject], ...]] = (DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)
"""What KAITO makes for a model, and what the chart makes."""


def probe_ready(scope: InferenceSetScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if every wanted replica is ready and requests reach them.

    Nothing is concluded while anything that it rests on is unknown.
    """
    if not _is_known(scope) or scope.served < scope.inferenceset.wanted:
        return
    parts = [_count(scope.inferenceset)]
    if scope.wants_traffic:
        if not (has_pickers(scope) and _has_route(scope)):
            return
        parts += ["endpoint picker available", "route accepted"]
    yield scope.evidence(MODEL_READY, ", ".join(parts))


def probe_serving(scope: InferenceSetScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas are ready, and whether requests reach them, by the same evidence."""
    made = all(map(partial(_knows, scope, scope.made), _MADE))
    if not made or (scope.served and not _is_known(scope)):
        return
    picked = is_picked(scope) or any(map(fails_open, scope.pools))
    yield ServingEvidence(
        subject=scope.subject,
        wanted=scope.inferenceset.wanted,
        serving=scope.served,
        reached=not scope.wants_traffic or (picked and is_reachable(scope.routes)),
        entrances=entrances_of(scope.routes) if scope.wants_traffic else frozenset(),
    )


def probe_workspace_ready(scope: WorkspaceScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if all pods of a Workspace that stands alone are ready."""
    if scope.served and all(map(partial(_knows, scope, scope.made), _MADE)):
        yield scope.evidence(scope.named(MODEL_READY), "its pods are ready")


def probe_workspace_serving(scope: WorkspaceScope) -> Iterator[ServingEvidence]:
    """Yield whether a Workspace serves, by the same evidence."""
    if all(map(partial(_knows, scope, scope.made), _MADE)):
        yield ServingEvidence(subject=scope.subject, wanted=1, serving=scope.served)


def _is_known(scope: InferenceSetScope) -> bool:
    return all(
        _knows(scope, sought, resource)
        for sought, resources in ((scope.made, _MADE), (scope.charted, _CHARTED))
        for resource in resources
    )


def _knows(scope: AnyScope, sought: Sought, resource: Resource[KubeObject]) -> bool:
    return scope.snapshot.absence_known(resource, scope.place, sought=sought)


def _count(inferenceset: InferenceSet) -> str:
    wanted = inferenceset.wanted
    return f"{wanted}/{wanted} replicas ready" if wanted else "0 replicas wanted"


def _has_route(scope: InferenceSetScope) -> bool:
    routes = scope.routes
    return bool(routes) and all(map(is_accepted, routes))
