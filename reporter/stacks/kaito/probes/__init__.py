"""The probes of InferenceSets and Workspaces, and the evidence that they serve."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import Evaluation, ReadyEvidence, ServingEvidence
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.probes.pods import judged
from reporter.probes.reuse import Question
from reporter.probes.scope import Probe, Scope, evaluated
from reporter.probes.subjects import ClusterProbe, StackProbes, SubjectProbes
from reporter.stacks.kaito import reasons
from reporter.stacks.kaito.objects import Workspace
from reporter.stacks.kaito.probes.pods import probe_infra, probe_node_pressure, probe_pods
from reporter.stacks.kaito.probes.route import probe_epp, probe_route
from reporter.stacks.kaito.probes.scaling import probe_scaled_objects, probe_scaling
from reporter.stacks.kaito.probes.scope import (
    InferenceSetScope,
    WorkspaceScope,
    is_going,
    is_served,
    probe_runtime,
    waits_for_replicas,
)
from reporter.workload.endpoint_pickers import fails_open
from reporter.workload.routing import entrances_of, is_accepted, is_reachable

_MADE: Final[tuple[Resource[KubeObject], ...]] = (reasons.WORKSPACES, PODS)
_CHARTED: Final[tuple[Resource[KubeObject], ...]] = (DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)
"""The kinds that KAITO creates for a model, and those that the chart creates."""


def _all_known(scope: InferenceSetScope) -> bool:
    known, sought = scope.snapshot.absence_known, scope.charted
    return all(map(scope.known, _MADE)) and all(
        known(each, scope.place, sought=sought) for each in _CHARTED
    )


def probe_ready(scope: InferenceSetScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if every wanted replica is ready and requests reach them.

    There is no evidence while any of its inputs is unknown.
    """
    wanted, routes = scope.object.wanted, scope.routes
    if not _all_known(scope) or scope.served < wanted:
        return
    parts = [f"{wanted}/{wanted} replicas ready" if wanted else "0 replicas wanted"]
    if scope.wants_traffic:
        picked = all(each.picks and each.fault is None for each in scope.pickers)
        if not (picked and routes and all(map(is_accepted, routes))):
            return
        parts += ["endpoint picker available", "route accepted"]
    yield scope.evidence(reasons.MODEL_READY, ", ".join(parts))


def probe_serving(scope: InferenceSetScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas are ready, and whether requests reach them, by the same evidence."""
    if not all(map(scope.known, _MADE)) or (scope.served and not _all_known(scope)):
        return
    picked = any(each.picks for each in scope.pickers) or any(map(fails_open, scope.pools))
    yield ServingEvidence(
        subject=scope.subject,
        wanted=scope.object.wanted,
        serving=scope.served,
        reached=not scope.wants_traffic or (picked and is_reachable(scope.routes)),
        entrances=entrances_of(scope.routes) if scope.wants_traffic else frozenset(),
    )


def probe_workspace_ready(scope: WorkspaceScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if all pods of a Workspace without an InferenceSet are ready."""
    if is_served(scope.object, scope.pods) and all(map(scope.known, _MADE)):
        reason = reasons.named(reasons.MODEL_READY, scope.subject.kind)
        yield scope.evidence(reason, "its pods are ready")


def probe_workspace_serving(scope: WorkspaceScope) -> Iterator[ServingEvidence]:
    """Yield whether a Workspace serves, by the same evidence."""
    if all(map(scope.known, _MADE)):
        serving = is_served(scope.object, scope.pods)
        yield ServingEvidence(subject=scope.subject, wanted=1, serving=int(serving))


_PROBES: Final[tuple[Probe[InferenceSetScope], ...]] = (
    probe_scaling,
    probe_infra,
    probe_pods,
    probe_route,
    probe_epp,
    probe_node_pressure,
    probe_runtime,
)


_OF_WORKSPACES: Final[tuple[Probe[WorkspaceScope], ...]] = (
    probe_infra,
    probe_pods,
    probe_node_pressure,
)


class Models:
    """The questions about KAITO's models: InferenceSets, and Workspaces without one."""

    def questions(self, scope: Scope) -> Iterator[Question]:
        """Yield the question about each model; models that are being deleted have none."""
        yield from chain(_OF_SETS.questions(scope), _ALONE.questions(scope))


def _is_model(workspace: Workspace) -> bool:
    """Return True if no InferenceSet made a Workspace, and it serves, unlike a tuning job."""
    if workspace.metadata.label(reasons.MADE_WITH) is not None or workspace.tuning is not None:
        return False
    owners = workspace.metadata.owner_references or ()
    return not is_going(workspace) and all(
        each.kind != reasons.INFERENCESETS.kind for each in owners
    )


def evaluate_workspace(scope: WorkspaceScope) -> Evaluation:
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _OF_WORKSPACES),
        probe_workspace_ready(scope),
        serving=probe_workspace_serving(scope),
    )


def evaluate_inferenceset(scope: InferenceSetScope) -> Evaluation:
    return judged(
        scope,
        _PROBES,
        ready=probe_ready(scope),
        serving=probe_serving(scope),
        pods=scope.pods,
        waits=waits_for_replicas(scope),
        pickers=reasons.PICKERS,
    )


_OF_SETS: Final = SubjectProbes(
    resources=(reasons.INFERENCESETS,), scope=InferenceSetScope, evaluate=evaluate_inferenceset
)
_ALONE: Final = SubjectProbes(
    resources=(reasons.WORKSPACES,),
    scope=WorkspaceScope,
    evaluate=evaluate_workspace,
    is_subject=_is_model,
)

PROBES: Final = StackProbes(
    subjects=Models(),
    cluster=(ClusterProbe(reasons.CLUSTER_KEDA_SCALER, "ScaledObjects", probe_scaled_objects),),
)
