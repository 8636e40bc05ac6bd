"""The shared parts that are of no single stack: their Deployments, their CRDs, and who needs them.

Pages that are written by hand but for some parts, which are rendered from the catalogue.

The catalogue without anything that a user declares: the shared tables and those of the stacks.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from reporter.catalogue import needs as n
from reporter.catalogue import reasons
from reporter.catalogue import resources as r
from reporter.catalogue.pickers import picker_suppression_of
from reporter.catalogue.reasons import CLUSTER_AFTER_STACKS, CLUSTER_BEFORE_STACKS, HARNESS
from reporter.catalogue.resources import SHARED
from reporter.catalogue.suppression import SUPPRESSION, pod_rows_of
from reporter.model.catalogue import Catalogue
from reporter.model.stack import Controller, RequiredKind, StackRows

ISTIO: Final = "istio"
GATEWAY_AUTH: Final = "gateway-auth"
BBR: Final = "bbr"

_ISTIOD: Final = ("istiod_deployment", "istio_namespace")

SHARED_CONTROLLERS: Final[tuple[Controller, ...]] = (
    Controller(
        reason=reasons.CLUSTER_ISTIO,
        part=ISTIO,
        deployment="istiod_deployment",
        images=("istio/pilot",),
        namespaces="istio_namespace",
        needs=(n.GATEWAYS_OF_ISTIO, n.DATA_PLANES_OF_ISTIO),
        governs=True,
        revisions=True,
    ),
    Controller(
        reason=reasons.CLUSTER_GATEWAY_AUTH,
        part=GATEWAY_AUTH,
        deployment="gateway_auth_operator_deployment",
        namespaces="gateway_auth_namespace",
        given=("gateway_auth_deployment",),  # without API keys there is no operator of them
        needs=n.OF_API_KEYS,
        governs=True,
    ),
    Controller(
        reason=reasons.CLUSTER_GATEWAY_AUTH,
        part=GATEWAY_AUTH,
        deployment="gateway_auth_deployment",
        namespaces="gateway_auth_namespace",
        needs=n.OF_API_KEYS,
    ),
    Controller(
        reason=reasons.CLUSTER_GATEWAY_AUTH,
        part=GATEWAY_AUTH,
        deployment="azure_authz_deployment",
        namespaces="azure_authz_namespace",
        else_namespaces="gateway_auth_namespace",
    ),
    Controller(
        reason=reasons.CLUSTER_BBR,
        part=BBR,
        deployment="bbr_deployment",
        images=("gateway-api-inference-extension/bbr",),
        namespaces="bbr_namespace",
        needs=(n.ROUTES_BY_MODEL, n.FILTERS_OF_BBR),
    ),
)
"""In the order of their reasons."""

SHARED_REQUIRED: Final[tuple[RequiredKind, ...]] = (
    RequiredKind(
        crd=r.GATEWAYS.crd_name,
        owner="Gateway API",
        part=ISTIO,
        settings=_ISTIOD,
        needs=(n.ROUTES, n.FILTERS_OF_HARNESS, n.DATA_PLANES),
        only_needed=True,
    ),
    RequiredKind(
        crd=r.HTTPROUTES.crd_name,
        owner="Gateway API",
        part=ISTIO,
        settings=_ISTIOD,
        needs=(n.GATEWAYS_OF_HARNESS, n.DEPLOYMENTS_OF_MODELS),
        only_needed=True,
    ),
    RequiredKind(
        crd=r.ENVOYFILTERS.crd_name,
        owner="Istio",
        part=ISTIO,
        settings=_ISTIOD,
        needs=(n.GATEWAYS_OF_HARNESS_IN_ISTIO,),
    ),
    RequiredKind(
        crd=r.AUTHORIZATIONPOLICIES.crd_name,
        owner="Istio",
        part=ISTIO,
        settings=_ISTIOD,
        needs=(n.GATEWAYS_OF_HARNESS_IN_ISTIO,),
    ),
    RequiredKind(
        crd=r.APIKEYS.crd_name,
        owner="gateway authentication by API key",
        part=GATEWAY_AUTH,
        settings=("gateway_auth_deployment", "gateway_auth_namespace"),
        needs=(n.FILTERS_OF_API_KEYS, n.POLICIES_OF_API_KEYS),
        of=(GATEWAY_AUTH,),
    ),
)
"""Only kinds whose objects the charts make or the reporter reads: InferenceObjective and its like are
missing from healthy clusters."""

SHARED_PARTS: Final[tuple[str, ...]] = (ISTIO, GATEWAY_AUTH, BBR)


_PART: Final = re.compile(
    r"(?P<begin><!-- rendered: (?P<name>[a-z]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def with_parts(text: str, parts: Mapping[str, Callable[[], Iterable[str]]]) -> str:
    """Return a page with its parts rendered again; each is the lines between two comments."""

    def rendered(part: re.Match[str]) -> str:
        lines = "".join(f"{line}\n" for line in parts[part["name"]]())
        return part["begin"] + lines + part["end"]

    return _PART.sub(rendered, text)


@lru_cache
def built_in(stacks: tuple[StackRows, ...]) -> Catalogue:
    """Return the catalogue of some stacks, in their order."""
    return Catalogue(
        reasons=(
            *CLUSTER_BEFORE_STACKS,
            *(reason for stack in stacks for reason in stack.cluster_reasons),
            *CLUSTER_AFTER_STACKS,
            *HARNESS,
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
                for row in picker_suppression_of(stack.pickers.kind)
            ),
        ),
    )
