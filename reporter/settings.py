"""Every setting, with its unit, default and one sentence of meaning.

A setting `startup_grace_seconds` is the flag `--startup-grace-seconds`, the environment variable
`STATUS_REPORTER_STARTUP_GRACE_SECONDS` and the key `startup-grace-seconds` of the file that
`--config` names. Settings of KAITO's own reporter, written in Go, keep their names and meanings.

These settings are independent of stacks. Each stack adds its own in a subclass, and
`reporter.stacks.settings` joins them; code of a stack gets its own with `of`.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Annotated, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from reporter import setting_types as t
from reporter.catalogue.custom import extended
from reporter.catalogue.pickers import FROM_PAGES
from reporter.catalogue.runtime import DOWNLOAD_SLOW, STALLED_IDLE, of_kind
from reporter.catalogue.shared_parts import SHARED_CONTROLLERS, SHARED_PARTS, built_in
from reporter.metrics.samples.window import MOST_SAMPLES
from reporter.model.catalogue import Catalogue, CustomComponent
from reporter.model.objects import KubeObject
from reporter.model.reason import Threshold
from reporter.model.resource import Resource
from reporter.model.stack import Controller, StackRows
from reporter.model.text import meant

ENV_PREFIX: Final = "STATUS_REPORTER_"

RUNTIME: Final = "runtime"
"""The reasons from the metrics of serving pods, in `--disable-reasons`."""

_SCRAPE_SECONDS: Final = {t.ScrapeVia.APISERVER_PROXY: 60}
_SCRAPE_SECONDS_DIRECT: Final = 15


class EvaluationSettings(BaseModel):
    """Settings of `run` and `check` that decide on findings and their dispositions."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        validate_default=True,
        defer_build=True,  # many of these classes are made, and one is used
    )

    known_stacks: ClassVar[tuple[StackRows, ...]] = ()
    """The stacks whose settings are included."""

    gone: ClassVar[Mapping[str, str]] = {}
    """Settings of earlier releases, and what to do instead."""

    network_policy_ignored: ClassVar[frozenset[str]] = frozenset(
        {"keda", "kaito-system", "kube-system", "monitoring"}
    )
    """Namespaces that a network policy may name although they do not exist: the chart's
    defaults."""

    resync_seconds: Annotated[int, Field(ge=1, le=3600)] = 60
    """Longest time between two passes, and how often an Event that keeps firing is refreshed."""

    startup_grace_seconds: t.Seconds = 60
    """How long a fault must last before it fires; 0 turns off all graces except those of
    --grace."""

    custom_components: t.CustomComponents = ()
    """Reasons of your own; only in the file. See docs/custom-components.md."""

    grace: t.Graces = {}
    """Grace of a reason (of one from metrics it is the window), or a budget of what takes long:
    node-boot (900), after which a Workspace counts as failed; model-startup (1800), unless a
    startup probe sets a time; load-balancer (300), for a Gateway's address. Comma-separated or
    repeated."""

    model_namespaces: t.Selector = ""
    """Label selector of the namespaces whose models are judged; empty: all. The report lists the
    others."""

    weight_download_window_seconds: Annotated[int, Field(ge=1, le=86_400)] = 60
    """How long a download of weights must be slow without interruption before it is reported."""

    weight_download_min_mbps: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = 20.0
    """Slower than this is slow, in MB (1,000,000 bytes) a second; 0 reports no slow download."""

    runtime_threshold: t.Thresholds = {}
    """Thresholds of reasons from metrics, such as kv-usage=0.9, comma-separated or repeated; see
    docs/runtime.md."""

    scrape_via: Annotated[t.ScrapeVia, t.YamlSwitch] = t.ScrapeVia.AUTO
    """How pods are scraped: by their IP, through the API server, or not at all; auto: by IP in the
    cluster, outside of it not at all."""

    scrape_interval_seconds: Annotated[
        int | None, Field(ge=1, le=3600), t.Allowed("a whole number from 1 to 3600")
    ] = None
    """Time between two scrapes of a pod; 15 by default, 60 through the API server."""

    emit: t.Emit = t.Emit.CAUSES
    """Which findings get Events: root causes, strictly one per subject (primary), or all that
    fire."""

    disable_reasons: t.Reasons = ()
    """Reasons that write no Events; the report still shows them. `runtime`: the metrics of serving
    pods are not judged at all."""

    pod_logs: bool = False
    """Read the logs of containers that crash or do not get ready, for their causes and their last
    lines; needs `get` of `pods/log`."""

    log_signatures: Path | None = None
    """YAML file of your own signatures: what lines of containers' logs mean, in addition to the
    built-in ones."""

    dialects: Path | None = None
    """YAML file with a kind of model of your own, or folder of such files; see docs/dialects.md."""

    stacks: t.Stacks = {}
    """Stacks of model deployments to look at, STACK=auto|on|off; all auto by default. See
    docs/stacks.md."""

    components: t.Components = {}
    """Shared parts, NAME=auto|on|off: expected if something needs them, always, or never; or
    NAME=[NAMESPACE/]DEPLOYMENT: always, and where. See docs/components.md."""

    istio_namespace: t.Namespaces = ("istio-system", "aks-istio-system")
    """Namespaces where istiod may be, comma-separated; the first one that has it counts."""

    istiod_deployment: t.DeploymentName = "istiod"
    """Deployment of istiod; `<name>-<revision>` is found too. Empty: neither Istio nor its CRDs."""

    gateway_auth_namespace: t.Namespaces = ("llm-gateway-auth",)
    """Namespaces where the gateway authentication may be."""

    gateway_auth_deployment: t.DeploymentName = "apikey-authz"
    """Deployment of API-key authentication. Empty: neither API keys nor their CRD."""

    azure_authz_namespace: t.Namespaces = ()
    """Namespaces where azure-authz may be; the gateway authentication's by default."""

    azure_authz_deployment: t.DeploymentName = ""
    """Deployment of Azure authentication. Empty: not probed."""

    bbr_namespace: t.Namespaces = ("kaito-system", "istio-system")
    """Namespaces where the body-based router may be."""

    bbr_deployment: t.DeploymentName = "body-based-router"
    """Deployment of the body-based router. Empty: not probed."""

    release_namespace: t.Namespace = "kube-system"
    """Namespace of the umbrella release; `clusterReady` refers to it."""

    def __hash__(self) -> int:
        """Return a coarse hash, for caches by settings: mostly there is only one instance."""
        return hash((type(self), self.release_namespace))

    @classmethod
    def built_in(cls) -> Catalogue:
        return built_in(cls.known_stacks)

    @classmethod
    def of(cls, settings: "EvaluationSettings") -> Self:
        """Return settings as those of a stack, with its own fields. Raises TypeError."""
        if not isinstance(settings, cls):
            raise TypeError(f"{type(settings).__name__} has no {cls.__name__}")
        return settings

    @cached_property
    def catalogue(self) -> Catalogue:
        return extended(self.built_in(), self.custom_components)

    def stack(self, name: str) -> t.StackMode:
        return self.stacks.get(name, t.StackMode.AUTO)

    def reads(self, resource: Resource[KubeObject]) -> bool:
        """Tell whether a resource of the catalogue is read from a live cluster."""
        if resource.opt_in and not getattr(self, resource.opt_in):
            return False
        mode = self.stack(resource.stack) if resource.stack else t.StackMode.ON
        return mode is t.StackMode.ON or (mode is t.StackMode.AUTO and not resource.wide)

    def component(
        self, part: str, names: tuple[str, ...], *, stack: str = "", with_stack: bool = True
    ) -> t.PartMode:
        """Return whether something of a shared part is expected. A place in `components` sets it
        to on. Without a mode there, it is off with its `stack`, on if one of the settings `names`
        was given, and on with its stack. If one of those settings is empty, it is off.
        """
        chosen = self.components.get(part)
        if isinstance(chosen, t.PartPlace):
            return t.PartMode.ON
        if chosen is t.PartMode.OFF or not all(map(self.has, names)):
            return t.PartMode.OFF
        mode = self.stack(stack) if stack else t.StackMode.AUTO
        if chosen is None and mode is t.StackMode.OFF:
            return t.PartMode.OFF
        if chosen is None and not self.model_fields_set.isdisjoint(names):
            return t.PartMode.ON
        if chosen is None and with_stack and mode is t.StackMode.ON:
            return t.PartMode.ON
        return chosen or t.PartMode.AUTO

    def place_of(
        self, part: str, names: tuple[str, ...], home: tuple[str, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the Deployments of a part and their namespaces: as given, or the usual ones."""
        place = self.components.get(part)
        if not isinstance(place, t.PartPlace):
            return names, home
        return (place.deployment,), (place.namespace,) if place.namespace else home

    @classmethod
    def _parts_of_stacks(cls) -> Iterator[tuple[str, Controller]]:
        for stack in cls.known_stacks:
            yield from ((each.part or stack.name, each) for each in stack.controllers)

    @classmethod
    def known_parts(cls) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*SHARED_PARTS, *dict(cls._parts_of_stacks()))))

    @classmethod
    def placed_parts(cls) -> tuple[str, ...]:
        """Return the parts whose place `components` may name; others have settings of their own."""
        return tuple(name for name, controller in cls._parts_of_stacks() if controller.home)

    def has(self, name: str) -> bool:
        return bool(getattr(self, name))

    def text_of(self, name: str) -> str:
        return str(getattr(self, name))

    def names_of(self, name: str) -> tuple[str, ...]:
        return tuple(map(str, getattr(self, name)))

    def budget(self, name: t.TimeBudget) -> timedelta:
        """Return how long something may take, whether or not graces are off."""
        return timedelta(seconds=self.grace.get(name, t.BUDGETS[name]))

    @property
    def judges_runtime(self) -> bool:
        """Tell whether the metrics of serving pods are judged."""
        return RUNTIME not in self.disable_reasons

    def window_seconds(self, reason: str) -> int:
        """Return the window of a reason that comes from metrics, by the end of its name."""
        chosen = self.grace.get(self.metrics_name(reason))
        if reason == DOWNLOAD_SLOW:
            return chosen or self.weight_download_window_seconds
        return chosen or FROM_PAGES[reason].window_seconds or 0

    @classmethod
    def metrics_name(cls, reason: str) -> str:
        """Return the name that a reason from metrics has in settings.

        It is set once for all kinds of subjects, by its name for the first of them.
        """
        scraped = (each.scraped for each in cls.known_stacks)
        kind = next((each.kind for each in scraped if each), None)
        return of_kind(reason, kind) if kind else reason

    def threshold(self, threshold: Threshold) -> float:
        return self.runtime_threshold.get(threshold.name, threshold.default)

    @property
    def longest_window_seconds(self) -> float:
        return max(self.threshold(STALLED_IDLE), *map(self.window_seconds, FROM_PAGES))

    @property
    def scrape_period(self) -> float:
        default = _SCRAPE_SECONDS.get(self.scrape_via, _SCRAPE_SECONDS_DIRECT)
        return float(self.scrape_interval_seconds or default)

    @field_validator("custom_components")
    @classmethod
    def _declarations_are_right(
        cls, components: tuple[CustomComponent, ...]
    ) -> tuple[CustomComponent, ...]:
        return t.declared_right(components, cls.built_in())

    @field_validator("stacks")
    @classmethod
    def _are_stacks(cls, modes: dict[str, t.StackMode]) -> dict[str, t.StackMode]:
        known = {each.name for each in cls.known_stacks}
        if not known.issuperset(modes):
            raise PydanticCustomError("stacks", "not a stack")
        return modes

    @field_validator("components")
    @classmethod
    def _are_parts(
        cls, parts: dict[str, t.PartMode | t.PartPlace]
    ) -> dict[str, t.PartMode | t.PartPlace]:
        known, placed = cls.known_parts(), cls.placed_parts()
        for name, value in parts.items():
            if name not in known:
                raise ValueError(f"{name!r} is not a shared part{meant(name, known)}")
            if isinstance(value, t.PartPlace) and name not in placed:
                raise ValueError(f"where {name!r} is, settings of its own say")
        return parts

    @field_validator("grace", "disable_reasons")
    @classmethod
    def _are_reasons(cls, names: t.ReasonsT, info: ValidationInfo) -> t.ReasonsT:
        """Refuse unknown reasons; errors in declarations are reported elsewhere."""
        if "custom_components" not in info.data:
            return names
        declared: tuple[CustomComponent, ...] = info.data["custom_components"]
        known = [*(each.name for each in cls.built_in()), *(each.reason for each in declared)]
        known += t.BUDGETS if info.field_name == "grace" else (RUNTIME,)
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is not a reason{meant(name, known)}")
        return names

    @model_validator(mode="after")
    def _windows_fit_in_memory(self) -> Self:
        least = ceil(self.longest_window_seconds / (MOST_SAMPLES - 1))
        if self.scrape_via is not t.ScrapeVia.OFF and self.scrape_period < least:
            window = f"{self.longest_window_seconds:g} s"
            raise t.SettingError(
                "scrape_interval_seconds",
                f"{least} or more (it is {self.scrape_period:g}), because the longest window is "
                f"{window}",
            )
        return self

    @model_validator(mode="after")
    def _parts_have_names(self) -> Self:
        for part, mode in self.components.items():
            if mode is t.PartMode.ON and not self._named(part):
                raise t.SettingError("components", f"{part}=auto or {part}=off, as it has no name")
        return self

    def _named(self, part: str) -> bool:
        shared = ((each.part, each) for each in SHARED_CONTROLLERS)
        return any(
            bool(each.home)
            or (
                self.has(each.else_namespaces or each.namespaces)
                and (bool(each.names) or self.has(each.deployment))
            )
            for name, each in (*shared, *self._parts_of_stacks())
            if name == part
        )

    @model_validator(mode="after")
    def _graces_count(self) -> Self:
        settable = {self.metrics_name(each) for each in FROM_PAGES}
        for reason in self.grace.keys() - t.BUDGETS:
            if self.catalogue[reason].window_seconds is not None and reason not in settable:
                resource, *_ = self.catalogue.of_subject(self.catalogue.metrics_kind)
                raise t.SettingError(
                    "grace",
                    f"for {reason} its name for {resource.kind}s, which counts for all stacks",
                )
        return self


class DaemonSettings(EvaluationSettings):
    scrape_port: t.Port = 5000
    """Port of the metrics, unless the pod's stack names one; plain vLLM has 8000."""

    mirror_to_workload: bool = False
    """Also write each Event about a model on the model itself, in its namespace."""

    alertmanager_url: t.ServerUrls = ()
    """Alertmanagers that get alerts: each of a pair, comma-separated; `dns+http://...` stands for
    each address of a name."""

    alertmanager_credentials: Path | None = None
    """Folder with `token` and `ca.crt` for Alertmanager, like that of a ServiceAccount; one of them
    may be missing. The token is read for each request."""

    alert_fields: t.AlertFields = {}
    """What alerts have in addition: cluster=NAME, their label as in Prometheus; docs=URL, the
    folder where docs/reasons.md can be read; dashboard=URL, a page to link to."""

    metrics_bind_address: t.Address = ":8080"
    """Where /metrics is served; `0` turns it off."""

    metrics_authentication: bool = False
    """Ask the API server who a client of /metrics is, and whether it may `get` that path."""

    health_probe_bind_address: t.Address = ":8081"
    """Where /healthz and /readyz are served; `0` turns them off."""

    report_bind_address: t.Address = "127.0.0.1:8082"
    """Where the report is served; it names faults of all tenants. `0` turns it off."""

    report_hosts: t.Hosts = ()
    """Host names, apart from loopback and addresses, under which the report is served: of a Service
    or a proxy."""

    leader_elect: bool = True
    """Write only while holding the Lease; needed with more than one replica."""

    leader_election_id: t.LeaseName = "productionstack-status-reporter"
    """Name of the Lease in kube-system."""

    lease_duration_seconds: Annotated[float, Field(gt=0, le=600)] = 15.0
    """How long other replicas wait for a leader that no longer renews the Lease. A leader gives up
    after two thirds of it."""

    log_level: Annotated[
        str,
        Field(pattern="^(debug|info|warning|error)$"),
        t.Allowed("debug, info, warning or error"),
    ] = "info"
    """Lowest severity that is logged: debug, info, warning or error."""
