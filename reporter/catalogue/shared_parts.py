"""The parts that stacks share, and the built-in catalogue, without the user's declarations."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from reporter.catalogue import needs as n
from reporter.catalogue import reasons
from reporter.catalogue import resources as r
from reporter.catalogue.resources import SHARED
from reporter.catalogue.suppression import PICKER_ROWS, SUPPRESSION, pod_rows_of
from reporter.model.catalogue import Catalogue
from reporter.model.reason import Reason
from reporter.model.stack import Controller, Need, RequiredKind, StackRows

ISTIO: Final = "istio"
GATEWAY_AUTH: Final = "gateway-auth"
BBR: Final = "bbr"

_ISTIOD: Final = ("istiod_deployment", "istio_namespace")

SHARED_CONTROLLERS: Final[tuple[Controller, ...]] = (
    Controller(reason=reasons.CLUSTER_ISTIO, part=ISTIO, deployment="istiod_deployment",
        images=("istio/pilot",), labels=("app=istiod",),
        leases=("istio-gateway-deployment-default",), observes=True, namespaces="istio_namespace",
        needs=(n.GATEWAYS_OF_ISTIO, n.DATA_PLANES_OF_ISTIO), governs=True, revisions=True),
    # The operator exists only together with apikey-authz.
    Controller(reason=reasons.CLUSTER_GATEWAY_AUTH, part=GATEWAY_AUTH, names=("apikey-operator",),
        namespaces="gateway_auth_namespace", observes=True, given=("gateway_auth_deployment",),
        needs=n.OF_API_KEYS, governs=True),
    Controller(reason=reasons.CLUSTER_GATEWAY_AUTH, part=GATEWAY_AUTH,
        deployment="gateway_auth_deployment", namespaces="gateway_auth_namespace",
        needs=n.OF_API_KEYS),
    Controller(reason=reasons.CLUSTER_GATEWAY_AUTH, part=GATEWAY_AUTH,
        deployment="azure_authz_deployment", namespaces="azure_authz_namespace",
        else_namespaces="gateway_auth_namespace"),
    Controller(reason=reasons.CLUSTER_BBR, part=BBR, deployment="bbr_deployment",
        images=("gateway-api-inference-extension/bbr",), namespaces="bbr_namespace",
        needs=(n.ROUTES_BY_MODEL, n.FILTERS_OF_BBR)),
)  # fmt: skip

SHARED_REQUIRED: Final[tuple[RequiredKind, ...]] = (
    RequiredKind(crd=r.GATEWAYS.crd_name, owner="Gateway API", part=ISTIO, settings=_ISTIOD,
        needs=(n.ROUTES, n.FILTERS_OF_HARNESS, n.DATA_PLANES), only_needed=True),
    RequiredKind(crd=r.HTTPROUTES.crd_name, owner="Gateway API", part=ISTIO, settings=_ISTIOD,
        needs=(n.GATEWAYS_OF_HARNESS, n.DEPLOYMENTS_OF_MODELS), only_needed=True),
    RequiredKind(crd=r.ENVOYFILTERS.crd_name, owner="Istio", part=ISTIO, settings=_ISTIOD,
        needs=(n.GATEWAYS_OF_HARNESS_IN_ISTIO,)),
    RequiredKind(crd=r.AUTHORIZATIONPOLICIES.crd_name, owner="Istio", part=ISTIO, settings=_ISTIOD,
        needs=(n.GATEWAYS_OF_HARNESS_IN_ISTIO,)),
    RequiredKind(crd=r.APIKEYS.crd_name, owner="gateway authentication by API key",
        part=GATEWAY_AUTH, settings=("gateway_auth_deployment", "gateway_auth_namespace"),
        needs=(n.FILTERS_OF_API_KEYS, n.POLICIES_OF_API_KEYS), of=(GATEWAY_AUTH,)),
)  # fmt: skip
"""Only kinds whose objects the charts create or the reporter reads: healthy clusters lack others,
such as InferenceObjective."""

SHARED_PARTS: Final[tuple[str, ...]] = (ISTIO, GATEWAY_AUTH, BBR)


@dataclass(frozen=True, slots=True)
class SharedPart:
    name: str
    controllers: tuple[Controller, ...]
    required: tuple[RequiredKind, ...]


def shared_parts(catalogue: Catalogue) -> tuple[SharedPart, ...]:
    controllers = [(each.part, each) for each in SHARED_CONTROLLERS]
    required = [(each.part, each) for each in SHARED_REQUIRED]
    for stack in catalogue.stacks:
        controllers += [(each.part or stack.name, each) for each in stack.controllers]
        required += [(each.part or stack.name, each) for each in stack.required]
    return tuple(
        SharedPart(
            name,
            tuple(each for part, each in controllers if part == name),
            tuple(each for part, each in required if part == name),
        )
        for name in dict.fromkeys(part for part, _ in controllers)
    )


def missed_where(reason: Reason, catalogue: Catalogue) -> list[tuple[str, Need]]:
    found: list[tuple[str, Need]] = []
    for part in shared_parts(catalogue):
        found += [
            (part.name, need)
            for controller in part.controllers
            if controller.reason == reason.name
            for need in controller.needs
        ]
        if reason.name == reasons.CLUSTER_CRD_MISSING:
            found += [(kind.crd, need) for kind in part.required for need in kind.needs]
    return list(dict.fromkeys(found))


@lru_cache
def built_in(stacks: tuple[StackRows, ...]) -> Catalogue:
    return Catalogue(
        reasons=(
            *reasons.CLUSTER_BEFORE_STACKS,
            *(reason for stack in stacks for reason in stack.cluster_reasons),
            *reasons.CLUSTER_AFTER_STACKS,
            *reasons.HARNESS,
            *(reason for stack in stacks for reason in stack.reasons),
        ),
        suppression=(*SUPPRESSION, *(row for stack in stacks for row in stack.suppression)),
        resources=(*SHARED, *(each for stack in stacks for each in stack.resources)),
        stacks=stacks,
        pod_suppression=(
            *(
                row
                for stack in stacks
                if stack.scraped
                for row in pod_rows_of(stack.scraped.kind, stack.scraped.not_ready)
            ),
            *(
                row
                for stack in stacks
                if stack.pickers
                for row in pod_rows_of(stack.pickers.kind, "", PICKER_ROWS)
            ),
        ),
    )
