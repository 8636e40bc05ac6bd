"""Probes of ModelServings: one module for each reason (Kthena sheet 5 and 7)."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from reporter.metrics.looks.samples import NONE, Samples
from reporter.model.finding import Evaluation, Finding, KnownSubject
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived import facts_of
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.probes.creating import probe_creating
from reporter.stacks.kthena.probes.deleting import probe_deleting
from reporter.stacks.kthena.probes.gang import probe_gang
from reporter.stacks.kthena.probes.groups import probe_groups
from reporter.stacks.kthena.probes.invalid_spec import probe_spec
from reporter.stacks.kthena.probes.ready import probe_ready
from reporter.stacks.kthena.probes.rollout import probe_rollout
from reporter.stacks.kthena.probes.scope import View, view_of

_Probe: TypeAlias = Callable[[View, Snapshot, EvaluationSettings], Iterator[Finding]]

_PROBES: Final[tuple[_Probe, ...]] = (
    probe_spec,
    probe_gang,
    probe_creating,
    probe_deleting,
    probe_rollout,
    probe_groups,
)


def modelserving_inputs(
    modelserving: ModelServing, snapshot: Snapshot, _: Samples
) -> tuple[tuple[object, ...], ...]:
    """Return the objects that the answer about a ModelServing rests on, beside nodes."""
    return facts_of(modelserving, snapshot).inputs


def evaluate_modelserving(
    modelserving: ModelServing,
    snapshot: Snapshot,
    settings: EvaluationSettings,
    _: Samples = NONE,
) -> Evaluation:
    """Return all that is said about one ModelServing, and the status that it should have.

    One that is being deleted is no subject, and nothing is said about it.
    """
    if modelserving.deleting:
        return Evaluation((), (), ())
    view = view_of(modelserving, snapshot)
    return Evaluation(
        findings=tuple(each for probe in _PROBES for each in probe(view, snapshot, settings)),
        ready=tuple(probe_ready(view)),
        subjects=(KnownSubject(view.subject, modelserving.created),),
        derived=view.derived,
    )
