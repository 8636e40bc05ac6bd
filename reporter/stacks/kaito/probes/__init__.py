"""What is asked about InferenceSets: one module for each reason."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject, Namespace
from reporter.model.resource import Resource
from reporter.model.subject import Subject
from reporter.probes.evaluation_parts import contained, joined
from reporter.probes.pods import undecided_pods
from reporter.probes.reuse import OWN, Question
from reporter.probes.runtime.network import verdicts_by_namespace
from reporter.probes.scope import Probe, Scope, evaluated
from reporter.probes.subjects import ClusterProbe, StackProbes
from reporter.stacks.kaito.probes.epp import probe_epp
from reporter.stacks.kaito.probes.infra import probe_infra
from reporter.stacks.kaito.probes.node_pressure import probe_node_pressure
from reporter.stacks.kaito.probes.pods import probe_pods
from reporter.stacks.kaito.probes.ready import probe_ready
from reporter.stacks.kaito.probes.route import probe_route
from reporter.stacks.kaito.probes.runtime import probe_runtime, waits_for_replicas
from reporter.stacks.kaito.probes.scaledobjects import probe_scaled_objects
from reporter.stacks.kaito.probes.scaling import probe_scaling
from reporter.stacks.kaito.probes.scope import InferenceSetScope
from reporter.stacks.kaito.reasons import CLUSTER_KEDA_SCALER
from reporter.stacks.kaito.resources import INFERENCESETS, RESOURCES, STACK
from reporter.workload.namespaces import managed_namespaces

_PROBES: Final[tuple[Probe[InferenceSetScope], ...]] = (
    probe_scaling,
    probe_infra,
    probe_pods,
    probe_route,
    probe_epp,
    probe_node_pressure,
    probe_runtime,
)

_RESTS_ON: Final[tuple[Resource[KubeObject], ...]] = (*OWN, *RESOURCES)
"""What the answers about a namespace's InferenceSets rest on, besides what many namespaces share."""


class InferenceSets:
    """What is asked about InferenceSets: all of a namespace at once.

    A namespace may have a thousand of them, and what each rests on is a part of what they all do.
    """

    def questions(self, scope: Scope) -> Iterator[Question]:
        """Yield what is asked about each workload namespace."""
        verdicts = verdicts_by_namespace(scope.samples)
        for namespace in managed_namespaces(scope.snapshot):
            rests_on = (scope.snapshot[each].in_namespace(namespace.name) for each in _RESTS_ON)
            yield Question(
                Subject.of_namespace(namespace.name),
                (*rests_on, verdicts.get(namespace.name, ())),
                partial(_evaluate_namespace, namespace, scope),
                asker=STACK,
            )


def _evaluate_namespace(namespace: Namespace, scope: Scope) -> Evaluation:
    """Return all that is said about a namespace's InferenceSets; one that fails costs no other."""
    return joined(
        contained(partial(evaluate_inferenceset, each), each.subject)
        for each in _scopes(namespace, scope)
    )


def _scopes(namespace: Namespace, scope: Scope) -> Iterator[InferenceSetScope]:
    """Yield what the probes of each InferenceSet are given; one that is being deleted is none."""
    for inferenceset in scope.snapshot[INFERENCESETS].in_namespace(namespace.name):
        if not inferenceset.deleting:
            yield InferenceSetScope(
                snapshot=scope.snapshot,
                settings=scope.settings,
                samples=scope.samples,
                resource=INFERENCESETS,
                object=inferenceset,
            )


def evaluate_inferenceset(scope: InferenceSetScope) -> Evaluation:
    """Return all that is said about one InferenceSet."""
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _PROBES),
        probe_ready(scope),
        undecided=undecided_pods(scope, scope.pods, waits=waits_for_replicas(scope)),
    )


PROBES: Final = StackProbes(
    subjects=InferenceSets(),
    cluster=(ClusterProbe(CLUSTER_KEDA_SCALER, "ScaledObjects", probe_scaled_objects),),
)
