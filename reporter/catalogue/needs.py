"""The objects that show that a cluster needs a shared part, with the evidence for each row."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import AuthorizationPolicy, Conditioned, Gateway, HttpRoute, KubeObject
from reporter.model.stack import Need, Objects, need

OWNED_BY: Final = "kaito.sh/owned-by"
"""Label of objects from the charts of KAITO's production stack."""

MODELHARNESS: Final = "modelharness"
MODELDEPLOYMENT: Final = "modeldeployment"
GATEWAY_NAME: Final = "gateway.networking.k8s.io/gateway-name"
"""Label that Istio puts on the Deployment, Service and pods that it creates for a Gateway."""

API_KEY_PROVIDER: Final = "apikey-ext-authz"
"""Authorization by API key: a mesh provider in older charts, an EnvoyFilter in newer ones."""

_ISTIO: Final = "istio.io/"
_ISTIO_CLASSES: Final = frozenset({"istio", "istio-remote", "istio-waypoint", "istio-east-west"})
_ISTIO_MADE: Final = "gateway.istio.io/managed"
_MODEL_HEADERS: Final = frozenset({"x-gateway-model-name", "x-gateway-base-model-name"})


def is_managed(obj: KubeObject) -> bool:
    """True if an object comes from a chart or has an owner.

    Helm labels the objects that it installs (helm/helm, pkg/action/validate.go).
    """
    metadata = obj.metadata
    by_helm = metadata.label("app.kubernetes.io/managed-by") == "Helm"
    return by_helm or metadata.label(OWNED_BY) is not None or bool(metadata.owner_references)


def is_in_use(route: HttpRoute) -> bool:
    """True if a parent has accepted a route or it is managed; any tenant can write other routes."""
    return is_managed(route) or any(map(_is_accepted, route.status.parents or ()))


def _is_accepted(status: Conditioned) -> bool:
    accepted = status.condition("Accepted")
    return accepted is not None and accepted.status == "True"


def _needs_istio(gateway: Gateway, objects: Objects) -> bool:
    """True if Istio has to run a Gateway; the name of a class alone does not prove that.

    A GatewayClass that exists does: it is cluster-scoped, so a cluster administrator created it.
    """
    classes = (each.name for each in objects[r.GATEWAYCLASSES] if each.spec.controller_name)
    return is_of_istio(gateway, objects) and (
        _is_accepted(gateway.status)
        or is_managed(gateway)
        or gateway.spec.gateway_class_name in classes
    )


def is_of_istio(gateway: Gateway, objects: Objects) -> bool:
    """True if Istio runs the class of a Gateway.

    Names of Istio's controllers begin with istio.io/. If the class is missing or names no
    controller, the names of istiod's own classes decide (Istio, pkg/config/constants, 1.29).
    """
    name = gateway.spec.gateway_class_name
    for each in objects[r.GATEWAYCLASSES]:
        if each.name == name and each.spec.controller_name:
            return each.spec.controller_name.startswith(_ISTIO)
    return name in _ISTIO_CLASSES


def is_of_harness(obj: KubeObject) -> bool:
    return obj.metadata.label(OWNED_BY) == MODELHARNESS


def _matches_model(route: HttpRoute) -> bool:
    matches = (match for rule in route.spec.rules or () for match in rule.matches or ())
    names = (header.name.lower() for match in matches for header in match.headers or ())
    return not _MODEL_HEADERS.isdisjoint(names)


def _leads_to_pool(route: HttpRoute) -> bool:
    backends = (each for rule in route.spec.rules or () for each in rule.backend_refs or ())
    return any(
        each.kind == r.INFERENCEPOOLS.kind
        and (each.group or r.INFERENCEPOOLS.group) == r.INFERENCEPOOLS.group
        for each in backends
    )


def _asks_api_keys(policy: AuthorizationPolicy) -> bool:
    of = policy.spec.provider
    return policy.spec.action == "CUSTOM" and of is not None and of.name == API_KEY_PROVIDER


GATEWAYS_OF_ISTIO: Final = need(
    r.GATEWAYS,
    "Gateways of a class that Istio runs, which are accepted or managed, or whose class is there",
    evidence="istiod programs the Gateways of classes whose controllerName is "
    "istio.io/gateway-controller, and nobody else does (istio.io, Kubernetes Gateway API)",
    shows=_needs_istio,
    looks_up=True,
    detail=lambda gateway: f" of class {gateway.spec.gateway_class_name}",
)
DATA_PLANES_OF_ISTIO: Final = need(
    r.DEPLOYMENTS,
    "Deployments that Istio made for a Gateway",
    evidence=f"istiod labels them {_ISTIO_MADE}, and their proxies take their configuration from "
    "it (Istio, pilot/pkg/config/kube/gateway, 1.29)",
    shows=lambda deployment, _: (deployment.metadata.label(_ISTIO_MADE) or "").startswith(
        _ISTIO.rstrip("/")
    ),
)
API_KEYS: Final = need(
    r.APIKEYS,
    "APIKeys",
    evidence="apikey-operator issues the key of each, and apikey-authz lets requests in by it "
    "(kaito-project/production-stack, charts of the gateway authentication)",
)
POLICIES_OF_API_KEYS: Final = need(
    r.AUTHORIZATIONPOLICIES,
    f"AuthorizationPolicies that name the provider {API_KEY_PROVIDER}",
    evidence="Istio refuses each request that such a provider does not let in "
    "(istio.io, External Authorization)",
    shows=lambda policy, _: _asks_api_keys(policy),
)
FILTERS_OF_API_KEYS: Final = need(
    r.ENVOYFILTERS,
    f"EnvoyFilters {API_KEY_PROVIDER}",
    evidence="they send each request to apikey-authz (kaito-project/production-stack, chart "
    "modelharness)",
    shows=lambda envoy_filter, _: envoy_filter.name == API_KEY_PROVIDER,
)
ROUTES_BY_MODEL: Final = need(
    r.HTTPROUTES,
    "HTTPRoutes in use that match on X-Gateway-Model-Name or X-Gateway-Base-Model-Name",
    evidence="the body-based router sets these headers from a request's body "
    "(Gateway API Inference Extension, pkg/bbr)",
    shows=lambda route, _: is_in_use(route) and _matches_model(route),
)
FILTERS_OF_BBR: Final = need(
    r.ENVOYFILTERS,
    "EnvoyFilters bbr-ext-proc",
    evidence="they send each request through the body-based router "
    "(kaito-project/production-stack, chart modelharness)",
    shows=lambda envoy_filter, _: envoy_filter.name == "bbr-ext-proc",
)
ROUTES: Final = need(
    r.HTTPROUTES,
    "HTTPRoutes in use",
    evidence="a route serves nothing without a Gateway as its parent (Gateway API, HTTPRoute)",
    shows=lambda route, _: (
        is_in_use(route)
        and any((each.kind or "Gateway") == "Gateway" for each in route.spec.parent_refs or ())
    ),
)
DATA_PLANES: Final = need(
    r.DEPLOYMENTS,
    "Deployments that were made for a Gateway",
    evidence=f"the label {GATEWAY_NAME} names the Gateway that they serve (Gateway API, GEP-1762)",
    shows=lambda deployment, _: deployment.metadata.label(GATEWAY_NAME) is not None,
)
FILTERS_OF_HARNESS: Final = need(
    r.ENVOYFILTERS,
    "EnvoyFilters of a workload namespace",
    evidence="the chart that makes them makes its Gateway too (kaito-project/production-stack, "
    "chart modelharness)",
    shows=lambda envoy_filter, _: is_of_harness(envoy_filter),
)
GATEWAYS_OF_HARNESS_IN_ISTIO: Final = need(
    r.GATEWAYS,
    "Gateways of a workload namespace whose class Istio runs",
    evidence="the chart that makes them sets up EnvoyFilters and AuthorizationPolicies for them "
    "(kaito-project/production-stack, chart modelharness), which only Istio's proxies understand "
    "(istio.io, EnvoyFilter)",
    # If classes cannot be read, it is unknown which controller runs this one.
    shows=lambda gateway, objects: (
        is_of_harness(gateway) and objects.known(r.GATEWAYCLASSES) and is_of_istio(gateway, objects)
    ),
    looks_up=True,
    detail=lambda gateway: f" of class {gateway.spec.gateway_class_name}",
)
GATEWAYS_OF_HARNESS: Final = need(
    r.GATEWAYS,
    "Gateways of a workload namespace",
    evidence="the chart that makes them sets up routes, filters and policies for them "
    "(kaito-project/production-stack, chart modelharness)",
    shows=lambda gateway, _: is_of_harness(gateway),
)
ROUTES_TO_POOLS: Final = need(
    r.HTTPROUTES,
    "HTTPRoutes in use that lead to an InferencePool",
    evidence="such a backend is resolved only if the kind is there (Gateway API Inference "
    "Extension, InferencePool)",
    shows=lambda route, _: is_in_use(route) and _leads_to_pool(route),
)
DEPLOYMENTS_OF_MODELS: Final = need(
    r.DEPLOYMENTS,
    "Deployments that the chart of a model made",
    evidence="the chart makes an endpoint picker, an InferencePool and an HTTPRoute together "
    "(kaito-project/production-stack, chart modeldeployment)",
    shows=lambda deployment, _: deployment.metadata.label(OWNED_BY) == MODELDEPLOYMENT,
)

OF_API_KEYS: Final[tuple[Need, ...]] = (API_KEYS, FILTERS_OF_API_KEYS, POLICIES_OF_API_KEYS)
