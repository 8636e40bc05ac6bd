"""What is asked about ModelServings: one module for each reason."""

from itertools import chain
from typing import Final

from reporter.model.finding import Evaluation
from reporter.probes.scope import Probe, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.stacks.kthena.probes.creating import probe_creating, probe_deleting, probe_rollout
from reporter.stacks.kthena.probes.groups import probe_gang, probe_groups
from reporter.stacks.kthena.probes.ready import (
    probe_ready,
    probe_runtime,
    probe_serving,
    probe_spec,
    undecided,
)
from reporter.stacks.kthena.probes.scope import ModelServingScope
from reporter.stacks.kthena.reasons import MODELSERVINGS, MODELSERVINGS_FORMER

_PROBES: Final[tuple[Probe[ModelServingScope], ...]] = (
    probe_spec,
    probe_gang,
    probe_creating,
    probe_deleting,
    probe_rollout,
    probe_groups,
    probe_runtime,
)


def evaluate_modelserving(scope: ModelServingScope) -> Evaluation:
    """Return all that is said about one ModelServing, and the status that it should have."""
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _PROBES),
        probe_ready(scope),
        undecided=undecided(scope),
        derived=scope.derived,
        serving=probe_serving(scope),
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(
        resources=(MODELSERVINGS, MODELSERVINGS_FORMER),
        scope=ModelServingScope,
        evaluate=evaluate_modelserving,
    )
)
