"""llminferenceserviceReady: positive evidence that an LLMInferenceService serves."""

from collections.abc import Iterator

from reporter.model.finding import ReadyEvidence
from reporter.stacks.llmisvc.probes.pool import is_accepted
from reporter.stacks.llmisvc.probes.route import accepts
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import READY
from reporter.workload.deployment import is_available


def probe_ready(scope: LlmScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role has a replica that serves, and requests find their way to it.

    What KServe's status says is neither needed nor enough: an autoscaler without its metric makes it
    False, and a stalled rollout leaves it True.
    """
    if all(each.serves for each in scope.roles) and _is_reached(scope):
        parts = " and ".join(f"{each.title}{each.ref.kind}" for each in scope.roles if each.ref)
        yield scope.evidence(READY, f"{parts} available{_way(scope)}")


def _is_reached(scope: LlmScope) -> bool:
    wanted = scope.wanted
    if (
        wanted.scheduler is not None
        and not wanted.own_pool
        and not (scope.epp is not None and is_available(scope.epp))
    ):
        return False
    if wanted.scheduler is not None and not is_accepted(scope):
        return False
    return wanted.route is None or accepts(scope)


def _way(scope: LlmScope) -> str:
    wanted = scope.wanted
    parts = (
        "its endpoint picker" if wanted.scheduler is not None and not wanted.own_pool else "",
        "its route" if wanted.route is not None else "",
    )
    found = [each for each in parts if each]
    return f", {' and '.join(found)} ready" if found else ""
