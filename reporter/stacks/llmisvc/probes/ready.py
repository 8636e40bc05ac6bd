"""llminferenceserviceReady: positive evidence that an LLMInferenceService serves."""

from collections.abc import Iterator

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES
from reporter.model.finding import ReadyEvidence, ServingEvidence
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.stacks.llmisvc.probes.completions import avoids_pools
from reporter.stacks.llmisvc.probes.epp import missing_service, unreached_service
from reporter.stacks.llmisvc.probes.pool import is_accepted
from reporter.stacks.llmisvc.probes.route import accepts
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import READY
from reporter.stacks.llmisvc.resources import LEADERWORKERSETS
from reporter.workload.deployment import is_available
from reporter.workload.routing import entrances_of, fails_open, is_reachable


def probe_ready(scope: LlmScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if each role has a replica that serves, and requests find their way to it.

    What KServe's status says is neither needed nor enough: an autoscaler without its metric makes it
    False, and a stalled rollout leaves it True.
    """
    if scope.serves and _is_reached(scope):
        serving = (each for each in scope.roles if each.ref and not each.is_idle)
        parts = " and ".join(f"{each.title}{each.ref.kind}" for each in serving if each.ref)
        idle = "".join(f", 0 {each.name} wanted" for each in scope.roles if each.is_idle)
        yield scope.evidence(READY, f"{parts} available{idle}{_way(scope)}")


def probe_serving(scope: LlmScope) -> Iterator[ServingEvidence]:
    """Yield how many replicas serve, and whether requests reach them, by the same evidence.

    Without a replica that decodes nothing serves; without one that prefills, those that decode do it
    all.
    """
    if not _is_known(scope):
        return
    main = scope.roles[0]
    yield ServingEvidence(
        subject=scope.subject,
        wanted=0
        if main.exists and not main.replicas
        else max(1, sum(each.replicas for each in scope.roles)),
        serving=max(1, sum(each.available for each in scope.roles)) if main.serves else 0,
        reached=_is_reached(scope) or _is_reachable(scope),
        entrances=entrances_of(scope.routes),
    )


def idle(scope: LlmScope) -> ServingEvidence:
    """Return what is said of one that is stopped."""
    return ServingEvidence(subject=scope.subject, wanted=0, serving=0)


def _is_known(scope: LlmScope) -> bool:
    runs_on: set[Resource[KubeObject]] = {
        LEADERWORKERSETS if each.multi else DEPLOYMENTS for each in scope.roles
    }
    if scope.wanted.scheduler is not None:
        runs_on.add(DEPLOYMENTS)
    if scope.wanted.route is not None:
        runs_on.add(HTTPROUTES)
    return all(map(scope.known, runs_on))


def _is_reachable(scope: LlmScope) -> bool:
    """Tell whether some requests come through, be it not by every way."""
    wanted = scope.wanted
    if wanted.route is not None and not is_reachable(scope.routes):
        return False
    if wanted.scheduler is None or _picker_works(scope):
        return True
    return fails_open(scope.pool or scope.former_pool) or avoids_pools(scope.routes)


def _picker_works(scope: LlmScope) -> bool:
    """Tell whether requests find an endpoint picker; of somebody else's only its Service is known."""
    if missing_service(scope):
        return False
    if scope.wanted.own_pool:
        return True
    available = scope.epp is not None and is_available(scope.epp)
    return available and unreached_service(scope) is None


def _is_reached(scope: LlmScope) -> bool:
    wanted = scope.wanted
    if wanted.scheduler is not None and not (_picker_works(scope) and is_accepted(scope)):
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
