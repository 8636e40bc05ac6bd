"""What is asked about LLMInferenceServices: a module for each thing that can fail."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from reporter.model.finding import Evaluation, Finding
from reporter.probes.pods import (
    as_picked,
    metric_faults,
    metric_finding,
    probe_pickers,
    undecided_pickers,
    undecided_pods,
)
from reporter.probes.scope import Probe, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.served.pods import switched_off
from reporter.stacks.llmisvc.probes.pool import probe_epp, probe_gateways, probe_pool, probe_route
from reporter.stacks.llmisvc.probes.ready import (
    probe_missing,
    probe_pods,
    probe_ready,
    probe_serving,
    probe_whole,
)
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.probes.spec import probe_spec
from reporter.stacks.llmisvc.probes.stale import (
    derived,
    probe_group,
    probe_names,
    probe_scaling,
    probe_stale,
)
from reporter.stacks.llmisvc.reasons import LLMS, PICKERS


def probe_runtime(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the metrics of a pod."""
    for role in scope.roles:
        for pod, fault in metric_faults(scope, role.pods):
            yield metric_finding(scope, pod, fault, role=role.title)


_PROBES: Final[tuple[Probe[LlmScope], ...]] = (
    probe_spec,
    probe_missing,
    probe_pods,
    probe_epp,
    probe_gateways,
    probe_route,
    probe_pool,
    probe_whole,
    probe_stale,
    probe_scaling,
    probe_group,
    probe_names,
    probe_runtime,
)


def evaluate_llm(scope: LlmScope) -> Evaluation:
    """Return all that is said about one LLMInferenceService, and what of its status follows.

    Of one that is stopped only that is said: its URL and its conditions are of before.
    """
    if scope.object.stopped:
        return switched_off(scope, by="serving.kserve.io/stop")
    return evaluated(
        scope,
        chain(
            chain.from_iterable(probe(scope) for probe in _PROBES),
            probe_pickers(scope, PICKERS, scope.pods),
        ),
        probe_ready(scope),
        undecided={**undecided_pods(scope, scope.pods), **undecided_pickers(scope, PICKERS)},
        derived=derived(scope),
        serving=as_picked(scope, PICKERS, probe_serving(scope)),
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(resources=(LLMS,), scope=LlmScope, evaluate=evaluate_llm)
)
