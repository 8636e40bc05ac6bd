"""Parts that several pods have in common."""

from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import Json


def container_security() -> Json:
    """Return the security context of every container."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def pod_security() -> Json:
    """Return the security context of every pod; there is no fsGroup."""
    return {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def port(name: str, number: int) -> Json:
    """Return a port of a container."""
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def variable(name: str, value: str) -> Json:
    """Return an environment variable; an empty value is not written, as the API does not either."""
    return {"name": name, "value": value} if value else {"name": name}


def variable_from(name: str, path: str, *, versioned: bool = False) -> Json:
    """Return an environment variable with a field of the pod."""
    reference = {"apiVersion": "v1", "fieldPath": path} if versioned else {"fieldPath": path}
    return {"name": name, "valueFrom": {"fieldRef": reference}}


def exporter(operator: OperatorSettings, service: str) -> list[Json]:
    """Return what says where traces go, under which name."""
    return [
        variable("OTEL_SERVICE_NAME", service),
        variable("OTEL_EXPORTER_OTLP_ENDPOINT", operator.tracing_otel_endpoint),
        variable("OTEL_TRACES_EXPORTER", "otlp"),
    ]


def sampler(operator: OperatorSettings) -> list[Json]:
    """Return what says which traces are kept; what is empty is left out."""
    told = (
        ("OTEL_TRACES_SAMPLER", operator.tracing_sampler),
        ("OTEL_TRACES_SAMPLER_ARG", operator.tracing_sampler_arg),
    )
    return [variable(name, value) for name, value in told if value]
