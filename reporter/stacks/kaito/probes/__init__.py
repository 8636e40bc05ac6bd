"""What is asked about InferenceSets: one module for each reason."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from reporter.model.finding import Evaluation
from reporter.probes.pods import as_picked, probe_pickers, undecided_pickers, undecided_pods
from reporter.probes.reuse import Question
from reporter.probes.scope import Probe, Scope, evaluated
from reporter.probes.subjects import ClusterProbe, StackProbes, SubjectProbes
from reporter.stacks.kaito.objects import Workspace
from reporter.stacks.kaito.probes.pods import probe_infra, probe_node_pressure, probe_pods
from reporter.stacks.kaito.probes.ready import (
    probe_ready,
    probe_serving,
    probe_workspace_ready,
    probe_workspace_serving,
)
from reporter.stacks.kaito.probes.route import probe_epp, probe_route
from reporter.stacks.kaito.probes.scaling import probe_scaled_objects, probe_scaling
from reporter.stacks.kaito.probes.scope import (
    InferenceSetScope,
    WorkspaceScope,
    is_going,
    probe_runtime,
    waits_for_replicas,
)
from reporter.stacks.kaito.reasons import CLUSTER_KEDA_SCALER, INFERENCESETS, MADE_WITH, WORKSPACES
from reporter.stacks.kaito.stack import PICKERS

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
    """What is asked about KAITO's models: InferenceSets, and Workspaces that none made."""

    def questions(self, scope: Scope) -> Iterator[Question]:
        """Yield what is asked about each; one that is being deleted is none."""
        yield from _OF_SETS.questions(scope)
        for question in _ALONE.questions(scope):
            workspace = scope.snapshot[WORKSPACES].get(
                question.about.namespace, question.about.name
            )
            if workspace is not None and _is_model(workspace):
                yield question


def _is_model(workspace: Workspace) -> bool:
    """Tell of a Workspace whether no InferenceSet made it, and it serves: a tuning job does not."""
    if workspace.metadata.label(MADE_WITH) is not None or workspace.tuning is not None:
        return False
    owners = workspace.metadata.owner_references or ()
    return not is_going(workspace) and all(each.kind != INFERENCESETS.kind for each in owners)


def evaluate_workspace(scope: WorkspaceScope) -> Evaluation:
    """Return all that is said about a Workspace that stands alone."""
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _OF_WORKSPACES),
        probe_workspace_ready(scope),
        serving=probe_workspace_serving(scope),
    )


def evaluate_inferenceset(scope: InferenceSetScope) -> Evaluation:
    """Return all that is said about one InferenceSet."""
    return evaluated(
        scope,
        chain(
            chain.from_iterable(probe(scope) for probe in _PROBES),
            probe_pickers(scope, PICKERS, scope.pods),
        ),
        probe_ready(scope),
        undecided={
            **undecided_pods(scope, scope.pods, waits=waits_for_replicas(scope)),
            **undecided_pickers(scope, PICKERS),
        },
        serving=as_picked(scope, PICKERS, probe_serving(scope)),
    )


_OF_SETS: Final = SubjectProbes(
    resources=(INFERENCESETS,), scope=InferenceSetScope, evaluate=evaluate_inferenceset
)
_ALONE: Final = SubjectProbes(
    resources=(WORKSPACES,), scope=WorkspaceScope, evaluate=evaluate_workspace
)

PROBES: Final = StackProbes(
    subjects=Models(),
    cluster=(ClusterProbe(CLUSTER_KEDA_SCALER, "ScaledObjects", probe_scaled_objects),),
)
