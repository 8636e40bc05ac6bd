"""Pods and Deployments."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from reporter.model.objects import base, demands
from reporter.model.text import small_number


class ProbeTarget(base.Part, frozen=True):
    scheme: str = ""
    path: str = ""
    port: int | str = ""
    service: str = ""


class ProbeCommand(base.Part, frozen=True):
    command: tuple[str, ...] | None = None


class Probe(base.Part, frozen=True):
    http_get: ProbeTarget | None = None
    tcp_socket: ProbeTarget | None = None
    grpc: ProbeTarget | None = None
    exec: ProbeCommand | None = None
    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    timeout_seconds: int | None = None
    failure_threshold: int | None = None

    @property
    def port(self) -> int | None:
        """The port number that it probes; None for a command or a named port."""
        target = self.http_get or self.tcp_socket or self.grpc
        return target.port if target is not None and isinstance(target.port, int) else None

    @property
    def budget_seconds(self) -> int:
        """Seconds until the probe gives up; the API's defaults are 10 s and 3 tries."""
        tries = (self.period_seconds or 10) * (self.failure_threshold or 3)
        return (self.initial_delay_seconds or 0) + tries


class ContainerPort(base.Part, frozen=True):
    container_port: int
    name: str = ""


class Mount(base.Part, frozen=True):
    name: str = ""
    mount_path: str = ""
    read_only: bool | None = None


class Variable(base.Part, frozen=True):
    """An environment variable; its value is unknown if it comes from a reference, `value_from`."""

    name: str
    value: str | None = ""
    value_from: demands.Something | None = None


SETTINGS: Final = frozenset({
    "CUDA_VISIBLE_DEVICES", "DYN_NAMESPACE", "GLOO_SOCKET_IFNAME", "HF_ENDPOINT", "HF_HUB_OFFLINE",
    "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "LD_LIBRARY_PATH", "LMCACHE_REMOTE_URL",
    "LWS_LEADER_ADDRESS",
    "NATS_SERVER", "NCCL_BUFFSIZE", "NCCL_SOCKET_IFNAME", "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "SGLANG_USE_MODELSCOPE", "TRANSFORMERS_OFFLINE",
    "VLLM_ATTENTION_BACKEND", "VLLM_HOST_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_PORT",
    "VLLM_USE_MODELSCOPE",
})  # fmt: skip
"""Environment variables of engines that explain errors in their logs; none is a credential."""

_MOST_SETTINGS: Final = 40

FLAGS: Final = frozenset({
    "--cache-ram", "--cpu-offload-gb", "--ctx-size", "--data-parallel-rpc-port",
    "--gpu-memory-utilization", "--hicache-size", "--master-port", "--max-model-len",
    "--max-num-seqs", "--model", "--model-id", "--model-path", "--model-repository",
    "--model-store", "--n-gpu-layers", "--nccl-port", "--num-shard", "--pipeline-parallel-size",
    "--port", "--prometheus-port", "--tensor-parallel-size",
})  # fmt: skip
"""Flags of engines that explain errors in their logs; none is a credential."""

Flags: TypeAlias = tuple[tuple[str, str], ...]
_MOST_WORDS: Final = 400
_MOST_OF_LINE: Final = 4_096
_MOST_OF_VALUE: Final = 200


_SEVERAL: Final = re.compile(r"[;&\n]")
"""What stands between the commands of a shell."""


def _flags(line: str) -> Iterator[tuple[str, str]]:
    """Yield the `FLAGS` of a command line with their values; a shell's words count too."""
    words = [each.strip("\"'\\") for each in line.split()[:_MOST_WORDS]]
    for word, following in pairwise((*words, "")):
        name, _, value = word.partition("=")
        name = name.replace("_", "-")
        if name in FLAGS:
            value = value or ("" if following.startswith("-") else following)
            yield name, value[:_MOST_OF_VALUE]


class Container(base.Part, frozen=True):
    """`restart_policy` `Always` makes an init container a sidecar; `env` has only `SETTINGS`.

    `flags` are those of `FLAGS` in `command` and `args`, which are not kept. Of several values the
    last counts, and none where a shell runs several commands.
    """

    name: str
    image: str = ""
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    ports: tuple[ContainerPort, ...] | None = None
    resources: demands.ResourceRequests | None = None
    restart_policy: str | None = None
    security_context: demands.SecurityContext | None = None
    volume_mounts: tuple[Mount, ...] | None = None
    env: tuple[Variable, ...] | None = None
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    flags: Flags = msgspec.field(name=base.NOT_READ, default=())

    def __post_init__(self) -> None:
        """Drop all other variables and arguments: there are many, and some are passwords."""
        if self.command is not None or self.args is not None:
            line = " ".join((*(self.command or ()), *(self.args or ())))[:_MOST_OF_LINE]
            found = tuple(_flags(line))
            if _SEVERAL.search(line.replace("\\\n", " ")):
                values = Counter(name for name, _ in set(found))
                found = tuple(each for each in found if values[each[0]] == 1)
            force_setattr(self, "flags", found)
            force_setattr(self, "command", None)
            force_setattr(self, "args", None)
        if self.env is not None:
            kept = tuple(each for each in self.env if each.name in SETTINGS)[:_MOST_SETTINGS]
            force_setattr(self, "env", kept or None)

    @property
    def serves_tls(self) -> bool:
        """Whether the kubelet probes it by HTTPS, so its metrics are read by HTTPS too."""
        probe = self.readiness_probe
        return bool(probe and probe.http_get and probe.http_get.scheme == "HTTPS")

    def settled(self) -> "Container":
        """Return it without the fields that explain why a container does not work."""
        readiness = self.readiness_probe if self.serves_tls else None
        return Container(self.name, self.image, readiness_probe=readiness, ports=self.ports)


Devices: TypeAlias = tuple[tuple[str, int], ...]
"""Extended resources and their counts, sorted by name."""


class PodSpec(base.Part, frozen=True):
    """`volumes` are read for claims only, and None once `claims` has their names.

    `claimed` are the names of the volumes of `claims`, in the same order. `devices` are the
    extended resources that it requests, such as `nvidia.com/gpu`.
    """

    node_name: str | None = None
    host_network: bool = False
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    termination_grace_period_seconds: int | None = None
    overhead: demands.Quantities | None = None
    resources: demands.ResourceRequests | None = None
    node_selector: dict[str, str] | None = None
    affinity: demands.Affinity | None = None
    tolerations: tuple[demands.Toleration, ...] | None = None
    scheduling_gates: tuple[demands.Named, ...] | None = None
    scheduler_name: str | None = None
    runtime_class_name: str | None = None
    security_context: demands.SecurityContext | None = None
    image_pull_secrets: tuple[demands.Named, ...] | None = None
    volumes: tuple[demands.Volume, ...] | None = None
    claims: tuple[str, ...] | None = msgspec.field(name=f"{base.NOT_READ}-claims", default=None)
    claimed: tuple[str, ...] = msgspec.field(name=f"{base.NOT_READ}-claimed", default=())
    devices: Devices = msgspec.field(name=base.NOT_READ, default=())

    def __post_init__(self) -> None:
        if any(map(_asks_for_devices, self.init_containers or ())):
            asked = self.demand
        else:
            asking = [each for each in self.containers or () if _asks_for_devices(each)]
            asked = demands.total(map(_requests, asking)) if asking else {}
        if asked:
            found = sorted((k, int(v)) for k, v in asked.items() if demands.is_device(k) and v)
            few = sum(len(name) for name, _ in found) <= _FEW_CHARACTERS
            force_setattr(self, "devices", _kept(tuple(found)) if few else tuple(found))

    @property
    def demand(self) -> dict[str, float]:
        """What a node must have free for it, by resource.

        For each resource, the larger of two sums counts: the requests of the main containers and
        sidecars, or those of an init container and the sidecars before it. Requests of the pod as a
        whole replace its containers' CPU and memory, and the overhead is added (Kubernetes,
        component-helpers, resource/helpers.go).
        """
        sidecars: dict[str, float] = {}
        most: dict[str, float] = {}
        for each in self.init_containers or ():
            if each.restart_policy == "Always":
                sidecars = demands.total([sidecars, _requests(each)])
                start = sidecars
            else:
                start = demands.total([sidecars, _requests(each)])
            most = _larger(most, start)
        found = _larger(most, demands.total([sidecars, *map(_requests, self.containers or ())]))
        for name, value in demands.amounts(_asked(self.resources)).items():
            if not demands.is_device(name):
                found[name] = value
        return demands.total([found, demands.amounts(self.overhead)])

    def settled(self) -> "PodSpec":
        """Return it without the fields that explain why a pod does not run.

        Its anti-affinity stays: it keeps other pods away.
        """
        kept = self.affinity.kept_away[:_FEW_TERMS] if self.affinity else ()
        away = demands.PodAffinity(kept) if kept else None
        return PodSpec(
            node_name=self.node_name,
            host_network=self.host_network,
            affinity=demands.Affinity(pod_anti_affinity=away) if away else None,
            containers=tuple(each.settled() for each in self.containers or ()),
            termination_grace_period_seconds=self.termination_grace_period_seconds,
            claims=self.claims,
            devices=self.devices,
        )


_FEW_CHARACTERS: Final = 512
"""Maximum length of the names of a pod's devices, in sum, for the cache."""


_FEW_TERMS: Final = 4
"""Of an affinity to pods; controllers write one or two."""


@lru_cache(maxsize=1_024)
def _kept(devices: Devices) -> Devices:
    """Return one shared tuple for equal devices: most pods request the same."""
    return devices


def _asked(resources: demands.ResourceRequests | None) -> demands.Quantities | None:
    """Return the requests, derived from limits where missing, as the API server does."""
    if resources is None or not resources.limits:
        return resources.requests if resources else None
    return {**resources.limits, **(resources.requests or {})}


def _asks_for_devices(container: Container) -> bool:
    return any(map(demands.is_device, _asked(container.resources) or ()))


def _requests(container: Container) -> dict[str, float]:
    return demands.amounts(_asked(container.resources))


def _larger(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {key: max(one.get(key, 0.0), other.get(key, 0.0)) for key in one | other}


class Waiting(base.Part, frozen=True):
    reason: str | None = None
    message: str | None = None


class Running(base.Part, frozen=True):
    started_at: base.Timestamp | None = None


class Terminated(base.Part, frozen=True):
    exit_code: int = 0
    reason: str | None = None
    message: str | None = None
    started_at: base.Timestamp | None = None
    finished_at: base.Timestamp | None = None


class ContainerState(base.Part, frozen=True):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(base.Part, frozen=True):
    """`started`: its startup probe has succeeded, or it has no such probe."""

    name: str
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None

    @property
    def waiting(self) -> Waiting | None:
        return self.state.waiting if self.state else None

    @property
    def running(self) -> Running | None:
        return self.state.running if self.state else None

    @property
    def ended(self) -> Terminated | None:
        return self.state.terminated if self.state else None

    @property
    def ended_before(self) -> Terminated | None:
        """How its previous run ended."""
        return self.last_state.terminated if self.last_state else None


class PodStatus(base.Conditioned, frozen=True):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    pod_ip: str | None = msgspec.field(name="podIP", default=None)
    nominated_node_name: str | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class PodAnnotations(base.Annotations, frozen=True):
    """The PodGroup that the pod is a member of: of Volcano, or of KAI's scheduler."""

    group: str | None = msgspec.field(name="scheduling.k8s.io/group-name", default=None)
    kai_group: str | None = msgspec.field(name="pod-group-name", default=None)


class PodMetadata(base.UnmanagedMetadata, frozen=True):
    """`deletion_grace_period_seconds` may differ from the spec's, as with `kubectl drain`.

    `finalizers` are kept of pods that are being deleted.
    """

    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] | None = None
    annotations: PodAnnotations | None = None

    def __post_init__(self) -> None:
        """Drop finalizers that do not hold a deletion."""
        if self.finalizers and self.deletion_timestamp is None:
            force_setattr(self, "finalizers", None)


class Pod(base.KubeObject, frozen=True):
    """v1 Pod; if it is Ready, `spec` has only what matters to other objects."""

    metadata: PodMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def __post_init__(self) -> None:
        """Keep the names of its claims, and if it is Ready, drop what explains why it might not
        run: there are thousands of Ready pods.
        """
        if self.spec.volumes is not None:
            claims = [(e.name, name) for e in self.spec.volumes if (name := self._claim(e))]
            force_setattr(self.spec, "volumes", None)
            force_setattr(self.spec, "claims", tuple(name for _, name in claims) or None)
            force_setattr(self.spec, "claimed", tuple(name for name, _ in claims))
        if self.spec.node_name and self.status.condition("Ready", "True"):
            force_setattr(self, "spec", self.spec.settled())

    @property
    def ended(self) -> bool:
        """True in a terminal phase: nothing of it runs any more (Kubernetes, "Pod Lifecycle")."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_ready(self) -> bool:
        return self.status.condition("Ready", "True") is not None

    @property
    def is_placed(self) -> bool:
        """True if it takes up room on a node."""
        return bool(self.spec.node_name) and not self.ended

    @property
    def claims(self) -> tuple[str, ...]:
        return self.spec.claims or ()

    def claim_of(self, volume: str) -> str:
        """Return the claim of a volume by its name, or nothing."""
        return dict(zip(self.spec.claimed, self.claims, strict=False)).get(volume, "")

    def _claim(self, volume: demands.Volume) -> str:
        if volume.persistent_volume_claim is not None:
            return volume.persistent_volume_claim.claim_name
        return f"{self.name}-{volume.name}" if volume.ephemeral is not None else ""


class TemplateContainer(base.Part, frozen=True):
    """A container of a pod template; `env` has only the variables of OpenTelemetry."""

    name: str
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    ports: tuple[ContainerPort, ...] | None = None

    def __post_init__(self) -> None:
        """Drop all other variables: there are many, and some are passwords."""
        if self.env is not None:
            kept = tuple(each for each in self.env if each.name.startswith("OTEL_"))
            force_setattr(self, "env", kept or None)


class TemplateMetadata(base.Part, frozen=True):
    labels: base.Labels | None = None
    annotations: dict[str, str] | None = None


class TemplateSpec(base.Part, frozen=True):
    init_containers: tuple[TemplateContainer, ...] | None = None
    containers: tuple[TemplateContainer, ...] | None = None


class PodTemplate(base.Part, frozen=True):
    metadata: TemplateMetadata = TemplateMetadata()
    spec: TemplateSpec = TemplateSpec()


class RollingUpdateLimits(base.Part, frozen=True):
    max_unavailable: int | str | None = None


class DeploymentStrategy(base.Part, frozen=True):
    type: str | None = None
    rolling_update: RollingUpdateLimits | None = None


class DeploymentSpec(base.Part, frozen=True):
    replicas: int | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None
    selector: base.LabelSelector | None = None
    strategy: DeploymentStrategy | None = None
    template: PodTemplate = PodTemplate()

    @property
    def recreates(self) -> bool:
        """Whether all old pods have to end before a new one is created."""
        return self.strategy is not None and self.strategy.type == "Recreate"

    @property
    def may_lack(self) -> int:
        """How many replicas a rollout may remove: 25 % by default, percents are rounded down."""
        update = self.strategy.rolling_update if self.strategy else None
        written = update.max_unavailable if update else None
        if isinstance(written, int):
            return written
        percent = (written or "25%").removesuffix("%")
        return small_number(percent) * (self.replicas or 0) // 100


class DeploymentStatus(base.Conditioned, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0


class Deployment(base.KubeObject, frozen=True):
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def wanted(self) -> int:
        """Replicas asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas
