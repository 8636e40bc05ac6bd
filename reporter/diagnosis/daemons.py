"""Why a DaemonSet has no pod on a node: device plugins and storage drivers run that way.

A DaemonSet's controller makes a pod for each node whose labels its template selects and whose
taints it tolerates, and says nothing about the others: the node counts in no field of its status
(kubernetes, pkg/controller/daemon, nodeShouldRunDaemonPod). Pods that admission refuses are missing
everywhere, and only Events of the DaemonSet say so.

A node that a DaemonSet does not select may well be none of its business. So this answers only for a
node that is known to lack what the DaemonSet brings, and whoever asks decides how sure that is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from reporter.catalogue.resources import DAEMONSETS, INFERENCEPOOLS, PODS
from reporter.diagnosis import fit
from reporter.diagnosis.case import why_not_made
from reporter.model.objects import DaemonSet, Node, Pod, TemplateContainer
from reporter.model.stack import ObjectT
from reporter.model.text import clean
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot


def without_tenants(found: Iterable[ObjectT], snapshot: Snapshot) -> tuple[ObjectT, ...]:
    """Return the objects outside of the namespaces of models, or all if they are nowhere else.

    A tenant may give a pod or DaemonSet the name, labels and image of a part of the nodes.
    """
    every, places = tuple(found), places_of_models(snapshot)
    return tuple(each for each in every if each.namespace not in places) or every


def on_nodes(snapshot: Snapshot, shows: Callable[[Pod], object]) -> dict[str, tuple[Pod, ...]]:
    """Return the pods that `shows` selects, by node, without those of tenants."""
    pods = ((each.spec.node_name or "", each) for each in snapshot[PODS] if shows(each))
    return {node: without_tenants(found, snapshot) for node, found in grouped(pods).items()}


def places_of_models(snapshot: Snapshot) -> frozenset[str]:
    return snapshot.once(_places_of_models, _places_of_models)


def _places_of_models(snapshot: Snapshot) -> frozenset[str]:
    kinds = (each for each in snapshot.tables if each.subject_kind is not None)
    return frozenset(obj.namespace for each in (*kinds, INFERENCEPOOLS) for obj in snapshot[each])


class Missing(NamedTuple):
    """Why a DaemonSet has no pod on a node, to follow its name, and what to do.

    `selects` is False if the labels of the node are the cause.
    """

    why: str
    action: str
    selects: bool = True


def placed(daemon: DaemonSet) -> str:
    """Return a DaemonSet in words: `DaemonSet kube-system/nvidia-device-plugin`."""
    return f"DaemonSet {daemon.namespace}/{clean(daemon.name)}"


def why_not_on(daemon: DaemonSet, node: Node, snapshot: Snapshot) -> Missing | None:
    """Return why a DaemonSet has no pod on a node; None if it has one, or if nothing says why."""
    if _is_on(daemon, node, snapshot) or not snapshot.absence_known(PODS):
        return None
    if fit.asks_too_much(daemon.spec.template.spec):
        return None
    place, name = placed(daemon), clean(node.name)
    for each in fit.demands_of_daemon(daemon.spec.template.spec):
        if each.is_met(node):
            continue
        if each.plugin is fit.Plugin.TAINT:
            taints = fit.written_taints(each.taints(node))
            mend = f"Add a toleration to {place}, or remove the taint from {name}."
            return Missing(f"does not tolerate {taints} of {name}", mend)
        mend = f"Correct the label of {name}, or what {place} selects."
        return Missing(f"does not select it: {name} {each.why(node)}", mend, selects=False)
    return refused(daemon, snapshot)


def refused(daemon: DaemonSet, snapshot: Snapshot) -> Missing | None:
    """Return why the pods of a DaemonSet are not created; None if they are, or nobody says."""
    if daemon.status.current_number_scheduled >= daemon.wanted:
        return None
    found = why_not_made("DaemonSet", daemon, snapshot)
    return Missing(f"cannot make its pods: {found.cause}", found.action) if found else None


def _is_on(daemon: DaemonSet, node: Node, snapshot: Snapshot) -> bool:
    return daemon.metadata.uid in (snapshot.entry(_on_nodes, node.name, _on_nodes) or ())


def _on_nodes(snapshot: Snapshot) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for each in snapshot[PODS]:
        for owner in each.metadata.owner_references or ():
            if owner.kind == "DaemonSet" and each.spec.node_name and not each.ended:
                found.setdefault(each.spec.node_name, set()).add(owner.uid)
    return {node: frozenset(uids) for node, uids in found.items()}


def of_driver(driver: str, snapshot: Snapshot) -> DaemonSet | None:
    """Return the DaemonSet that registers a storage driver on nodes, or None.

    The registrar's arguments have the path of the driver's socket, whose folder has its name
    (kubernetes-csi, node-driver-registrar, --kubelet-registration-path).
    """
    found = without_tenants(snapshot.entry(_by_words, driver, _by_words) or (), snapshot)
    return found[0] if len(found) == 1 else None


def _by_words(snapshot: Snapshot) -> Mapping[str, tuple[DaemonSet, ...]]:
    return grouped(
        (word, each)
        for each in snapshot[DAEMONSETS]
        for word in {
            word
            for one in _containers(each)
            for said in (*(one.command or ()), *(one.args or ()))
            for word in re.split(r"[=/,\s]", said)
        }
    )


_VENDORS: Final = ("nvidia", "amd", "rocm", "intel", "neuron", "habana", "gaudi", "tpu")
_SAME: Final = {"amd": "rocm", "habana": "gaudi"}
"""Other names of vendors, by those in their resources."""

_OF_DEVICES: Final = re.compile(r"(?:device|gpu|xpu|tpu)-plugin(?!s?-operator)")
_BESIDE: Final = re.compile(r"feature-discovery|mps-control|exporter|validator")
"""Names of DaemonSets that run the image of a device plugin and offer nothing."""


def is_plugin_image(image: str) -> bool:
    """True if an image is named like a device plugin: `k8s-device-plugin`, `intel-gpu-plugin`."""
    return _OF_DEVICES.search(image.rpartition("/")[2].partition("@")[0]) is not None


def vendors(*words: str) -> frozenset[str]:
    """Return the vendors of devices that names and images contain."""
    said = " ".join(words).lower().replace("amd64", "")
    found = {each for each in _VENDORS if each in said}
    return frozenset(found | {_SAME[each] for each in found if each in _SAME})


def why_no_plugin(resource: str, node: Node, snapshot: Snapshot) -> tuple[str, str] | None:
    """Return why no device plugin for a resource is on a node, and the action; None if unknown.

    A cluster may have a DaemonSet for each kind of node. Then labels prove nothing, as most are
    meant for other nodes.
    """
    every = [*_plugins_for(resource, snapshot)]
    if any(_is_on(each, node, snapshot) for each in every):
        return None
    for each in every:
        found = why_not_on(each, node, snapshot)
        if found is not None and (found.selects or len(every) == 1):
            return f"its device plugin, {placed(each)}, {found.why}", found.action
    return None


def why_no_plugins(resource: str, snapshot: Snapshot) -> tuple[str, str] | None:
    """Return why the pods of a resource's device plugin are not created, and the action."""
    for each in _plugins_for(resource, snapshot):
        if found := refused(each, snapshot):
            return f"its device plugin, {placed(each)}, {found.why}", found.action
    return None


_LOADED: Final = re.compile(
    r"kmm\.node\.kubernetes\.io/(?P<namespace>[a-z0-9-]{1,63})\.(?P<module>\S{1,63})\.ready"
)
"""Label of a node on which a kernel module is loaded (Kernel Module Management)."""


def modules_for(resource: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the kernel modules that a resource's device plugins wait for, with their namespaces."""
    for each in _plugins_for(resource, snapshot):
        if fit.asks_too_much(each.spec.template.spec):
            continue
        for key in each.spec.template.spec.node_selector or ():
            found = _LOADED.fullmatch(key)
            if found is not None and found["namespace"] == each.namespace:
                yield each.namespace, found["module"]


def short_of_pods(snapshot: Snapshot) -> Iterator[DaemonSet]:
    """Yield the DaemonSets of device plugins that have fewer pods than they should."""
    for each in snapshot.once(_plugins, _plugins):
        if each.status.current_number_scheduled < each.wanted:
            yield each


def _plugins_for(resource: str, snapshot: Snapshot) -> Iterator[DaemonSet]:
    """Yield the DaemonSets of device plugins that may offer a resource."""
    for each in snapshot.once(_plugins, _plugins):
        of = vendors(each.name, *(one.image for one in _containers(each)))
        if not of or of & vendors(resource):
            yield each


_MOST: Final = 30
"""The most DaemonSets of device plugins that are examined: any tenant can create some."""


def _plugins(snapshot: Snapshot) -> tuple[DaemonSet, ...]:
    found = (
        each
        for each in snapshot[DAEMONSETS]
        if not _BESIDE.search(each.name)
        and any(is_plugin_image(one.image) for one in _containers(each))
    )
    return without_tenants(found, snapshot)[:_MOST]


def _containers(daemon: DaemonSet) -> tuple[TemplateContainer, ...]:
    return daemon.spec.template.spec.containers or ()
