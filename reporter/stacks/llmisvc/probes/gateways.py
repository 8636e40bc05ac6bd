"""llminferenceserviceGatewayNotReady: the Gateways that requests come by."""

from collections.abc import Iterator

from reporter.catalogue.needs import is_of_istio
from reporter.catalogue.resources import GATEWAYS
from reporter.model.finding import Finding
from reporter.model.objects import Condition, Gateway
from reporter.snapshot.snapshot import Served
from reporter.stacks.llmisvc.derived.router import is_of
from reporter.stacks.llmisvc.probes.scope import LlmScope
from reporter.stacks.llmisvc.reasons import GATEWAY_NOT_READY
from reporter.workload.owners import is_true, words
from reporter.workload.routing import Parent


def probe_gateways(scope: LlmScope) -> Iterator[Finding]:
    """Yield a finding for each Gateway that is missing or not programmed for its present spec."""
    if scope.snapshot.state(GATEWAYS).served is Served.ABSENT:
        return
    for parent in scope.gateways:
        gateway = scope.snapshot[GATEWAYS].get(parent.namespace, parent.name)
        if gateway is None:
            if scope.snapshot.absence_known(GATEWAYS, parent.namespace, parent.name):
                yield scope.finding(
                    reason=GATEWAY_NOT_READY,
                    related=scope.gateway_ref(parent),
                    cause=f"{parent} is missing",
                    text=f"{parent} does not exist, so no request comes from outside",
                    severity=1,
                    independent=True,
                    by_spec=True,
                )
        elif not is_programmed(gateway):
            yield _not_programmed(scope, parent, gateway)


def at_fault(scope: LlmScope, parent: Parent) -> bool:
    """Tell whether a Gateway is missing or not programmed, so that what it says counts for nothing."""
    gateway = scope.snapshot[GATEWAYS].get(parent.namespace, parent.name)
    if gateway is None:
        return scope.snapshot.absence_known(GATEWAYS, parent.namespace, parent.name)
    return not is_programmed(gateway)


def is_programmed(gateway: Gateway) -> bool:
    """Tell whether the data plane of a Gateway has its present spec."""
    return is_true(_programmed(gateway)) and is_of(
        _programmed(gateway), gateway.metadata.generation
    )


def is_of_istiod(scope: LlmScope, parent: Parent) -> bool:
    """Tell whether Istio writes the status of a Gateway and of what refers to it."""
    gateway = scope.snapshot[GATEWAYS].get(parent.namespace, parent.name)
    return gateway is not None and is_of_istio(gateway, scope.snapshot)


def _programmed(gateway: Gateway) -> Condition | None:
    return gateway.status.condition("Programmed")


def _not_programmed(scope: LlmScope, parent: Parent, gateway: Gateway) -> Finding:
    programmed = _programmed(gateway)
    lags = is_true(programmed)
    why = "its present spec has not been looked at" if lags else f"{words(programmed)}"
    return scope.finding(
        reason=GATEWAY_NOT_READY,
        related=scope.gateway_ref(parent),
        cause=f"{parent} is not programmed",
        text=f"{parent} is not programmed, {why}; KServe does not show it",
        transition=programmed.last_transition_time if programmed and not lags else None,
        created=gateway.created,
        independent=not is_of_istiod(scope, parent),
    )
