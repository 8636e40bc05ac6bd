"""What is asked about InferenceSets: one module for each reason."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from reporter.model.finding import Evaluation
from reporter.probes.pods import as_picked, probe_pickers, undecided_pickers, undecided_pods
from reporter.probes.reuse import Question
from reporter.probes.scope import Probe, Scope, evaluated, subject_of
from reporter.probes.subjects import ClusterProbe, StackProbes
from reporter.snapshot.trace import Cell, How
from reporter.stacks.kaito.objects import InferenceSet
from reporter.stacks.kaito.probes.pods import probe_infra, probe_node_pressure, probe_pods
from reporter.stacks.kaito.probes.ready import probe_ready, probe_serving
from reporter.stacks.kaito.probes.route import probe_epp, probe_route
from reporter.stacks.kaito.probes.scaling import probe_scaled_objects, probe_scaling
from reporter.stacks.kaito.probes.scope import InferenceSetScope, probe_runtime, waits_for_replicas
from reporter.stacks.kaito.reasons import CLUSTER_KEDA_SCALER, INFERENCESETS
from reporter.stacks.kaito.stack import PICKERS
from reporter.workload.components import managed_namespaces

_PROBES: Final[tuple[Probe[InferenceSetScope], ...]] = (
    probe_scaling,
    probe_infra,
    probe_pods,
    probe_route,
    probe_epp,
    probe_node_pressure,
    probe_runtime,
)


class InferenceSets:
    """What is asked about InferenceSets: those in workload namespaces."""

    def questions(self, scope: Scope) -> Iterator[Question]:
        """Yield what is asked about each; one that is being deleted is none."""
        for namespace in managed_namespaces(scope.snapshot):
            for inferenceset in scope.snapshot[INFERENCESETS].in_namespace(namespace.name):
                if not inferenceset.deleting:
                    yield Question(
                        subject_of(INFERENCESETS, inferenceset),
                        partial(_evaluate, inferenceset),
                        rests_on=(
                            Cell(INFERENCESETS, How.NAME, (namespace.name, inferenceset.name)),
                        ),
                    )


def _evaluate(inferenceset: InferenceSet, scope: Scope) -> Evaluation:
    return evaluate_inferenceset(InferenceSetScope.of(INFERENCESETS, inferenceset, scope))


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


PROBES: Final = StackProbes(
    subjects=InferenceSets(),
    cluster=(ClusterProbe(CLUSTER_KEDA_SCALER, "ScaledObjects", probe_scaled_objects),),
)
