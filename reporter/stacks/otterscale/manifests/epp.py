"""Words of the endpoint picker's objects that others look for, and the checksum of its configuration."""

import hashlib
from typing import Final

from reporter.stacks.otterscale.objects import ModelService

CONTAINER: Final = "epp"
CHECKSUM: Final = "checksum/config"
METRICS_AUTH_OFF: Final = "--metrics-endpoint-auth=false"
TRACING_ON: Final = "--tracing=true"
TRACING_OFF: Final = "--tracing=false"


def key(service: ModelService) -> str:
    """Return the key of the configuration, which is the name of the mounted file."""
    return "default-plugins.yaml" if service.spec.prefill is None else "pd-config.yaml"


def config_checksum(content: dict[str, str]) -> str:
    """Return the checksum of the `data` of a ConfigMap, as the operator computes it."""
    joined = "".join(f"{name}{text}" for name, text in sorted(content.items()))
    return hashlib.sha256(joined.encode()).hexdigest()
