"""What the cluster's objects add to the cause that a log names: settings, limits, mounts, Services.

A log says what failed, seldom what made it fail: the variable or flag that was set, the limit, the
mount, the Service whose pods are not ready. What is added is read from objects, so it is true
whatever the log says; that it belongs to the cause is as sure as the cause itself. Of the
environment only `SETTINGS` are read, of the command line only `FLAGS`, and a value is told only if
it is a plain word.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from reporter.catalogue.resources import NODES, SERVICES, VOLUMES
from reporter.diagnosis import reach
from reporter.diagnosis.case import Case
from reporter.diagnosis.fit import bound_claims, some
from reporter.model import objects as o
from reporter.model.evidence import LogCause
from reporter.model.text import clean, cut


class Fact(NamedTuple):
    """A clause after the cause; `action` precedes that of the cause, and `instead` replaces it."""

    clause: str
    action: str = ""
    instead: bool = False


class _Setting(NamedTuple):
    names: tuple[str, ...]
    clause: str = ", and {name} is set{to}"
    action: str = ""
    true: bool = False
    """Counts only if its value means yes."""

    empty: str = ""
    """The clause if it is set to nothing, where that has a meaning."""


_CHOSEN: Final = _Setting(
    ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
     "ROCR_VISIBLE_DEVICES"),
    empty=", and {name} is set to nothing, which hides every GPU",
)  # fmt: skip
_LIBRARIES: Final = _Setting(("LD_LIBRARY_PATH",))
_OTHER_HUB: Final = _Setting(
    ("VLLM_USE_MODELSCOPE", "SGLANG_USE_MODELSCOPE"),
    ": Hugging Face is asked although {name} is set",
    "Use another version of the engine, which asks ModelScope for all files, or mount the model.",
    true=True,
)
_MIRROR: Final = _Setting(("HF_ENDPOINT",))
_OFFLINE: Final = _Setting(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"), true=True)
_ADDRESS: Final = _Setting(("VLLM_HOST_IP",))
_FRACTION: Final = _Setting(("--gpu-memory-utilization",), "; {name} is {value}")
_SPLIT: Final = _Setting(("--tensor-parallel-size", "--num-shard"), "; {name} is {value}")
_MODEL: Final = _Setting(("--model", "--model-path", "--model-id"), "; {name} is {value}")
_REPOSITORY: Final = _Setting(("--model-repository", "--model-store"), "; {name} is {value}")
_SETTINGS: Final[Mapping[str, tuple[_Setting, ...]]] = {
    **dict.fromkeys(
        ("gpu-ordinal", "v-devices", "v-uuid", "v-world", "nccl-twice", "gpu-none-amd"), (_CHOSEN,)
    ),
    "gpu-none": (_CHOSEN, _LIBRARIES),
    **dict.fromkeys(("driver-combo", "gpu-unknown", "no-libcuda", "symbol"), (_LIBRARIES,)),
    **dict.fromkeys(
        ("no-kernel", "cuda", "kernel-image"), (_Setting(("HSA_OVERRIDE_GFX_VERSION",)),)
    ),
    **dict.fromkeys(
        ("memlock", "nccl-system"),
        (_Setting(("NCCL_BUFFSIZE",), action="Unset NCCL_BUFFSIZE, or lower it."),),
    ),
    "nccl-interface": (_Setting(("NCCL_SOCKET_IFNAME",)),),
    **dict.fromkeys(("gloo", "gloo-self"), (_Setting(("GLOO_SOCKET_IFNAME",)), _ADDRESS)),
    "gloo-interface": (_Setting(("GLOO_SOCKET_IFNAME",)),),
    **dict.fromkeys(("ray-pg", "bind", "v-ray-ip", "rdzv-connect"), (_ADDRESS,)),
    **dict.fromkeys(("v-attn", "v-attn-set"), (_Setting(("VLLM_ATTENTION_BACKEND",)),)),
    **dict.fromkeys(("hf-repo", "hf-file", "hf-unreachable"), (_OTHER_HUB, _MIRROR, _OFFLINE)),
    **dict.fromkeys(("hf-mirror", "hf-down", "lc-hub"), (_MIRROR,)),
    "nixl-self": (_Setting(("VLLM_NIXL_SIDE_CHANNEL_HOST",)),),
    "zmq-empty": (_Setting(("LWS_LEADER_ADDRESS",)),),
    **dict.fromkeys(("v-kv-none", "v-kv-len", "v-kv-auto", "v-mamba"), (_FRACTION,)),
    **dict.fromkeys(("cuda-oom", "gpu-oom", "v-oom-load", "v-oom-warmup"), (_FRACTION, _SPLIT)),
    **dict.fromkeys(("tr-client", "tr-path"), (_REPOSITORY,)),
    **dict.fromkeys(
        ("ks-s3-keys", "ks-s3", "ks-gcs", "ks-gcs-token", "ks-azure", "st-access"), (_MODEL,)
    ),
    "dynamo-routers": (
        _Setting(("DYN_NAMESPACE",), ", which looks for workers in Dynamo namespace {value}"),
    ),
}
_EVERY: Final = "all"
"""The value of NVIDIA_VISIBLE_DEVICES that hides nothing."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.,:/=+^-]{1,120}")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://")


def facts_of(case: Case, container: str, log: LogCause) -> Iterator[Fact]:
    """Yield what objects add to the cause in a container's log, the most telling first."""
    variables = _variables(case, container)
    for each in _SETTINGS.get(log.signature, ()):
        if fact := _set(each, variables):
            yield fact
    if find := _OTHERS.get(log.signature):
        found = find(case, container, log)
        if found is not None:
            yield found


def _variables(case: Case, container: str) -> dict[str, str | None]:
    """Return the variables of a container; None for a value that comes from a reference."""
    spec = case.spec(container)
    if spec is None:
        return {}
    named = ((each.name, None if each.value_from else each.value or "") for each in spec.env or ())
    return {**dict(spec.flags), **dict(named)}


def _set(setting: _Setting, variables: Mapping[str, str | None]) -> Fact | None:
    for name in setting.names:
        value = variables.get(name)
        if setting.empty and value == "":
            action = f"Leave {name} unset: the device plugin decides what the container sees."
            return Fact(setting.empty.format(name=name), action)
        if (
            not value
            or value == _EVERY
            or (setting.true and value.lower() not in {"1", "on", "true", "yes"})
        ):
            continue
        found = _SCHEME.match(value)
        shown = value[found.end() :] if found else value
        if found and found[0].startswith("http"):
            shown = shown.partition("/")[0]
        plain = bool(_PLAIN.fullmatch(shown)) and not value.startswith("masked-")
        if "{value}" in setting.clause and not plain:
            continue
        to = f" to {shown}" if plain else ""
        return Fact(setting.clause.format(name=name, to=to, value=shown), setting.action)
    return None


def _one_gpu(case: Case, container: str, _log: LogCause) -> Fact | None:
    """Return a hint if a container sees no GPU although its pod was given one.

    The device plugin assigns the GPU; the NVIDIA runtime makes it visible. A pod gets that runtime
    by its runtime class, or if it is the node's default (NVIDIA/k8s-device-plugin, README). On GKE
    the plugin mounts the driver instead (Google Cloud, "Run GPUs in GKE Standard").
    """
    devices = (each for each in case.pod.spec.devices if each[0].startswith("nvidia.com/"))
    gpus = next((f"{count} {name}" for name, count in devices), "")
    if not gpus or case.pod.spec.runtime_class_name:
        return None
    given = f", although the pod is given {cut(clean(gpus), 80)}: "
    node = case.snapshot[NODES].get("", case.pod.spec.node_name or "")
    if node is not None and any(
        key.startswith("cloud.google.com/gke-") for key in node.metadata.labels or ()
    ):
        if "LD_LIBRARY_PATH" in _variables(case, container):
            return Fact(given + "GKE mounts the driver in /usr/local/nvidia")
        return Fact(
            f"{given}GKE mounts the driver in /usr/local/nvidia, which the library path of the "
            "image may lack",
            "Set LD_LIBRARY_PATH to /usr/local/nvidia/lib64:/usr/local/cuda/lib64.",
            instead=True,
        )
    return Fact(
        f"{given}it has no runtimeClassName, and nvidia may not be the default runtime of its node"
    )


def _architecture(case: Case, container: str, _log: LogCause) -> Fact:
    place = case.place(container).values
    return Fact(f": {place['image']} on node {place['node']}{place['processor']}")


def _image(case: Case, container: str, _log: LogCause) -> Fact | None:
    image = case.place(container).image
    return Fact(f"; its image is {cut(clean(image), 160)}") if image else None


def _limit(case: Case, container: str, _log: LogCause) -> Fact | None:
    limit = case.place(container).limit
    return Fact(f"; its memory limit is {limit}") if limit else None


def _killed(case: Case, container: str, log: LogCause) -> Fact | None:
    """Return the limit that was exceeded; without one the node is out of memory."""
    if not case.lacks_limit(container):
        return _limit(case, container, log)
    action = f"Set a memory request and limit, and look at the memory of node {case.node}."
    return Fact("; it has no memory limit", action, instead=True)


def _mount_of(case: Case, container: str, log: LogCause) -> o.Mount | None:
    path = next(filter(None, map(log.values.get, ("path", "before", "go"))), "")
    spec = case.spec(container)
    mounts = ((spec.volume_mounts if spec else None) or ()) if path else ()
    found = [each for each in mounts if f"{path}/".startswith(f"{each.mount_path.rstrip('/')}/")]
    return max(found, key=lambda each: len(each.mount_path), default=None)


def _volume(case: Case, container: str, log: LogCause) -> Fact | None:
    """Return which volume holds the path that a log names, with its driver if all are of one."""
    mount = _mount_of(case, container, log)
    if mount is None or not mount.name:
        return None
    name = f"{cut(clean(mount.name), 80)}{_driver(case, mount)}"
    return Fact(f"; volume {name} is mounted at {_short(mount.mount_path)}")


def _user(case: Case, container: str, _log: LogCause) -> Fact | None:
    """Return that a file may be there and be closed to the container's user, if it is not root."""
    user = case.place(container).user
    if not user:
        return None
    return Fact(
        f", or its user {user} may not read it",
        "Run as the user that the image is made for, or use an image that has it.",
        instead=True,
    )


def _mount(case: Case, container: str, log: LogCause) -> Fact | None:
    """Return what the pod says of the mount with a path that cannot be written.

    A volume of NFS, a hostPath, and a driver whose fsGroupPolicy is None ignore the pod's fsGroup
    (Kubernetes, "Configure a Security Context for a Pod or Container"; CSIDriver).
    """
    mount = _mount_of(case, container, log)
    if mount is None:
        return None
    named = cut(clean(mount.mount_path), 120)
    if log.signature == _READ_ONLY:
        return Fact(f": the pod mounts {named} with readOnly") if mount.read_only else None
    asked = case.pod.spec.security_context
    group = asked.fs_group if asked else None
    if group is None:
        return None
    of = _driver(case, mount)
    clause = f", although the pod has fsGroup {group}: the volume at {named}{of} may not apply it"
    action = (
        "Look at fsGroupPolicy of its CSIDriver; give the folder to that user, such as by an init "
        "container that runs as root, or run as its owner."
    )
    return Fact(clause, action, True)


_READ_ONLY: Final = "read-only"


def _missing(case: Case, container: str, log: LogCause) -> Fact | None:
    """Return which volume should have a path that a container does not find.

    A path of the image has no volume: only what lies beside a mount is told of other files.
    """
    spec, values = case.spec(container), log.values
    path = next(filter(None, map(values.get, ("path", "base", "file", "program"))), "")
    if spec is None or not path.startswith("/"):
        return None
    paths = {each.mount_path.rstrip("/"): each.name for each in spec.volume_mounts or ()}
    over = [each for each in paths if each and f"{path}/".startswith(f"{each}/")]
    if over:
        place = max(over, key=len)
        claim = case.pod.claim_of(paths[place])
        of = f" (claim {cut(clean(claim), 120)})" if claim else ""
        return Fact(f"; volume {cut(clean(paths[place]), 80)}{of} is mounted at {_short(place)}")
    top = f"/{path[1:].partition('/')[0]}"
    near = [each for each in paths if f"{each}/".startswith(f"{top}/")]
    if near:
        return Fact(f"; the pod mounts {some([_short(each) for each in sorted(near)])}, not that")
    return Fact("; no volume is mounted there") if log.signature in _OF_MODELS else None


def _short(path: str) -> str:
    return cut(clean(path), 120)


_OF_MODELS: Final = frozenset({"hf-id", "hf-config", "hf-no-config", "lc-path", "v-lora-path"})
"""Signatures whose path is that of a model, which no image has."""


def same_port(case: Case, container: str, port: str) -> Fact | None:
    """Return what else of the pod is set to a port: its flags, variables and other containers."""
    found = [
        name
        for name, value in _variables(case, container).items()
        if value == port and name.lower().endswith("port")
    ]
    if len(found) > 1:
        action = f"Give each another port{_INSIDE if 'VLLM_PORT' in found else '.'}"
        return Fact(f": {' and '.join(sorted(found)[:2])} both give {port}", action, True)
    spec = case.pod.spec
    sidecars = (each for each in spec.init_containers or () if each.restart_policy == "Always")
    beside = [
        each.name
        for each in (*(spec.containers or ()), *sidecars)
        if each.name != container and any(f"{of.container_port}" == port for of in each.ports or ())
    ]
    return Fact(f"; container {cut(clean(beside[0]), 80)} has it too") if beside else None


_INSIDE: Final = "; VLLM_PORT is for vLLM's own processes, not for its API."


def _port(case: Case, container: str, log: LogCause) -> Fact | None:
    port = next(filter(None, map(log.values.get, ("port", "tcp", "number"))), "")
    return same_port(case, container, port) if port else None


_HUBS: Final = {"modelscope": _Setting(_OTHER_HUB.names, ", which {name} asks for", true=True)}
"""Settings that need a Python module, by its name."""


def _asked(case: Case, container: str, log: LogCause) -> Fact | None:
    setting = _HUBS.get(log.values.get("mod", ""))
    return _set(setting, _variables(case, container)) if setting else None


def _driver(case: Case, mount: o.Mount) -> str:
    """Return the driver of a mounted volume in parentheses, if it is that of a claim."""
    claim = case.pod.claim_of(mount.name)
    bound = next((of for e, of in bound_claims(case.pod, case.snapshot) if e.name == claim), "")
    volume = case.snapshot[VOLUMES].get("", bound)
    driver = volume.spec.csi.driver if volume is not None and volume.spec.csi else ""
    return f" ({cut(clean(driver), 120)})" if driver else ""


def _behind(case: Case, container: str, log: LogCause) -> Fact | None:
    """Return what keeps the pod from the Service that it asked, unless that selects it too.

    Where the log has no name, it is the one that the container's environment names.
    """
    own = case.pod.metadata.labels
    for name, address in _addresses(case, container, log):
        host, _, port = _SCHEME.sub("", address).rpartition("@")[2].partition("/")[0].partition(":")
        numeric = host[:1].isdigit()
        asked = None if numeric else reach.placed(host, case.pod.namespace, case.snapshot)
        found = reach.of_address(host, case.snapshot) if numeric else None
        if asked is not None:
            found = case.snapshot[SERVICES].get(asked.namespace, asked.service)
        if found is None or not found.spec.selector:
            continue
        selects = o.LabelSelector(match_labels=found.spec.selector)
        if found.namespace == case.pod.namespace and selects.matches(own):
            continue
        of = f", which {name} names," if name else ""
        where = f"{found.namespace}/" if found.namespace != case.pod.namespace else ""
        service = f"Service {where}{clean(found.name)}"
        if reach.selects_ready(found, case.snapshot) is False:
            return Fact(f": {service}{of} has no ready pod")
        if not reach.TIMED_OUT.search(log.values.get("why", "")):
            continue
        asked_port = int(port) if port.isdecimal() else 0
        if why := reach.why_shut(found, asked_port, case.snapshot, client=case.pod):
            return Fact(f": {why}", "Let it through in the policy.", instead=True)
        if asked_port and reach.selects_ready(found, case.snapshot):
            return Fact(f": {service}{of} has ready pods, and its port {port} does not answer")
    return None


_SELF: Final = ("127.", "0.", "::1")
_ADDRESSES: Final = ("LMCACHE_REMOTE_URL", "NATS_SERVER")


def _addresses(case: Case, container: str, log: LogCause) -> Iterator[tuple[str, str]]:
    said = next(filter(None, map(log.values.get, ("host", "url", "ip", "addr"))), "")
    if said[:1].isalpha() or reach.of_address(said.partition(":")[0], case.snapshot):
        yield "", said
    elif not said.startswith(_SELF):
        variables = _variables(case, container)
        yield from ((name, of) for name in _ADDRESSES if (of := variables.get(name)))


def _unresolved(case: Case, container: str, log: LogCause) -> Fact | None:
    """Return why a name of the cluster does not resolve, by the Services and pods that it names."""
    said = next(filter(None, map(log.values.get, ("host", "address", "name"))), "")
    host = said or _variables(case, container).get("LWS_LEADER_ADDRESS", "")
    own = host == case.pod.name
    asked = reach.placed(host, case.pod.namespace, case.snapshot) if host and not own else None
    why = reach.why_no_address(asked, case.snapshot) if asked else ""
    return Fact(f": {why}") if why else None


_OTHERS: Final[Mapping[str, Callable[[Case, str, LogCause], Fact | None]]] = {
    "gpu-none": _one_gpu,
    "exec-format": _architecture,
    **dict.fromkeys(
        ("v-args", "v-arg-choice", "v-arg-clap", "v-model-type", "v-arch", "v-quant-name",
         "v-parser", "v-tokenizer-class", "v-tokenizer-new", "lc-arch", "lc-argument", "tei-cap",
         "tr-engine", "tr-engine-key", "built-for", "module-version", "s-package"),
        _image,
    ),
    **dict.fromkeys(
        ("killed", "child-killed", "v-worker-killed", "s-killed", "lc-killed", "host-oom",
         "cpu-oom"),
        _killed,
    ),
    **dict.fromkeys(("lc-host", "s-host", "v-swap", "pinned", "mmap", "ray-late"), _limit),
    **dict.fromkeys(("denied", _READ_ONLY), _mount),
    **dict.fromkeys(("hf-space", "not-permitted"), _volume),
    "no-library": _user,
    **dict.fromkeys(
        ("refused", "address", "host", "dynamo-etcd", "dynamo-nats", "ctl-api"), _behind
    ),
    **dict.fromkeys(("dns", "rdzv-connect", "zmq-empty"), _unresolved),
    **dict.fromkeys(
        (*_OF_MODELS, "v-no-weights", "v-lora-empty", "v-template", "tr-path", "ks-unfilled",
         "mlserver-uri", "no-file", "no-script", "no-readable"),
        _missing,
    ),
    "port": _port,
    "no-module": _asked,
}  # fmt: skip
"""By signature."""
