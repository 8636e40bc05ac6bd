"""Names of the objects of a ModelService, and the settings of OtterScale's operator.

Both are in github.com/otterscale/model-operator (April 2026): internal/modelservice/helpers.go,
cmd/main.go.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

DECODE: Final = "decode"
PREFILL: Final = "prefill"

_MOST_LABEL: Final = 63
"""The most characters in the value of a label, and in the name of a Service."""

_SEPARATORS: Final = re.compile(r"[._-]+")
_DROPPED: Final = re.compile(r"[^A-Za-z0-9._-]")


def sanitised(text: str) -> str:
    """Return `text` as a DNS-1035 label, except that it may be too long.

    Characters other than ASCII letters and digits, `.`, `_` and `-` are dropped; then each run of
    separators becomes one hyphen.
    """
    label = _SEPARATORS.sub("-", _DROPPED.sub("", text)).strip("-").lower()
    return f"m-{label}" if label[:1].isdigit() else label or "modelservice"


def epp(name: str) -> str:
    """Return the name that most objects of the endpoint picker share."""
    return f"{sanitised(name)}-epp"


def too_long(name: str) -> str:
    """Return why a ModelService's name is too long for it to work, or an empty string."""
    if len(name) > _MOST_LABEL:
        return (
            f"its name has {len(name)} characters, and labels hold {_MOST_LABEL} at most: the "
            "operator can create nothing"
        )
    picker = epp(name)
    if len(picker) > _MOST_LABEL:
        return (
            f"its name is too long: endpoint picker {picker} would have {len(picker)} characters, "
            f"and Services and labels hold {_MOST_LABEL} at most"
        )
    return ""


MANAGED_BY: Final = "app.kubernetes.io/managed-by"
VERSION: Final = "app.kubernetes.io/version"
SERVING: Final = "llm-d.ai/inferenceServing"
MODEL: Final = "llm-d.ai/model"
ROLE: Final = "llm-d.ai/role"

OPERATOR: Final = "model-operator"

ENGINE: Final = "vllm"
MODEL_UNPACK: Final = "model-unpack"
ROUTING_PROXY: Final = "routing-proxy"
PICKER: Final = "epp"
"""The containers of serving pods, and of the endpoint picker."""

SIDE_CHANNEL_VARIABLE: Final = "VLLM_NIXL_SIDE_CHANNEL_PORT"
CHECKSUM: Final = "checksum/config"
METRICS_AUTH_OFF: Final = "--metrics-endpoint-auth=false"
TRACING_ON: Final = "--tracing=true"
TRACING_OFF: Final = "--tracing=false"

ISTIO: Final = "istio"
GKE: Final = "gke"
NONE: Final = "none"


UNPACK: Final = """\
set -e
mkdir -p "$KITOPS_HOME"
exec kit unpack --plain-http -o -d "$MODEL_MOUNT_PATH" "$OCI_MODEL_IMAGE"
"""
"""Fetches a model like the operator's own script, whose text differs: it creates the cache, unpacks
over existing files, and stops at the first step that fails."""

Given: TypeAlias = Mapping[str, str | bool]
"""Values of fields of `OperatorSettings`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """The settings that the operator was started with; the defaults are its own.

    `OPERATOR_FLAGS` says what they mean. `unpack_script`, of the init container that unpacks the
    model, is not a flag: it differs between builds, so it is taken from the operator's objects if
    there are any.
    """

    provider: str = ISTIO  # the operator treats texts that it does not know as `none`
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
    version: str = "devel"
    unpack_script: str = UNPACK

    def over(self, given: Given) -> "OperatorSettings":
        return replace(self, **given)  # type: ignore[arg-type]  # each is of its field's type
