"""Why a node offers fewer devices than it has, or none.

A kubelet knows devices only from a plugin on its node (Kubernetes, "Device Plugins"; kubelet,
cm/devicemanager). If the resource key is missing, no plugin ever registered; 0 of N: the plugin is
gone or has marked all unhealthy; 0 of 0: it has been gone for over 5 min; M of N: N - M are
unhealthy, and NVIDIA's plugin marks none healthy again until it is restarted. Devices in use are
still offered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final, TypeAlias

from reporter.catalogue.resources import CLUSTERPOLICIES, NODES, PODS
from reporter.diagnosis import daemons
from reporter.diagnosis.case import statuses
from reporter.diagnosis.fit import has_accelerator, is_ready, offered, shown, some
from reporter.diagnosis.texts import Wording
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import Node, Pod, amount
from reporter.model.text import clean, detail
from reporter.snapshot.snapshot import Snapshot

Ask: TypeAlias = Callable[[Pod], Diagnosis | None]
"""Diagnoses another pod, such as the device plugin's on a node."""

_PLUGIN_LABELS: Final = (
    ("app", "nvidia-device-plugin-daemonset"),
    ("name", "nvidia-device-plugin-ds"),
    ("app.kubernetes.io/name", "nvidia-device-plugin"),
    ("k8s-app", "nvidia-gpu-device-plugin"),
    ("k8s-app", "nvidia-device-plugin"),
    ("name", "amdgpu-dp-ds"),
)  # fmt: skip

_CHAIN: Final = (
    ("nvidia-driver-daemonset", "the driver"),
    ("nvidia-container-toolkit-daemonset", "the container toolkit"),
)
"""Pods of the GPU operator (label `app`) that must work before the plugin can, in this order."""

_MODULE: Final = "kmm.node.kubernetes.io/module.name"
"""Label of the pods that load a kernel module on a node (Kernel Module Management, worker pods)."""

MISSING: Final = "device-missing"
ABSENT: Final = "device-absent"

_OFF: Final = ("nvidia.com/gpu.deploy.operands", "nvidia.com/gpu.deploy.device-plugin")
_CONDITIONS: Final = (
    "GPUMissing", "XIDErrors", "NVLinkStatusInactive", "UnhealthyNvidiaDevicePlugin",
    "UnhealthyNvidiaDCGMServices",
)  # fmt: skip
"""Conditions of AKS's node problem detector that are True if devices are at fault."""


_UNHEALTHY: Final = Wording("device-unhealthy", "{whole} offers {offer}: {bad} {state}",
    "{bad} {resource} unhealthy on {name}",
    "Look for Xid errors on {name}, reset the device, then restart the device plugin's pod "
    "there.")  # fmt: skip


def why_missing(
    nodes: list[Node], resource: str, snapshot: Snapshot, *, role: str, ask: Ask | None = None
) -> Diagnosis:
    """Return why otherwise usable nodes offer too few devices, such as `nvidia.com/gpu`.

    `role` describes the nodes in the message, such as `the only node that fits`.
    """
    node = min(nodes, key=lambda each: (offered(each, resource), each.name))
    has = offered(node, resource)
    capacity = amount((node.status.capacity or {}).get(resource))
    name = clean(node.name)
    whole = (
        f"{name}, {role}," if len(nodes) == 1 else f"{role}: {some(n.name for n in nodes)}; {name}"
    )
    if 0 < has < capacity:
        bad, all_of_it = shown(resource, capacity - has), shown(resource, capacity)
        state = f"{'is' if bad == '1' else 'are'} unhealthy{_condition_text(node)}"
        offer = f"{shown(resource, has)} of its {all_of_it} {resource}"
        return _UNHEALTHY.of(
            NODES.ref(node),
            whole=whole,
            offer=offer,
            bad=bad,
            state=state,
            resource=resource,
            name=name,
        )
    offers = f"offers no {resource}"
    if capacity:
        offers = f"offers none of its {shown(resource, capacity)} {resource}"
    why, action, sure = _why_none(node, resource, snapshot, ask=ask)
    cause = f"{whole} {offers}{_condition_text(node)}" + (f": {why}" if why else "")
    brief = f"{name} offers no {resource}"
    action = action or f"Look at the device plugin on {name}."
    about = NODES.ref(node)
    return Diagnosis(MISSING, cause, brief, action, object=about, sureness=sure, shared=True)


def _why_none(
    node: Node, resource: str, snapshot: Snapshot, *, ask: Ask | None
) -> tuple[str, str, Sureness]:
    """Return why a node offers no devices, the action, and how sure the cause is."""
    labels = node.metadata.labels or {}
    off = next((each for each in _OFF if labels.get(each) == "false"), "")
    if off:
        why = f"its label {off}=false switches that off"
        return why, f"Remove the label {off}.", Sureness.CERTAIN
    upgrade = labels.get("nvidia.com/gpu-driver-upgrade-state", "upgrade-done")
    if upgrade != "upgrade-done":
        return f"its driver is being upgraded ({clean(upgrade)})", "", Sureness.LIKELY
    if labels.get("nvidia.com/mig.config.state") == "failed":
        action = "Look at the MIG manager's pod there."
        return "its MIG configuration failed", action, Sureness.CERTAIN
    if other := other_names([node], resource):
        why = other.removeprefix(" (").removesuffix(")")
        return why, "Ask for what it offers.", Sureness.LIKELY
    return _of_pods(node, resource, snapshot, ask=ask)


def _of_pods(
    node: Node, resource: str, snapshot: Snapshot, *, ask: Ask | None
) -> tuple[str, str, Sureness]:
    pods = snapshot.entry(_plumbing, node.name, _plumbing) or ()
    modules = {*daemons.modules_for(resource, snapshot)}
    for each in pods:
        module = each.metadata.label(_MODULE) or ""
        if (each.namespace, module) in modules and each.status.phase != "Succeeded":
            return _pod_text(f"what loads kernel module {clean(module)}", each, ask)
    for app, words in _CHAIN:
        for each in pods:
            if each.metadata.label("app") == app and not each.is_ready:
                return _pod_text(words, each, ask)
    plugin = next((each for each in pods if is_plugin(each) and _serves(each, resource)), None)
    if plugin is not None and not plugin.is_ready:
        return _pod_text("the device plugin", plugin, ask)
    if plugin is not None:
        why = f"its device plugin {plugin.name} runs and finds no device"
        action = f"Look at the log of {plugin.namespace}/{plugin.name} and at the driver."
        return why, action, Sureness.LIKELY
    return _no_plugin(node, resource, snapshot)


def behind(found: Diagnosis, snapshot: Snapshot) -> Iterator[Pod]:
    """Yield the pods whose failure a diagnosis may be about: what a node's devices need."""
    if found.code == MISSING and found.object is not None:
        for each in snapshot.entry(_plumbing, found.object.name, _plumbing) or ():
            if not each.is_ready:
                yield each


def why_idle(
    found: Diagnosis, nodes: Iterable[Node], *, resource: str, snapshot: Snapshot
) -> Diagnosis:
    """Return `found` (no node offers a resource) with what its device plugin lacks or finds.

    Its DaemonSet makes no pods, or not for nodes that have such devices; or a pod of it runs and
    finds nothing, as on most nodes if it runs on every node. The plugin's names identify its
    vendor. Nodes that offer other devices of the vendor are skipped.
    """
    meant = next((each for each in nodes if has_accelerator(each, resource)), None)
    kept = daemons.why_no_plugin(resource, meant, snapshot) if meant else None
    if kept := kept or daemons.why_no_plugins(resource, snapshot):
        return replace(found, cause=f"{found.cause}; {kept[0]}", action=kept[1])
    names = {each.name for each in nodes}
    for each in snapshot.once(("idle plugins", resource), partial(_idle, resource)):
        if each.spec.node_name in names:
            place = f"{each.namespace}/{clean(each.name)}"
            why = f"device plugin {place} on {clean(each.spec.node_name)} runs and finds no device"
            action = f"Look at the log of {place} and at the driver, or add a node that has it."
            return replace(found, cause=f"{found.cause}; {why}", action=action)
    return found


def _idle(resource: str, snapshot: Snapshot) -> tuple[Pod, ...]:
    """Return the Ready device plugins of a resource's vendor on nodes that offer none of his."""
    of, by_node = daemons.vendors(resource), snapshot.once(_plumbing, _plumbing)
    return tuple(
        each
        for node in snapshot[NODES]
        for each in by_node.get(node.name, ())
        if is_plugin(each) and each.is_ready
        if daemons.vendors(each.name) & of and not other_names([node], resource)
    )


def _plumbing(snapshot: Snapshot) -> Mapping[str, tuple[Pod, ...]]:
    """Return the pods of device plugins and the GPU operator by node; cached for the pass."""
    apps = {app for app, _ in _CHAIN}
    return daemons.on_nodes(
        snapshot,
        lambda each: (
            is_plugin(each) or each.metadata.label("app") in apps or each.metadata.label(_MODULE)
        ),
    )


def _no_plugin(node: Node, resource: str, snapshot: Snapshot) -> tuple[str, str, Sureness]:
    if why := _policy(snapshot):
        return why, "Look at the ClusterPolicy and at the operator's pods.", Sureness.CERTAIN
    if not snapshot.absence_known(PODS):
        return "", "", Sureness.CERTAIN
    if kept := daemons.why_no_plugin(resource, node, snapshot):
        return *kept, Sureness.LIKELY
    pods = chain(*snapshot.once(_plumbing, _plumbing).values())
    if any(is_plugin(each) and _serves(each, resource) for each in pods):
        action = "Look at the node's labels and taints, and at what the plugin's DaemonSet selects."
        return "no device plugin's pod is on it", action, Sureness.LIKELY
    if not has_accelerator(node, resource) and not is_ready(node):
        return "", "", Sureness.LIKELY
    action = "Install the device plugin, or the GPU operator."
    return "no device plugin runs in the cluster", action, Sureness.LIKELY


def _pod_text(words: str, pod: Pod, ask: Ask | None) -> tuple[str, str, Sureness]:
    found = ask(pod) if ask else None
    place = f"{pod.namespace}/{clean(pod.name)}"
    if found is not None:
        return f"{words} there ({place}) does not work: {found.cause}", found.action, found.sureness
    why = f"{words} there ({place}) is not Ready{_container_state(pod)}"
    return why, f"Look at the log of pod {place}.", Sureness.CERTAIN


def _container_state(pod: Pod) -> str:
    """Return the state of the first waiting container, in brackets, or nothing."""
    for each in statuses(pod):
        if each.waiting and each.waiting.reason and not each.ready:
            code = f", exit code {each.ended_before.exit_code}" if each.ended_before else ""
            return f" ({clean(each.name)}: {clean(each.waiting.reason)}{code})"
    return ""


def _policy(snapshot: Snapshot) -> str:
    for each in snapshot[CLUSTERPOLICIES]:
        if error := each.status.condition("Error", "True"):
            return f"the GPU operator is not ready ({detail(error.reason, error.message, 160)})"
    return ""


def is_plugin(pod: Pod) -> bool:
    if any(pod.metadata.label(key) == value for key, value in _PLUGIN_LABELS):
        return True
    return any(daemons.is_plugin_image(each.image) for each in pod.spec.containers or ())


def _serves(pod: Pod, resource: str) -> bool:
    """True if the names of a device plugin's pod have no vendor, or that of a resource."""
    images = (each.image for each in pod.spec.containers or ())
    of = daemons.vendors(pod.name, *(pod.metadata.labels or {}).values(), *images)
    return not of or bool(of & daemons.vendors(resource))


def other_names(nodes: Iterable[Node], resource: str) -> str:
    """Return in brackets the other resources of the same vendor that are offered, or nothing."""
    vendor = resource.partition("/")[0]
    offers = {name for node in nodes for name, value in node.status.devices.items() if value}
    found = sorted(e for e in offers if e != resource and e.partition("/")[0] == vendor)
    return f" (there are {some(found)})" if found else ""


def _condition_text(node: Node) -> str:
    """Return in brackets what the node's own conditions say about its devices, or nothing."""
    bad = ((name, "True") for name in _CONDITIONS)
    for name, status in (*bad, ("AcceleratedHardwareReady", "False")):
        if found := node.status.condition(name, status):
            return f" ({name}: {detail(found.reason, found.message, 120)})"
    return ""
