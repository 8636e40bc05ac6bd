"""modelserviceMisconfigured: settings that do not go together."""

from collections.abc import Iterator

from reporter.model.finding import Finding
from reporter.stacks.otterscale.manifests.serving import SIDE_CHANNEL_VARIABLE, side_channel_port
from reporter.stacks.otterscale.objects import ModelService
from reporter.stacks.otterscale.probes.fleet import with_same_cluster_role
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import MISCONFIGURED


def probe_misconfigured(scope: ModelServiceScope) -> Iterator[Finding]:
    """Yield one finding that names every combination that does not work."""
    faults = tuple(_faults(scope))
    if not faults:
        return
    yield scope.finding(
        reason=MISCONFIGURED,
        related=scope.ref,
        cause=faults[0][0],
        text="; ".join(text for _, text in faults),
        created=scope.service.created,
        exempt=True,
    )


def _faults(scope: ModelServiceScope) -> Iterator[tuple[str, str]]:
    """Yield a cause in a few words and a sentence for each."""
    service, spec = scope.service, scope.service.spec
    port = service.engine_port
    if spec.routing_proxy is not None and service.target_port == port:
        text = f"spec.routingProxy.targetPort is spec.engine.port, {port}: vLLM and the routing proxy of a decode pod cannot both listen there"
        yield "two listeners on one port", text
    if spec.routing_proxy is not None and side_channel_port(spec.engine.env or ()) == port:
        text = f"{SIDE_CHANNEL_VARIABLE} is spec.engine.port, {port}, where the routing proxy of a decode pod listens"
        yield "two listeners on one port", text
    if spec.prefill is not None and spec.routing_proxy is None:
        text = "spec.prefill without spec.routingProxy: nothing hands requests from decode pods to prefill pods"
        yield "prefill without routing proxy", text
    rivals = _rivals(scope)
    if rivals:
        shown = ", ".join(f"{each.namespace}/{each.name}" for each in rivals[:3])
        text = (
            f"ClusterRole {scope.place}-{scope.epp_name} also belongs to ModelService {shown}: "
            "the metrics of one of the two endpoint pickers cannot be read"
        )
        yield "ClusterRole of two ModelServices", text


def _rivals(scope: ModelServiceScope) -> tuple[ModelService, ...]:
    """Return those that share the name of the ClusterRole, where both have one."""
    if not (scope.operator.metrics_endpoint_auth and scope.service.spec.inference_pool):
        return ()
    others = with_same_cluster_role(scope.service, scope.snapshot)
    return tuple(each for each in others if each.spec.inference_pool and _is_elsewhere(each, scope))


def _is_elsewhere(service: ModelService, scope: ModelServiceScope) -> bool:
    """Tell whether it is in another namespace: in the same one more than the role collides."""
    return service.namespace != scope.place
