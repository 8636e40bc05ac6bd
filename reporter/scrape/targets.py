"""Which pods are scraped, from the snapshot."""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.model.objects import ContainerStatus, Pod
from reporter.samples.target import ContainerRun, Target
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.pod import counts

POD_INDEX: Final = "apps.kubernetes.io/pod-index"
"""Label of a StatefulSet's pods; only the first pod of a multi-node set has a page."""

_ORDINAL: Final = re.compile(r"-(?P<index>[0-9]{1,4})\Z")
"""End of a StatefulSet pod's name; the random end of a Deployment's pods has five characters."""

_MESH_PROXIES: Final = frozenset({"istio-proxy", "linkerd-proxy"})
"""Sidecars that may stand before the main container, so that it starts behind them."""


def find_targets(snapshot: Snapshot, selector: str) -> tuple[Target, ...] | None:
    """Return the pods to scrape, by namespace and name; None while pods cannot be read.

    Args:
        snapshot: the cluster.
        selector: label key; pods that carry it are scraped, its value is the InferenceSet.

    """
    if not snapshot.known(PODS):
        return None
    return tuple(_targets(snapshot, selector))


def _targets(snapshot: Snapshot, selector: str) -> Iterator[Target]:
    for pod in snapshot[PODS]:
        inferenceset = pod.metadata.label(selector)
        if inferenceset is None or not _is_scraped(pod):
            continue
        address = _usable(pod.status.pod_ip)
        if address is not None:
            yield _target(pod, inferenceset, address)


def _is_scraped(pod: Pod) -> bool:
    """Tell whether there may be a page: the main container of a leading pod runs."""
    return (
        counts(pod)
        and pod.status.phase == "Running"
        and _index(pod) == 0
        and _started_at(_main(pod)) is not None
    )


def _index(pod: Pod) -> int:
    label = pod.metadata.label(POD_INDEX)
    if label is not None:
        return int(label) if label.isascii() and label.isdigit() else 0
    match = _ORDINAL.search(pod.name)
    return int(match["index"]) if match else 0


def _main(pod: Pod) -> ContainerStatus | None:
    """Return the status of the container that serves: the first one that is no mesh proxy."""
    names = [each.name for each in pod.spec.containers or () if each.name not in _MESH_PROXIES]
    statuses = {each.name: each for each in pod.status.container_statuses or ()}
    return statuses.get(names[0]) if names else None


def _started_at(status: ContainerStatus | None) -> object | None:
    return status.state.running if status and status.state else None


def _usable(address: str | None) -> str | None:
    """Return the address if a pod can have it.

    Whoever may write a pod's status must not make us ask the metadata service of the cloud, which
    is link-local.
    """
    try:
        ip = ip_address(address or "")
    except ValueError:
        return None
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        return None
    return str(ip)


def _target(pod: Pod, inferenceset: str, address: str) -> Target:
    condition = pod.status.condition("Ready")
    ready = condition is not None and condition.status == "True"
    return Target(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.metadata.uid,
        address=address,
        inferenceset=inferenceset,
        node=pod.spec.node_name or "",
        created=pod.created,
        ready=ready,
        ready_since=condition.last_transition_time if condition and ready else None,
        containers=tuple(_run(each) for each in (_main(pod),) if each is not None),
    )


def _run(status: ContainerStatus) -> ContainerRun:
    running = status.state.running if status.state else None
    return ContainerRun(status.name, status.restart_count, running.started_at if running else None)
