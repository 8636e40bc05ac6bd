"""What is asked about ModelServices: one module for each reason."""

from itertools import chain
from typing import Final

from reporter.model.finding import Evaluation
from reporter.probes.pods import as_picked, probe_pickers, undecided_pickers, undecided_pods
from reporter.probes.scope import Probe, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.stacks.otterscale.probes.drift import probe_drift
from reporter.stacks.otterscale.probes.epp import probe_epp, probe_route
from reporter.stacks.otterscale.probes.missing import (
    evaluate_leaving,
    probe_invalid,
    probe_misconfigured,
    probe_missing,
)
from reporter.stacks.otterscale.probes.pods import (
    probe_pods,
    probe_rollout,
    probe_runtime,
    waits_for_replicas,
)
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.probes.status import (
    derived,
    probe_not_observed,
    probe_ready,
    probe_reconcile_failed,
    probe_serving,
    probe_status,
)
from reporter.stacks.otterscale.reasons import MODELSERVICES, PICKERS

_PROBES: Final[tuple[Probe[ModelServiceScope], ...]] = (
    probe_invalid,
    probe_not_observed,
    probe_reconcile_failed,
    probe_missing,
    probe_epp,
    probe_route,
    probe_misconfigured,
    probe_status,
    probe_drift,
    probe_pods,
    probe_rollout,
    probe_runtime,
)


def evaluate_modelservice(scope: ModelServiceScope) -> Evaluation:
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
        derived=derived(scope),
        serving=as_picked(scope, PICKERS, probe_serving(scope)),
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(
        resources=(MODELSERVICES,),
        scope=ModelServiceScope,
        evaluate=evaluate_modelservice,
        leaving=evaluate_leaving,
    )
)
