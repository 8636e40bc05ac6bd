"""Probes of the model layer for KAITO: one module for each reason (sheet 1 and 5)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from reporter.catalogue.resources import INFERENCESETS
from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import Evaluation, Finding, KnownSubject, ReadyEvidence
from reporter.model.objects import InferenceSet, Namespace
from reporter.model.subject import ObjectRef
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kaito.probes.epp import probe_epp
from reporter.stacks.kaito.probes.infra import probe_infra
from reporter.stacks.kaito.probes.node_pressure import probe_node_pressure
from reporter.stacks.kaito.probes.pods import probe_pods
from reporter.stacks.kaito.probes.ready import probe_ready
from reporter.stacks.kaito.probes.route import probe_route
from reporter.stacks.kaito.probes.runtime import probe_runtime, undecided_pods
from reporter.stacks.kaito.probes.scaling import probe_scaling
from reporter.stacks.kaito.probes.scope import subject_of
from reporter.workload.namespaces import managed_namespaces

_Probe: TypeAlias = Callable[[InferenceSet, Snapshot, EvaluationSettings], Iterator[Finding]]

_PROBES: Final[tuple[_Probe, ...]] = (
    probe_scaling,
    probe_infra,
    probe_pods,
    probe_route,
    probe_epp,
    probe_node_pressure,
)


def evaluate_inferencesets(
    snapshot: Snapshot,
    settings: EvaluationSettings,
    namespaces: Sequence[Namespace] | None = None,
    samples: Samples = NONE,
) -> Evaluation:
    """Return all that is said about InferenceSets, in `namespaces` or all workload namespaces.

    Sets and namespaces that are being deleted are no subjects, and nothing is said about them.
    """
    findings: list[Finding] = []
    ready: list[ReadyEvidence] = []
    subjects: list[KnownSubject] = []
    undecided: dict[ObjectRef, frozenset[str]] = {}
    for namespace in managed_namespaces(snapshot) if namespaces is None else namespaces:
        for inferenceset in snapshot[INFERENCESETS].in_namespace(namespace.name):
            if inferenceset.deleting:
                continue
            subjects.append(KnownSubject(subject_of(inferenceset), inferenceset.created))
            for probe in _PROBES:
                findings += probe(inferenceset, snapshot, settings)
            findings += probe_runtime(inferenceset, snapshot, samples)
            undecided |= undecided_pods(inferenceset, snapshot, samples)
            ready += probe_ready(inferenceset, snapshot)
    return Evaluation(tuple(findings), tuple(ready), tuple(subjects), undecided)
