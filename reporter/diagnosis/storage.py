"""Why a pod does not get its volumes: the claim waits, or the volume is elsewhere."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from reporter.catalogue import resources as r
from reporter.diagnosis import daemons
from reporter.diagnosis.fit import bound_claims, claims_of, is_ready, some
from reporter.diagnosis.texts import Wording
from reporter.model.evidence import ForeignEvent
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import PersistentVolumeClaim, Pod
from reporter.model.text import clean, cut, quoted
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot

SLOW: Final = "claim-slow"
_NOT_FOUND: Final = re.compile(r'persistentvolumeclaim "([^"]{1,253})" not found')
_BEING_DELETED: Final = re.compile(r'persistentvolumeclaim "([^"]{1,253})" is being deleted')
_NO_VOLUME: Final = re.compile(r'persistentvolume "([^"]{1,253})" not found')
_NO_CLASS: Final = re.compile(r'storageclass(?:\.storage\.k8s\.io)? "([^"]{1,253})" not found')
_BY_PODS: Final = re.compile(r"already used by pod\(s\) ([^\s,]{1,253})")
_NO_DRIVER: Final = re.compile(
    r"(?:CSINode \S+ does not contain driver|driver name) (\S{1,253}?)(?: not found.*)?$"
)
_OF_ACCESS: Final = re.compile(
    r"MULTI_NODE_|access ?modes?\b|capability at index \d{1,3} is not supported", re.IGNORECASE
)
_REFUSED: Final = re.compile(r"support|invalid|not allowed", re.IGNORECASE)
_NO_CLAIM: Final = Wording("claim-missing", "its claim {name} does not exist",
    "claim {name} does not exist",
    "Create the claim, or name one that exists.", missing=True)  # fmt: skip
_CLAIM_ENDS: Final = Wording("claim-missing", "its claim {name} is being deleted",
    "claim {name} is being deleted",
    "Create the claim, or name one that exists.")  # fmt: skip
_LOST: Final = Wording("claim-lost", "the volume of its claim {name} was deleted",
    action="Restore the volume, or recreate the claim.")  # fmt: skip
_NO_VOLUME_YET: Final = Wording("claim-pending", "its claim has no volume yet ({names})",
    "claim {names} has no volume",
    "kubectl -n {place} describe pvc {names}", Sureness.UNKNOWN)  # fmt: skip
_NAMES_NO_CLASS: Final = Wording("claim-no-class",
    "its claim {name} names no storage class, and the cluster has no default one",
    action="Name a storageClassName in the claim, or make a class the default.")  # fmt: skip
_NO_SUCH_CLASS: Final = Wording("class-missing",
    "its claim {claim} names the storage class {name}, which does not exist",
    "no storage class {name}",
    "Create storage class {name}, or name one that exists.", missing=True)  # fmt: skip
_NOT_MADE: Final = Wording("claim-provisioning",
    "the volume for its claim {name} cannot be made: {message}",
    action="Fix what the provisioner names: quota, access mode or permission.")  # fmt: skip
_NOT_SHARED: Final = Wording("claim-access",
    "the volume for its claim {name} cannot be made: {kind} makes none with {modes} ({message})",
    "{kind} makes no volumes with {modes}",
    "Use a class of shared storage (such as NFS or CephFS), or ask for ReadWriteOnce.")  # fmt: skip
_NO_PROVISIONER: Final = Wording("claim-no-provisioner",
    "no volume is made for its claim {name}: its {provisioner} does not answer",
    action="Check whether the driver's controller runs.", sureness=Sureness.LIKELY)  # fmt: skip
_NOT_ATTACHED: Final = Wording("volume-attach", "its volume cannot be attached to {node}: {error}",
    "its volume cannot be attached",
    "Fix what the driver names; check whether its controller runs.")  # fmt: skip
_ATTACHED: Final = Wording("volume-attached",
    "{what} is attached to {place}, and only one node may have it",
    "volume attached to {where}",
    "Delete that pod first (strategy Recreate), or use a claim with ReadWriteMany.")  # fmt: skip
_OF_REPLICA: Final = Wording("volume-attached",
    "{what} is attached to {place}, which is another replica, and {modes} lets only one node have "
    "it", "volume attached to {where}",
    "Run one replica, give each its own claim (StatefulSet), or use a claim with ReadWriteMany.",
)  # fmt: skip
_OF_DEAD_NODE: Final = Wording("volume-attached", "{what} is attached to {place}, which {state}",
    "volume attached to {where}",
    "Wait 6 min, or taint {where} with node.kubernetes.io/out-of-service if it is shut down.",
)  # fmt: skip
_NO_DRIVER_THERE: Final = Wording("volume-driver",
    "the storage driver {driver} does not run on {node}{why}",
    "no driver {driver} on {node}",
    "{action}",
)  # fmt: skip
_LOOK_AT_DRIVER: Final = (
    "Look at the driver's node pod on {node}: its DaemonSet may not tolerate the node's taints."
)
_WAITS: Final = ("WaitForFirstConsumer", "WaitForPodScheduled")
_BINDS: Final = re.compile(r"binding volumes: (?:timed out|context deadline exceeded)")
_OF_MANY: Final = frozenset(
    {"io", "com", "org", "k8s", "csi", "kubernetes", "provisioner", "driver", "aws", "azure"}
)
"""Words in the names of many provisioners."""

_SLOW: Final = Wording(SLOW,
    "no volume is made for its claim {name} on the node that was chosen: its "
    "provisioner {provisioner} does not finish", "claim {name} has no volume",
    "Look at the provisioner's log, and at pods that it makes.", Sureness.LIKELY)  # fmt: skip
_PROVISIONING: Final = timedelta(minutes=2)
_QUOTED_BYTES: Final = 260


def why_claim_waits(pod: Pod, snapshot: Snapshot, *, message: str = "") -> Diagnosis | None:
    """Return why a claim of a pod has no volume; None if each has one, or waits for the pod.

    `message` is the scheduler's message about the pod.
    """
    if missing := _missing(pod, snapshot, message):
        return missing
    gone = _NO_VOLUME.search(message)
    for claim in claims_of(pod, snapshot):
        if claim.status.phase == "Lost" or (gone and claim.spec.volume_name == gone[1]):
            return _LOST.of(r.CLAIMS.ref(claim), name=claim.name)
        waits = claim.status.phase != "Bound" and not claim.spec.volume_name
        if waits and (why := _pending(claim, snapshot)) is not None:
            return why
    if "unbound immediate PersistentVolumeClaims" in message:
        bound = {claim.name for claim, _ in bound_claims(pod, snapshot)}
        names = some(each for each in pod.claims if each not in bound)
        if not names:  # the scheduler's message is out of date
            return None
        return _NO_VOLUME_YET.of(names=names, place=pod.namespace)
    return _not_finished(pod, snapshot) if _BINDS.search(message) else None


def _missing(pod: Pod, snapshot: Snapshot, message: str) -> Diagnosis | None:
    """Return which claim of a pod does not exist, by the scheduler's message, or None."""
    missing = _NOT_FOUND.search(message) or _BEING_DELETED.search(message)
    if missing is None:
        return None
    ref = r.CLAIMS.ref_named(pod.namespace, missing[1])
    if "being deleted" in missing[0]:
        return _CLAIM_ENDS.of(ref, name=missing[1])
    others = snapshot.entry(_namespaces_of_claims, missing[1], _namespaces_of_claims) or ()
    found = _NO_CLAIM.of(ref, name=missing[1])
    more = f"; namespace {clean(others[0])} has one of that name" if len(others) == 1 else ""
    return replace(found, cause=found.cause + more)


def _not_finished(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return which claim has no volume although the scheduler has chosen a node for the pod."""
    for claim in claims_of(pod, snapshot):
        if not claim.spec.volume_name:
            wanted = claim.spec.storage_class_name or ""
            found = snapshot[r.STORAGECLASSES].get("", wanted)
            of = found.provisioner if found else f"of class {wanted or '(the default one)'}"
            return _SLOW.of(r.CLAIMS.ref(claim), name=claim.name, provisioner=of)
    return None


def helpers(found: Diagnosis, snapshot: Snapshot) -> Iterator[Pod]:
    """Yield the pods without a node that a provisioner may have made to make a volume.

    Some make a volume by a pod on the chosen node. Its name shares a word with the provisioner's,
    and so does its namespace, unless it is kube-system: tenants name their pods as they like.
    """
    claim = found.object
    of = snapshot[r.CLAIMS].get(claim.namespace, claim.name) if claim else None
    by = snapshot[r.STORAGECLASSES].get("", of.spec.storage_class_name or "") if of else None
    words = set(re.split(r"[./-]", by.provisioner)) - _OF_MANY if by else set()
    named = chain(*(snapshot.entry(_unplaced, each, _unplaced) or () for each in sorted(words)))
    for each in {(one.namespace, one.name): one for one in named}.values():
        place = each.namespace
        trusted = place == "kube-system" or words & set(place.split("-"))
        if claim and place != claim.namespace and trusted:
            yield each


def _unplaced(snapshot: Snapshot) -> Mapping[str, tuple[Pod, ...]]:
    """Return the pods without a node by the words of their names."""
    return grouped(
        (word, each)
        for each in snapshot[r.PODS]
        if each.status.condition("PodScheduled", "False")
        for word in each.name.split("-")
    )


def _namespaces_of_claims(snapshot: Snapshot) -> Mapping[str, tuple[str, ...]]:
    return grouped((each.name, each.namespace) for each in snapshot[r.CLAIMS])


def _pending(claim: PersistentVolumeClaim, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a claim has no volume; None if it waits for its pod to be scheduled."""
    events = snapshot.evidence.events_of("PersistentVolumeClaim", claim)
    for event in events:
        if missing := _NO_CLASS.search(event.message):
            return _no_class(claim, missing[1])
        if event.reason == "FailedBinding" and "no storage class is set" in event.message:
            return _NAMES_NO_CLASS.of(r.CLAIMS.ref(claim), name=claim.name)
        if event.reason == "ProvisioningFailed":
            modes = [e for e in _SHARED_MODES if e in (claim.spec.access_modes or ())]
            of_access = _OF_ACCESS.search(event.message) and _REFUSED.search(event.message)
            return (_NOT_SHARED if of_access and modes else _NOT_MADE).of(
                r.CLAIMS.ref(claim),
                name=claim.name,
                kind=f"its class {claim.spec.storage_class_name or '(the default one)'}",
                modes=" and ".join(modes),
                message=_quoted(event),
            )
    return _by_class(claim, events, snapshot)


_SHARED_MODES: Final = ("ReadWriteMany", "ReadOnlyMany")


def _by_class(
    claim: PersistentVolumeClaim, events: Iterable[ForeignEvent], snapshot: Snapshot
) -> Diagnosis | None:
    wanted = claim.spec.storage_class_name or ""
    found = snapshot[r.STORAGECLASSES].get("", wanted)
    if wanted and found is None and snapshot.absence_known(r.STORAGECLASSES, name=wanted):
        return _no_class(claim, wanted)
    waits = found is not None and found.volume_binding_mode == "WaitForFirstConsumer"
    reasons = {each.reason for each in events}
    asked = [each for each in events if each.reason == "ExternalProvisioning"]
    # A running provisioner would have answered within this time.
    late = any(
        not (each.last and claim.created) or each.last - claim.created > _PROVISIONING
        for each in asked
    )
    if waits or reasons & set(_WAITS) or not late:
        return None
    about = r.STORAGECLASSES.ref(found) if found else r.CLAIMS.ref(claim)
    provisioner = f"provisioner ({found.provisioner})" if found else "provisioner"
    return _NO_PROVISIONER.of(about, name=claim.name, provisioner=provisioner)


def _no_class(claim: PersistentVolumeClaim, name: str) -> Diagnosis:
    return _NO_SUCH_CLASS.of(r.STORAGECLASSES.ref_named("", name), claim=claim.name, name=name)


def _quoted(event: ForeignEvent) -> str:
    text = clean(event.message)
    return quoted(text.partition("rpc error: ")[2] or text, _QUOTED_BYTES)


def why_not_attached(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a volume is not attached or mounted for a pod that has not run any container."""
    for event in snapshot.evidence.events_of("Pod", pod):
        if event.reason not in ("FailedAttachVolume", "FailedMount"):
            continue
        if "Multi-Attach" in event.message or "Waiting for detach" in event.message:
            return _elsewhere(pod, event, snapshot)
        if driver := _NO_DRIVER.search(event.message):
            return _no_driver(pod, driver[1], snapshot)
        if "AttachVolume.Attach failed" in event.message or "external-attacher" in event.message:
            error = _attach_error(pod, event, snapshot)
            return _NOT_ATTACHED.of(node=pod.spec.node_name or "", error=error)
    if pod.status.condition("PodReadyToStartContainers", "True"):
        return None
    held = next(_attached_elsewhere(pod, snapshot), None)
    return _held(pod, held, snapshot) if held else _driver_missing(pod, snapshot)


def _attach_error(pod: Pod, event: ForeignEvent, snapshot: Snapshot) -> str:
    for _, volume in bound_claims(pod, snapshot):
        for each in snapshot[r.ATTACHMENTS]:
            error, of = each.status.attach_error, each.spec.source.persistent_volume_name
            here = (each.spec.node_name, of) == (pod.spec.node_name, volume)
            if here and error and error.message:
                return cut(clean(error.message), _QUOTED_BYTES)
    return _quoted(event)


class _Held(NamedTuple):
    """A volume that is attached to another node."""

    claim: PersistentVolumeClaim | None
    volume: str
    node: str = ""


def _attached_elsewhere(pod: Pod, snapshot: Snapshot) -> Iterator[_Held]:
    for claim, volume in bound_claims(pod, snapshot):
        if not {*(claim.spec.access_modes or ())} <= {"ReadWriteOnce", "ReadWriteOncePod"}:
            continue
        for each in snapshot[r.ATTACHMENTS]:
            ours = each.spec.source.persistent_volume_name == volume and each.status.attached
            if ours and each.spec.node_name != pod.spec.node_name:
                yield _Held(claim, volume, each.spec.node_name)


def _elsewhere(pod: Pod, event: ForeignEvent, snapshot: Snapshot) -> Diagnosis:
    if (held := next(_attached_elsewhere(pod, snapshot), None)) is not None:
        return _held(pod, held, snapshot, event=event)
    bound = [*bound_claims(pod, snapshot)]
    quoted = re.search(r'volume "([^"]{1,253})"', event.message)
    volume = quoted[1] if quoted else bound[0][1] if bound else ""
    claims = [each for each, name in bound if name == volume or len(bound) == 1]
    return _held(pod, _Held(claims[0] if claims else None, volume), snapshot, event=event)


def _users_of_claims(namespace: str, snapshot: Snapshot) -> Mapping[str, tuple[Pod, ...]]:
    pods = snapshot[r.PODS].in_namespace(namespace)
    return grouped((name, each) for each in pods if each.is_placed for name in each.claims)


def _held(
    pod: Pod, held: _Held, snapshot: Snapshot, *, event: ForeignEvent | None = None
) -> Diagnosis:
    """Return the diagnosis of a volume attached to another node, with the pod that uses it."""
    claim, volume, node = held.claim, held.volume, held.node
    of_claims = partial(_users_of_claims, pod.namespace)
    name = claim.name if claim is not None else ""
    of_claim = snapshot.entry(("users of claims", pod.namespace), name, of_claims) or ()
    users = [e for e in of_claim if e.name != pod.name and e.spec.node_name != pod.spec.node_name]
    named = _BY_PODS.search(event.message) if event else None
    holder = users[0].name if users else named[1] if named else ""
    node = node or (users[0].spec.node_name or "" if users else "")
    where = node or "another node"
    what = f"its volume {volume}" + (f" (claim {claim.name})" if claim else "")
    there = snapshot[r.NODES].get("", node) if node else None
    gone = bool(node) and there is None and snapshot.absence_known(r.NODES, name=node)
    dead = gone or (there is not None and not is_ready(there))
    beside = claim is not None and any(each.name == holder and _twins(each, pod) for each in users)
    found = (_OF_DEAD_NODE if dead else _OF_REPLICA if beside else _ATTACHED).of(
        r.CLAIMS.ref(claim) if claim else None,
        what=what,
        modes=" and ".join((claim.spec.access_modes if claim else None) or ("its access mode",)),
        where=where,
        place=f"{where} by pod {holder}" if holder else where,
        state="is gone" if there is None else "does not answer",
    )
    return found if event else replace(found, sureness=Sureness.LIKELY)


def _owners(pod: Pod) -> frozenset[str]:
    return frozenset(each.uid for each in pod.metadata.owner_references or () if each.uid)


def _twins(one: Pod, other: Pod) -> bool:
    """True if two pods are replicas of one revision: they have the same controller."""
    return bool(_owners(one) & _owners(other)) and not (one.deleting or other.deleting)


def _no_driver(pod: Pod, driver: str, snapshot: Snapshot) -> Diagnosis:
    name = pod.spec.node_name or ""
    about, node = (r.NODES.ref_named("", name) if name else None), snapshot[r.NODES].get("", name)
    daemon = daemons.of_driver(driver, snapshot) if node else None
    kept = daemons.why_not_on(daemon, node, snapshot) if daemon and node else None
    found = _NO_DRIVER_THERE.of(
        about,
        driver=driver,
        node=name,
        why=f": {daemons.placed(daemon)} {kept.why}" if daemon and kept else "",
        action=kept.action if kept else _LOOK_AT_DRIVER.format(node=name),
    )
    return replace(found, shared=True)


def _driver_missing(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return a diagnosis if the node's CSINode lacks the driver of a volume."""
    node = snapshot[r.CSINODES].get("", pod.spec.node_name or "")
    if node is None:
        return None
    here = {each.name for each in node.spec.drivers or ()}
    for _, name in bound_claims(pod, snapshot):
        volume = snapshot[r.VOLUMES].get("", name)
        driver = volume.spec.csi.driver if volume and volume.spec.csi else ""
        if driver and driver not in here:
            return _no_driver(pod, driver, snapshot)
    return None
