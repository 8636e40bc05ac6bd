"""What happens to requests if a part of their path is down, and what clients get.

One row for each part that some stack's requests pass: whether they fail without it, the source of
that, the codes in the answer, and the reasons that explain them.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Passing:
    """One part on the request path.

    `clients` is the status and code of the answer, empty if no source documents it. `error_source`
    is the value of the answer's header `x-kaito-error-source`.
    """

    part: str
    without: str
    clients: str
    reasons: tuple[str, ...]
    source: str
    error_source: str = ""

    @property
    def code(self) -> str:
        return self.clients.partition(" ")[2]


_HARNESS: Final = "kaito-project/production-stack, charts/modelharness/templates"
_OUTAGE: Final = f"{_HARNESS}/envoyfilter-outage-reply.yaml"
_GAIE: Final = "kubernetes-sigs/gateway-api-inference-extension"
_SCRAPED: Final = ("inferenceset", "modelservice", "llminferenceservice")

WAYS: Final[tuple[Passing, ...]] = (
    Passing("body-based router (EnvoyFilter)", "fail, unless `failure_mode_allow` is true",
        "502 bbr_unavailable", ("clusterBBRNotReady",), f"{_HARNESS}/envoyfilter-bbr.yaml", "bbr"),
    Passing("authorization (EnvoyFilter)", "fail, unless `failure_mode_allow` is true",
        "502 ext_authz_unavailable",
        ("clusterGatewayAuthNotReady", "modelharnessExtAuthzProviderMissing"),
        f"{_HARNESS}/envoyfilter-ext-authz.yaml", "authz"),
    Passing("authorization (AuthorizationPolicy CUSTOM)",
        "fail, unless the provider of the mesh configuration has `failOpen`", "",
        ("clusterGatewayAuthNotReady",), "istio/api, mesh/v1alpha1/config.proto"),
    Passing("endpoint picker of an InferenceSet",
        "fail, unless the pool has `failureMode: FailOpen`", "502 epp_unavailable",
        ("inferencesetEPPNotReady",), _OUTAGE, "epp"),
    Passing("data plane of a Gateway", "fail", "502 gateway_unavailable",
        ("modelharnessGatewayDataPlaneNotReady", "modelharnessGatewayProgrammingFailed"), _OUTAGE,
        "gateway"),
    Passing("pods of an InferenceSet", "fail, where none is Ready", "503 model_unavailable",
        ("inferencesetModelPodsNotReady", "inferencesetInfraProvisioningFailed"), _OUTAGE,
        "inferenceset"),
    Passing("route of an InferenceSet", "fail: no route has the name of the model",
        "404 model_not_found", ("inferencesetRouteNotReady",),
        f"{_HARNESS}/envoyfilter-not-found.yaml", "gateway"),
    Passing("model in the body of a request to an InferenceSet",
        "fail: the router finds no name of a model, and whoever sent it has to mend it",
        "400 invalid_request_body", (), f"{_HARNESS}/envoyfilter-not-found.yaml", "bbr"),
    Passing("endpoint picker of other stacks", "fail, unless the pool has `failureMode: FailOpen`",
        "", ("modelserviceEPPNotReady", "llminferenceserviceEPPNotReady", "workloadEPPNotReady"),
        f"{_GAIE}, api/v1/inferencepool_types.go"),
    Passing("endpoint picker without endpoints", "fail", "503",
        tuple(f"{each}EPPNoEndpoints" for each in _SCRAPED),
        f"{_GAIE}, pkg/epp/requestcontrol/director.go"),
    Passing("endpoint picker that sheds", "of low priority are refused", "429",
        tuple(f"{each}EPPShedding" for each in _SCRAPED),
        f"{_GAIE}, pkg/epp/handlers/server.go"),
    Passing("Knative's activator",
        "to a model at zero, or with little room, fail when they have waited too long", "503",
        ("inferenceserviceRevisionNotReady", "inferenceservicePodsNotReady"),
        "knative/serving, pkg/activator/handler/handler.go"),
    Passing("ingress of an InferenceService", "from outside fail", "",
        ("inferenceserviceIngressNotReady",),
        "kserve/kserve, pkg/apis/serving/v1beta1/inference_service_status.go (IngressReady)"),
    Passing("router of vLLM's chart", "through the router's Service fail", "",
        ("workloadRouterNotReady",),
        "vllm-project/production-stack, helm/templates/deployment-router.yaml"),
)  # fmt: skip


def explaining(seen: str) -> tuple[Passing, ...]:
    """Return the rows for an answer: its code, status, both, or its `x-kaito-error-source`."""
    wanted = seen.lower()
    header, _, source = wanted.partition(":")
    if header == "x-kaito-error-source":
        return tuple(each for each in WAYS if each.error_source == source.strip())
    return tuple(e for e in WAYS if e.clients and wanted in {e.clients, e.code, e.clients[:3]})


def clients_get(reason: str) -> str:
    rows = [each for each in WAYS if reason in each.reasons and each.code]
    return rows[0].clients if rows else ""
