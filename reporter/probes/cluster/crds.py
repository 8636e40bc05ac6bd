"""Whether the CustomResourceDefinitions that the stack needs are served."""

from collections.abc import Iterator
from dataclasses import dataclass

from reporter.catalogue import reasons
from reporter.catalogue import resources as r
from reporter.model.finding import Finding
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Served, Snapshot


@dataclass(frozen=True, slots=True)
class RequiredCrd:
    """A CustomResourceDefinition by name, and who installs it."""

    name: str
    owner: str


def crd_ref(name: str) -> ObjectRef:
    """Return the reference to a CustomResourceDefinition."""
    return ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)


def required_crds(settings: EvaluationSettings) -> tuple[RequiredCrd, ...]:
    """Return the CRDs of the components that are switched on (sheet, 4.2 "Recommended").

    Only kinds whose objects the charts make or the reporter reads: InferenceObjective and its like
    are missing from healthy clusters.
    """
    return tuple(_required(settings))


def probe_crds(snapshot: Snapshot, settings: EvaluationSettings) -> Iterator[Finding]:
    """Yield a finding for each required CRD that discovery answered not to be there.

    Discovery that failed tells nothing (weak point 9.B.34).
    """
    for crd in required_crds(settings):
        if snapshot.discovery.state(crd.name) is not Served.ABSENT:
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
    if settings.kaito_deployment and settings.kaito_namespace:
        yield RequiredCrd(r.INFERENCESETS.crd_name, "KAITO")
        yield RequiredCrd(r.WORKSPACES.crd_name, "KAITO")
        yield RequiredCrd(r.INFERENCEPOOLS.crd_name, "Gateway API Inference Extension")
    if settings.gateway_auth_deployment and settings.gateway_auth_namespace:
        yield RequiredCrd(r.APIKEYS.crd_name, "gateway authentication by API key")
    if settings.keda_namespace:
        yield RequiredCrd(r.SCALEDOBJECTS.crd_name, "KEDA")
        yield RequiredCrd("clustertriggerauthentications.keda.sh", "KEDA")
