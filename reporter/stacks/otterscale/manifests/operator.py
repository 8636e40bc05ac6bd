"""Settings of OtterScale's operator: its command line.

The flags are in github.com/otterscale/model-operator, cmd/main.go (April 2026).
"""

from dataclasses import dataclass
from typing import Final

ISTIO: Final = "istio"
GKE: Final = "gke"
NONE: Final = "none"


UNPACK: Final = """\
set -e
mkdir -p "$KITOPS_HOME"
exec kit unpack --plain-http -o -d "$MODEL_MOUNT_PATH" "$OCI_MODEL_IMAGE"
"""
"""Fetches a model as the operator's own script does, whose text is another: it makes the cache, unpacks
over what is there, and ends with the first step that fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """What the operator was started with; the defaults are its own.

    Attributes:
        provider: `istio`, `gke` or `none`; the operator takes any other text for `none`.
        metrics_endpoint_auth: the endpoint picker's metrics need a token.
        default_gateway_name: Gateway of a ModelService without `spec.httpRoute`; empty: no route.
        default_engine_image: of vLLM, where `spec.engine.image` is empty.
        default_epp_image: of the endpoint picker.
        default_routing_proxy_image: of the routing proxy.
        kit_image: of the init container that unpacks the model; empty: there is none.
        tracing_enabled: endpoint picker and routing proxy send traces.
        tracing_otel_endpoint: where to.
        tracing_sampler: OpenTelemetry's sampler; empty: not set.
        tracing_sampler_arg: its argument; empty: not set.
        epp_flags: further flags of the endpoint picker, name and value; the shipped operator
            never has any.
        version: of the operator's build, in labels; empty: no label.
        unpack_script: of the init container that unpacks the model; not a flag, and another in each
            build, so that it is taken from what the operator made where there is something.

    """

    provider: str = ISTIO
    metrics_endpoint_auth: bool = True
    default_gateway_name: str = "otterscale-llm-d-infra-inference-gateway"
    default_engine_image: str = "ghcr.io/llm-d/llm-d-cuda:v0.5.1"
    default_epp_image: str = "ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0"
    default_routing_proxy_image: str = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0"
    kit_image: str = "ghcr.io/kitops-ml/kitops:v1.11.0"
    tracing_enabled: bool = False
    tracing_otel_endpoint: str = ""
    tracing_sampler: str = "parentbased_traceidratio"
    tracing_sampler_arg: str = "0.01"
    epp_flags: tuple[tuple[str, str], ...] = ()
    version: str = "devel"
    unpack_script: str = UNPACK
