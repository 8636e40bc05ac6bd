"""llminferenceservicePoolNotReady: the InferencePool, in either API group."""

from collections.abc import Iterator

from reporter.catalogue.resources import HTTPROUTES, INFERENCEPOOLS, PODS
from reporter.model.finding import Finding
from reporter.model.objects import InferencePool, ParentStatus
from reporter.snapshot.snapshot import Served
from reporter.stacks.llmisvc.probes.epp import missing_service
from reporter.stacks.llmisvc.probes.gateways import at_fault, is_of_istiod
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import POOL_NOT_READY
from reporter.stacks.llmisvc.resources import FORMER_POOLS
from reporter.workload.owners import is_false, is_true, words
from reporter.workload.pod import counts
from reporter.workload.routing import Parent, parent_of, routes_to

_MISSING, _NO_SERVICE, _SELECTS_NONE, _REFUSED, _SILENT = 40, 30, 25, 20, 10


def probe_pool(scope: LlmScope) -> Iterator[Finding]:
    """Yield what is wrong with the pool that requests go to."""
    if (
        scope.wanted.scheduler is None
        or scope.snapshot.state(INFERENCEPOOLS).served is Served.ABSENT
    ):
        return
    if scope.pool is None:
        yield from _missing(scope)
        return
    yield from _of_spec(scope, scope.pool)
    if scope.wanted.route is None and not is_accepted(scope) and not _leads_here(scope):
        yield _unreached(scope, scope.pool)
    for parent in sorted(scope.parents):
        if not at_fault(scope, parent) and not _accepted(scope, parent):
            yield _unaccepted(scope, scope.pool, parent)


def is_accepted(scope: LlmScope) -> bool:
    """Tell whether requests come through the pool, as far as Gateways say.

    Where KServe knows no route, a Gateway of spec.router.gateway.refs or any other has to accept.
    """
    if scope.pool is None:
        return False
    if scope.parents:
        return all(_accepted(scope, each) for each in scope.parents)
    return any(_accepts(each) for each, _ in _entries(scope))


def _missing(scope: LlmScope) -> Iterator[Finding]:
    name = scope.wanted.own_pool
    if not name or not scope.snapshot.absence_known(INFERENCEPOOLS, scope.place, name):
        return
    if scope.former_pool is None and scope.snapshot.known(FORMER_POOLS):
        yield scope.finding(
            reason=POOL_NOT_READY,
            related=INFERENCEPOOLS.ref_named(scope.place, name),
            cause=f"InferencePool {name} missing",
            text=f"InferencePool {name}, which spec.router.scheduler.pool names, does not exist",
            severity=_MISSING,
            independent=True,
            by_spec=True,
        )


def _of_spec(scope: LlmScope, pool: InferencePool) -> Iterator[Finding]:
    for cause, text, severity in _flaws(scope, pool):
        yield scope.finding(
            reason=POOL_NOT_READY,
            related=INFERENCEPOOLS.ref(pool),
            cause=cause,
            text=f"InferencePool {pool.name} {text}",
            severity=severity,
            created=pool.created,
            independent=True,
            by_spec=severity == _NO_SERVICE,
        )


def _flaws(scope: LlmScope, pool: InferencePool) -> Iterator[tuple[str, str, int]]:
    if name := missing_service(scope):
        yield (
            f"Service {name} missing",
            f"names Service {name} for its endpoint picker, which does not exist",
            _NO_SERVICE,
        )
    own = [each for each in scope.pods if counts(each)]
    selector = pool.spec.selector
    if selector is None or not own or not scope.known(PODS):
        return
    if not any(selector.matches(each.metadata.labels) for each in own):
        yield "selects no pod", "selects none of the pods that serve", _SELECTS_NONE


def _entries(scope: LlmScope) -> Iterator[tuple[ParentStatus, Parent]]:
    for pool in (scope.pool, scope.former_pool):
        for each in (pool.status.parents or ()) if pool else ():
            yield each, parent_of(each.parent_ref, scope.place)


def _accepted(scope: LlmScope, parent: Parent) -> bool:
    return any(_accepts(each) for each, of in _entries(scope) if of == parent)


def _accepts(entry: ParentStatus) -> bool:
    refs = entry.condition("ResolvedRefs")
    return is_true(entry.condition("Accepted")) and not is_false(refs)


def _leads_here(scope: LlmScope) -> bool:
    """Tell whether a route of the namespace may lead to the pool: some Gateways write no status of pools."""
    if scope.pool is None or not scope.known(HTTPROUTES):
        return True
    return any(
        routes_to(scope.snapshot, scope.place, scope.pool.name, group=group)
        for group in (INFERENCEPOOLS.group, FORMER_POOLS.group)
    )


def _unreached(scope: LlmScope, pool: InferencePool) -> Finding:
    """Return what is told where KServe makes no route, and nobody else has one that leads here."""
    return scope.finding(
        reason=POOL_NOT_READY,
        related=INFERENCEPOOLS.ref(pool),
        cause="no route",
        text=f"no HTTPRoute of the namespace leads to InferencePool {pool.name}, no Gateway has accepted "
        "it, and without spec.router.route KServe makes no route",
        severity=_SILENT,
        created=pool.created,
        independent=True,
    )


def _unaccepted(scope: LlmScope, pool: InferencePool, parent: Parent) -> Finding:
    said = [
        condition
        for each, of in _entries(scope)
        if of == parent
        for condition in (each.condition("Accepted"), each.condition("ResolvedRefs"))
        if condition is not None and is_false(condition)
    ]
    why = f"{said[0].type} is False, {words(said[0])}" if said else "it has written no status"
    return scope.finding(
        reason=POOL_NOT_READY,
        related=INFERENCEPOOLS.ref(pool),
        cause=f"not accepted by {parent}",
        text=f"InferencePool {pool.name} is not accepted by {parent}: {why}",
        severity=_REFUSED if said else _SILENT,
        transition=said[0].last_transition_time if said else None,
        created=pool.created,
        independent=not is_of_istiod(scope, parent),
    )
