"""Why a pod does not get its volumes: the claim waits, or the volume is elsewhere."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from reporter.catalogue.resources import (
    ATTACHMENTS,
    CLAIMS,
    CSINODES,
    NODES,
    PODS,
    STORAGECLASSES,
    VOLUMES,
)
from reporter.diagnosis.fit import is_ready, some
from reporter.model.evidence import ForeignEvent
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import PersistentVolumeClaim, Pod
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Snapshot

_NOT_FOUND: Final = re.compile(r'persistentvolumeclaim "([^"]{1,253})" not found')
_BEING_DELETED: Final = re.compile(r'persistentvolumeclaim "([^"]{1,253})" is being deleted')
_NO_VOLUME: Final = re.compile(r'persistentvolume "([^"]{1,253})" not found')
_NO_CLASS: Final = re.compile(r'storageclass(?:\.storage\.k8s\.io)? "([^"]{1,253})" not found')
_BY_PODS: Final = re.compile(r"already used by pod\(s\) ([^\s,]{1,253})")
_NO_DRIVER: Final = re.compile(
    r"(?:CSINode \S+ does not contain driver|driver name) (\S{1,253}?)(?: not found.*)?$"
)
_WAITS: Final = ("WaitForFirstConsumer", "WaitForPodScheduled")
_PROVISIONING: Final = timedelta(minutes=2)
_SAID_BYTES: Final = 260
_ATTACH: Final = ("FailedAttachVolume", "FailedMount")


def why_claim_waits(pod: Pod, snapshot: Snapshot, *, said: str = "") -> Diagnosis | None:
    """Return why a claim of a pod has no volume; None where each has one, or waits for the pod.

    Args:
        pod: one that may not run for it.
        snapshot: with claims and Events.
        said: what the scheduler says of the pod.

    """
    if missing := _NOT_FOUND.search(said) or _BEING_DELETED.search(said):
        ends = "being deleted" in missing[0]
        return _missing(pod, missing[1], "is being deleted" if ends else "does not exist")
    gone = _NO_VOLUME.search(said)
    for name in pod.claims:
        claim = snapshot[CLAIMS].get(pod.namespace, name)
        if claim is None:
            continue
        if claim.status.phase == "Lost" or (gone and claim.spec.volume_name == gone[1]):
            return _diagnosis(
                claim, "claim-lost", f"the volume of its claim {clean(name)} was deleted",
                action="Restore the volume, or make the claim again.",
            )  # fmt: skip
        waits = claim.status.phase != "Bound" and not claim.spec.volume_name
        if waits and (why := _pending(claim, snapshot)) is not None:
            return why
    if "unbound immediate PersistentVolumeClaims" in said:
        bound = {claim.name for claim, _ in _bound(pod, snapshot)}
        names = some(each for each in pod.claims if each not in bound)
        if not names:  # the scheduler's words are older than the claims
            return None
        return Diagnosis(
            code="claim-pending",
            cause=f"its claim has no volume yet ({names})",
            brief=f"claim {names} has no volume",
            action=f"kubectl -n {pod.namespace} describe pvc {names}",
            sureness=Sureness.UNKNOWN,
        )
    return None


def _missing(pod: Pod, name: str, gone: str) -> Diagnosis:
    return Diagnosis(
        code="claim-missing",
        cause=f"its claim {clean(name)} {gone}",
        brief=f"claim {clean(name)} {gone}",
        object=CLAIMS.ref_named(pod.namespace, name),
        action="Create the claim, or name one that exists.",
        shared=True,
        missing=gone == "does not exist",
    )


def _diagnosis(
    claim: PersistentVolumeClaim, code: str, cause: str, *, action: str, sure: bool = True
) -> Diagnosis:
    return Diagnosis(
        code=code,
        cause=cause,
        brief=cut(cause, 80),
        object=CLAIMS.ref(claim),
        action=action,
        sureness=Sureness.CERTAIN if sure else Sureness.LIKELY,
        shared=True,
    )


def _pending(claim: PersistentVolumeClaim, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a claim has no volume; None where it waits for its pod to be scheduled."""
    name = clean(claim.name)
    events = snapshot.evidence.events_about(
        claim.namespace, "PersistentVolumeClaim", claim.name, uid=claim.metadata.uid
    )
    for event in events:
        if missing := _NO_CLASS.search(event.message):
            return _no_class(claim, missing[1])
        if event.reason == "FailedBinding" and "no storage class is set" in event.message:
            return _diagnosis(
                claim, "claim-no-class",
                f"its claim {name} names no storage class, and the cluster has no default one",
                action="Name a storageClassName in the claim, or make a class the default.",
            )  # fmt: skip
        if event.reason == "ProvisioningFailed":
            return _diagnosis(
                claim, "claim-provisioning", f"the volume for its claim {name} cannot be made: {_said(event)}",
                action="Mend what the provisioner names: quota, access mode or permission.",
            )  # fmt: skip
    return _by_class(claim, events, snapshot)


def _by_class(
    claim: PersistentVolumeClaim, events: Iterable[ForeignEvent], snapshot: Snapshot
) -> Diagnosis | None:
    wanted = claim.spec.storage_class_name or ""
    found = snapshot[STORAGECLASSES].get("", wanted)
    if wanted and found is None and snapshot.absence_known(STORAGECLASSES, name=wanted):
        return _no_class(claim, wanted)
    waits = found is not None and found.volume_binding_mode == "WaitForFirstConsumer"
    reasons = {each.reason for each in events}
    asked = [each for each in events if each.reason == "ExternalProvisioning"]
    if waits or reasons & set(_WAITS) or not any(_is_late(claim, each) for each in asked):
        return None
    by = f" ({clean(found.provisioner)})" if found else ""
    why = _diagnosis(
        claim, "claim-no-provisioner",
        f"no volume is made for its claim {clean(claim.name)}: its provisioner{by} does not answer",
        action="Look whether the driver's controller runs.", sure=False,
    )  # fmt: skip
    return replace(why, object=STORAGECLASSES.ref(found)) if found else why


def _is_late(claim: PersistentVolumeClaim, event: ForeignEvent) -> bool:
    """Return whether a provisioner has been asked for so long that none seems to be there."""
    if event.last is None or claim.created is None:
        return True
    return event.last - claim.created > _PROVISIONING


def _no_class(claim: PersistentVolumeClaim, name: str) -> Diagnosis:
    return Diagnosis(
        code="class-missing",
        cause=f"its claim {clean(claim.name)} names the storage class {clean(name)}, which does not exist",
        brief=f"no storage class {clean(name)}",
        object=STORAGECLASSES.ref_named("", name),
        action=f"Create storage class {clean(name)}, or name one that exists.",
        shared=True,
        missing=True,
    )


def _said(event: ForeignEvent) -> str:
    text = clean(event.message)
    return cut(text.partition("rpc error: ")[2] or text, _SAID_BYTES).rstrip(". ")


def why_not_attached(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return why the volume of a pod that has a node is not attached or mounted there; None if nothing says so."""
    events = snapshot.evidence.events_about(pod.namespace, "Pod", pod.name, uid=pod.metadata.uid)
    for event in events:
        if event.reason not in _ATTACH:
            continue
        if "Multi-Attach" in event.message or "Waiting for detach" in event.message:
            return _elsewhere(pod, event, snapshot)
        if driver := _NO_DRIVER.search(event.message):
            return _no_driver(pod, driver[1])
        if "AttachVolume.Attach failed" in event.message or "external-attacher" in event.message:
            return Diagnosis(
                code="volume-attach",
                cause=f"its volume cannot be attached to {clean(pod.spec.node_name or '')}: {_attach_error(pod, event, snapshot)}",
                brief="its volume cannot be attached",
                action="Mend what the driver names; look whether its controller runs.",
            )  # fmt: skip
    held = next(_attached_elsewhere(pod, snapshot), None)
    if held is not None and not _is_started(pod):
        return _held(pod, held, snapshot)
    return _driver_missing(pod, snapshot)


def _is_started(pod: Pod) -> bool:
    set_up = pod.status.condition("PodReadyToStartContainers", "True")
    return set_up is not None or any(
        each.state is not None and (each.state.running or each.state.terminated) is not None
        for each in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
    )  # fmt: skip


def _attach_error(pod: Pod, event: ForeignEvent, snapshot: Snapshot) -> str:
    for _, volume in _bound(pod, snapshot):
        for each in snapshot[ATTACHMENTS]:
            error = each.status.attach_error
            here = each.spec.node_name == pod.spec.node_name
            if (
                here
                and each.spec.source.persistent_volume_name == volume
                and error
                and error.message
            ):
                return cut(clean(error.message), _SAID_BYTES)
    return _said(event)


def _bound(pod: Pod, snapshot: Snapshot) -> Iterator[tuple[PersistentVolumeClaim, str]]:
    for name in pod.claims:
        claim = snapshot[CLAIMS].get(pod.namespace, name)
        if claim is not None and claim.spec.volume_name:
            yield claim, claim.spec.volume_name


@dataclass(frozen=True, slots=True)
class _Held:
    """A volume that another node has."""

    claim: PersistentVolumeClaim | None
    volume: str
    node: str = ""


def _attached_elsewhere(pod: Pod, snapshot: Snapshot) -> Iterator[_Held]:
    for claim, volume in _bound(pod, snapshot):
        if not {*(claim.spec.access_modes or ())} <= {"ReadWriteOnce", "ReadWriteOncePod"}:
            continue
        for each in snapshot[ATTACHMENTS]:
            ours = each.spec.source.persistent_volume_name == volume and each.status.attached
            if ours and each.spec.node_name != pod.spec.node_name:
                yield _Held(claim, volume, each.spec.node_name)


def _elsewhere(pod: Pod, event: ForeignEvent, snapshot: Snapshot) -> Diagnosis:
    if (held := next(_attached_elsewhere(pod, snapshot), None)) is not None:
        return _held(pod, held, snapshot, event=event)
    bound = [*_bound(pod, snapshot)]
    quoted = re.search(r'volume "([^"]{1,253})"', event.message)
    volume = quoted[1] if quoted else bound[0][1] if bound else ""
    claims = [each for each, name in bound if name == volume or len(bound) == 1]
    return _held(pod, _Held(claims[0] if claims else None, volume), snapshot, event=event)


def _users_of_claims(namespace: str, snapshot: Snapshot) -> Mapping[str, list[Pod]]:
    found: dict[str, list[Pod]] = {}
    for each in snapshot[PODS].in_namespace(namespace):
        if each.spec.node_name and each.status.phase not in ("Succeeded", "Failed"):
            for name in each.claims:
                found.setdefault(name, []).append(each)
    return found


def _held(
    pod: Pod, held: _Held, snapshot: Snapshot, *, event: ForeignEvent | None = None
) -> Diagnosis:
    """Return that a volume is attached to another node, by whom, and what ends that."""
    claim, volume, node = held.claim, held.volume, held.node
    of_claims = partial(_users_of_claims, pod.namespace)
    name = claim.name if claim is not None else ""
    users = [
        each
        for each in snapshot.entry(("users of claims", pod.namespace), name, of_claims) or ()
        if each.name != pod.name and each.spec.node_name != pod.spec.node_name
    ]
    named = _BY_PODS.search(event.message) if event else None
    holder = users[0].name if users else named[1] if named else ""
    node = node or (users[0].spec.node_name or "" if users else "")
    where = clean(node) or "another node"
    by = f" by pod {clean(holder)}" if holder else ""
    what = f"its volume {clean(volume)}" + (f" (claim {clean(claim.name)})" if claim else "")
    there = snapshot[NODES].get("", node) if node else None
    dead = bool(node) and (
        (there is None and snapshot.absence_known(NODES, name=node)) or (there is not None and not is_ready(there))
    )  # fmt: skip
    if dead:
        why = f", which {'is gone' if there is None else 'does not answer'}"
        action = f"Wait 6 min, or taint {where} with node.kubernetes.io/out-of-service if it is shut down."
    else:
        why = ", and only one node may have it"
        action = "End that pod first (strategy Recreate), or use a claim with ReadWriteMany."
    return Diagnosis(
        code="volume-attached",
        cause=f"{what} is attached to {where}{by}{why}",
        brief=f"volume attached to {where}",
        object=CLAIMS.ref(claim) if claim else None,
        action=action,
        sureness=Sureness.CERTAIN if event else Sureness.LIKELY,
        shared=claim is not None,
    )


def _no_driver(pod: Pod, driver: str) -> Diagnosis:
    node = clean(pod.spec.node_name or "")
    return Diagnosis(
        code="volume-driver",
        cause=f"the storage driver {clean(driver)} does not run on {node}",
        brief=f"no driver {clean(driver)} on {node}",
        object=NODES.ref_named("", pod.spec.node_name) if pod.spec.node_name else None,
        action=f"Look at the driver's node pod on {node}: its DaemonSet may not tolerate the node's taints.",
        shared=True,
    )  # fmt: skip


def _driver_missing(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return that the driver of a volume is not on the node, as its CSINode says."""
    node = snapshot[CSINODES].get("", pod.spec.node_name or "")
    if node is None or _is_started(pod):
        return None
    here = {each.name for each in node.spec.drivers or ()}
    for _, name in _bound(pod, snapshot):
        volume = snapshot[VOLUMES].get("", name)
        driver = volume.spec.csi.driver if volume and volume.spec.csi else ""
        if driver and driver not in here:
            return _no_driver(pod, driver)
    return None
