"""Whether the CustomResourceDefinitions that the stack needs are served."""

from collections.abc import Iterator
from dataclasses import dataclass

from reporter.catalogue import reasons
from reporter.catalogue import resources as r
from reporter.model.finding import Finding
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.probes.scope import Scope
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Discovery, Served


@dataclass(frozen=True, slots=True)
class RequiredCrd:
    """A CustomResourceDefinition by name, and who installs it.

    Attributes:
        name: of the definition.
        owner: whose chart it is in.
        instead: others of which one is as good, as where a kind has moved to another group.

    """

    name: str
    owner: str
    instead: tuple[str, ...] = ()

    def served(self, discovery: Discovery) -> Served:
        """Return what discovery says of it, or of the best of those that are as good."""
        states = {discovery.state(each) for each in (self.name, *self.instead)}
        return next(
            each for each in (Served.SERVED, Served.UNKNOWN, Served.ABSENT) if each in states
        )


def crd_ref(name: str) -> ObjectRef:
    """Return the reference to a CustomResourceDefinition."""
    return ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)


def required_crds(settings: EvaluationSettings) -> tuple[RequiredCrd, ...]:
    """Return the CRDs of the components that are switched on.

    Only kinds whose objects the charts make or the reporter reads: InferenceObjective and its like
    are missing from healthy clusters.
    """
    return tuple(_required(settings))


def probe_crds(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each required CRD that discovery answered not to be there.

    Discovery that failed tells nothing.
    """
    for crd in required_crds(scope.settings):
        if crd.served(scope.snapshot.discovery) is not Served.ABSENT:
            continue
        ref = crd_ref(crd.name)
        yield Finding(
            reason=reasons.CLUSTER_CRD_MISSING,
            subject=CLUSTER,
            involved=ref,
            related=ref,
            message=f"CustomResourceDefinition {crd.name} is not served: "
            f"install or repair the chart that owns it ({crd.owner})",
            cause=f"{crd.name} missing",
            governs=True,
        )


def _required(settings: EvaluationSettings) -> Iterator[RequiredCrd]:
    if settings.istiod_deployment and settings.istio_namespace:
        yield RequiredCrd(r.GATEWAYS.crd_name, "Gateway API")
        yield RequiredCrd(r.HTTPROUTES.crd_name, "Gateway API")
        yield RequiredCrd(r.ENVOYFILTERS.crd_name, "Istio")
        yield RequiredCrd(r.AUTHORIZATIONPOLICIES.crd_name, "Istio")
    if settings.gateway_auth_deployment and settings.gateway_auth_namespace:
        yield RequiredCrd(r.APIKEYS.crd_name, "gateway authentication by API key")
    for stack in settings.known_stacks:
        is_on = settings.stack(stack.name) is StackMode.ON
        for each in stack.required:
            configured = all(map(settings.has, each.settings))
            if configured and (is_on or not each.with_stack):
                yield RequiredCrd(each.crd, each.owner, each.instead)
