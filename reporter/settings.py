"""Every setting, with its unit, default and one sentence of meaning.

A setting `startup_grace_seconds` is the flag `--startup-grace-seconds`, the environment variable
`STATUS_REPORTER_STARTUP_GRACE_SECONDS` and the key `startup-grace-seconds` of the file that
`--config` names. Names and meanings of the reference reporter are kept (section 8.1 of the KAITO
sheet).
"""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class Emit(StrEnum):
    """Which findings become Events."""

    CAUSES = "causes"
    PRIMARY = "primary"
    FIRING = "firing"


class LogFormat(StrEnum):
    """How log lines look."""

    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _pairs(value: object) -> object:
    if isinstance(value, str):
        value = _split(value)
    if isinstance(value, (tuple, list)):
        pairs: dict[str, str] = {}
        for part in value:
            name, equals, seconds = str(part).partition("=")
            if not equals:
                raise ValueError(f"{part!r} is not REASON=SECONDS")
            pairs[name.strip()] = seconds.strip()
        return pairs
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Namespaces = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Graces = Annotated[dict[str, Annotated[int, Field(ge=0)]], NoDecode, BeforeValidator(_pairs)]
Seconds = Annotated[int, Field(ge=0, le=86_400)]


class EvaluationSettings(BaseSettings):
    """What decides which findings there are and what becomes of them: `run` and `check`."""

    model_config = SettingsConfigDict(
        env_prefix="STATUS_REPORTER_", extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    resync_seconds: Annotated[int, Field(ge=1, le=3600)] = 60
    """Longest time between two passes, and how often an Event that keeps firing is refreshed."""

    startup_grace_seconds: Seconds = 60
    """How long a fault must last before it fires; 0 turns all graces off, budgets stay."""

    grace: Graces = {}
    """Grace of single reasons: REASON=SECONDS, comma-separated or repeated."""

    node_boot_budget_seconds: Seconds = 900
    """How long a node may boot before its Workspace counts as failed; stays when graces are off."""

    model_startup_budget_seconds: Seconds = 1800
    """How long a model pod may start, where its start-up probe names no time of its own."""

    load_balancer_budget_seconds: Seconds = 300
    """How long a Gateway may wait for its address; stays when graces are off."""

    emit: Emit = Emit.CAUSES
    """Events for root causes, strictly one for each subject (primary), or all that fires."""

    disable_reasons: Names = ()
    """Reasons that write no Events; the report still shows them."""

    istio_namespace: Namespaces = ("istio-system", "aks-istio-system")
    """Namespaces where istiod may be, comma-separated, the first that has it counts."""

    istiod_deployment: str = "istiod"
    """Deployment of istiod; `<name>-<revision>` is found too. Empty: no Istio, no such CRDs."""

    kaito_namespace: Namespaces = ("kaito-workspace", "kaito-system")
    """Namespaces where the KAITO controller may be."""

    kaito_deployment: str = "kaito-workspace"
    """Deployment of the KAITO controller. Empty: no KAITO, no such CRDs."""

    keda_namespace: Namespaces = ("keda", "kube-system")
    """Namespaces where KEDA may be. Empty: no KEDA, no such CRDs."""

    keda_scaler_namespace: Namespaces = ("keda", "kube-system")
    """Namespaces where the KAITO scaler of KEDA may be."""

    keda_scaler_deployment: str = "keda-kaito-scaler"
    """Deployment of the KAITO scaler of KEDA. Empty: not probed."""

    gateway_auth_namespace: Namespaces = ("llm-gateway-auth",)
    """Namespaces where the gateway authentication may be."""

    gateway_auth_deployment: str = "apikey-authz"
    """Deployment of API-key authentication. Empty: no API keys, no such CRD."""

    gateway_auth_operator_deployment: str = "apikey-operator"
    """Deployment of the operator of API keys. Empty: not probed."""

    azure_authz_namespace: Namespaces = ()
    """Namespaces where azure-authz may be; the gateway authentication's by default."""

    azure_authz_deployment: str = ""
    """Deployment of Azure authentication. Empty: not probed."""

    bbr_namespace: Namespaces = ("kaito-system", "istio-system")
    """Namespaces where the body-based router may be."""

    bbr_deployment: str = "body-based-router"
    """Deployment of the body-based router. Empty: not probed."""

    node_provisioner_name: str = ""
    """Deployment of the node provisioner. Empty: not probed."""

    node_provisioner_namespace: Namespaces = ()
    """Namespaces where the node provisioner may be; needed with its name."""

    network_policy_ignored_namespaces: Names = (
        "keda",
        "kaito-system",
        "kube-system",
        "monitoring",
    )
    """Namespaces that a network policy may name although they do not exist: the chart's defaults."""

    release_namespace: str = "kube-system"
    """Namespace that the umbrella release lives in; `clusterReady` refers to it."""


class DaemonSettings(EvaluationSettings):
    """Settings of `run`."""

    metrics_bind_address: str = ":8080"
    """Where /metrics is served; `0` turns it off."""

    health_probe_bind_address: str = ":8081"
    """Where /healthz and /readyz are served; `0` turns them off."""

    report_bind_address: str = "127.0.0.1:8082"
    """Where the report is served; it names faults of all tenants. `0` turns it off."""

    leader_elect: bool = True
    """Write only while holding the Lease; needed with more than one replica."""

    leader_election_id: str = "productionstack-status-reporter"
    """Name of the Lease in kube-system."""

    lease_duration_seconds: Annotated[float, Field(gt=0, le=600)] = 15.0
    """How long others wait for a leader that went silent."""

    renew_deadline_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0
    """How long a leader tries to renew before it gives up."""

    retry_period_seconds: Annotated[float, Field(gt=0, le=600)] = 2.0
    """Time between two tries to get or renew the Lease."""

    log_level: Annotated[str, Field(pattern="^(debug|info|warning|error)$")] = "info"
    """Least severity that is logged: debug, info, warning or error."""

    log_format: LogFormat = LogFormat.AUTO
    """`console` for people, `json` for machines, `auto` by what stderr is."""
