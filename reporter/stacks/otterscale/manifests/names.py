"""Names of the objects of a ModelService.

The operator's rules are in github.com/otterscale/model-operator, internal/modelservice/helpers.go.
"""

import re
from typing import Final

DECODE: Final = "decode"
PREFILL: Final = "prefill"

_MOST_LABEL: Final = 63
"""Most characters of the value of a label, and of the name of a Service."""

_FALLBACK: Final = "modelservice"
_LETTER_FIRST: Final = "m-"
_SEPARATORS: Final = re.compile(r"[._-]+")
_DROPPED: Final = re.compile(r"[^A-Za-z0-9._-]")


def sanitised(text: str) -> str:
    """Return `text` as a DNS-1035 label, except that it may be too long.

    Characters other than letters and digits of ASCII, `.`, `_` and `-` are dropped, and the
    separators that then stand in a row become one hyphen.
    """
    label = _SEPARATORS.sub("-", _DROPPED.sub("", text)).strip("-").lower()
    if not label:
        return _FALLBACK
    return _LETTER_FIRST + label if label[0].isdigit() else label


def decode_deployment(name: str) -> str:
    """Return the name of the decode Deployment."""
    return f"{name}-{DECODE}"


def prefill_deployment(name: str) -> str:
    """Return the name of the prefill Deployment."""
    return f"{name}-{PREFILL}"


def pod_monitor(name: str, role: str) -> str:
    """Return the name of the PodMonitor of a role."""
    return f"{name}-{role}"


def inference_pool(name: str) -> str:
    """Return the name of the InferencePool."""
    return name


def http_route(name: str) -> str:
    """Return the name of the HTTPRoute."""
    return name


def epp(name: str) -> str:
    """Return the name that most objects of the endpoint picker share."""
    return f"{sanitised(name)}-epp"


def epp_config_map(name: str) -> str:
    """Return the name of the ConfigMap of the endpoint picker."""
    return f"{epp(name)}-config"


def epp_secret(name: str) -> str:
    """Return the name of the token Secret for the endpoint picker's metrics."""
    return f"{epp(name)}-sa-metrics-reader-secret"


def epp_cluster_role(namespace: str, name: str) -> str:
    """Return the name of the ClusterRole and of its binding."""
    return f"{namespace}-{epp(name)}"


def too_long(name: str) -> str:
    """Return why a ModelService cannot work because its name is too long; empty if it can."""
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
