"""Why no new node comes for a pod: Karpenter, the cluster autoscaler, GKE.

An autoscaler acts if no existing node fits. In a cluster that has one, the cause is why it adds no
node. It reports that in Events about the pod, most of them Normal, and on its own objects:
NodePools, NodeClaims (Events in `default`; one without capacity is deleted at once, so only its
Event remains), and the ConfigMap `kube-system/cluster-autoscaler-status`.

Sources: karpenter, provisioning/scheduling and nodeclaim/lifecycle; cluster-autoscaler,
core/scaleup/orchestrator and clusterstate.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from reporter.catalogue.resources import NODECLAIMS, NODEPOOLS
from reporter.diagnosis.fit import Plugin, asks_too_much, counted, labels_asked, shown, some
from reporter.diagnosis.texts import Wording
from reporter.model.evidence import ForeignEvent
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import Condition, NodeClaim, NodePool, Pod, amounts
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut, detail, quoted
from reporter.snapshot.snapshot import Snapshot

_QUOTED_BYTES: Final = 260
_BOOT: Final = timedelta(minutes=15)
"""A requested machine normally becomes a node within this time."""

_NOMINATED: Final = re.compile(r"nodeclaim/([a-z0-9.-]{1,253})")
_GROUP: Final = re.compile(r"\[\{(\S{1,253}) (\d+)->(\d+) \(max: (\d+)\)")
_OWN_GROUP: Final = re.compile(r"for group (\S{1,253}?)[:;,]")
_POOL: Final = re.compile(
    r'(?:for nodepool[: ]+"?|with nodepool "|\(NodePool=|karpenter\.sh/nodepool In '
    r"\[)([a-z0-9.-]{1,253})",
    re.IGNORECASE,
)

_LABEL: Final = re.compile(r'label "([^"\s]{1,317})" does not have known values')

_KARPENTER: Final = (
    ("exceed limits for nodepool", "nodepool-limits", "the limits of {pool} are used up",
        "Raise spec.limits of {pool}."),
    ("node limits have been exhausted", "nodepool-limits", "the limits of {pool} are used up",
        "Raise spec.limits of {pool}."),
    ("no instance type has enough resources", "instance-size",
        "no instance type that {pool} allows has {asks}",
     "Allow larger instance types in {pool}, or ask for less on one node."),
    ("required offering", "capacity",
        ("no instance type that {pool} allows is available in the zones and capacity types that it "
        "asks for"),
     "Allow more zones, types or on-demand capacity in {pool}, or reserve capacity."),
    ("filtered out all available instance types", "nodepool-unusable",
        "the requirements of {pool} leave no instance type",
     "Correct spec.template.spec.requirements of {pool}."),
    ("does not have known values", "node-label",
        "it asks for {label} that no NodePool sets ({message})",
     "Correct nodeSelector or affinity, or set the label in a NodePool."),
    ("no instance type met", "nodepool-unusable",
        "no instance type that {pool} allows meets what it asks for",
     "Widen the requirements of {pool}, or correct nodeSelector and affinity."),
    ("incompatible requirements", "node-label",
        "no NodePool makes nodes with the labels that it asks for ({message})",
     "Correct nodeSelector or affinity, or the requirements of a NodePool."),
    ("did not tolerate", "node-taint",
        "it does not tolerate the taints of the nodes that Karpenter would make ({message})",
     "Add a toleration to the pod, or remove the taint from the NodePool."),
)  # fmt: skip
"""Fragments of Karpenter's `FailedScheduling`, the most specific first."""

_NO_GROUP: Final = (
    ("max node group size reached", "group-maximum",
        "the matching node group is at its maximum size",
     "Raise the maximum of the node group."),
    ("max total nodes in cluster reached", "group-maximum",
        "the cluster has as many nodes as the autoscaler may create",
     "Raise --max-nodes-total of the cluster autoscaler."),
    ("in backoff after failed scale-up", "group-backoff",
        "the cloud refused new nodes for the matching group",
     ("Look at quota and capacity of the cloud: kubectl -n kube-system get configmap "
     "cluster-autoscaler-status -o yaml")),
    ("exceeded quota", "group-quota", "a quota of the autoscaler keeps it from adding nodes",
        "Raise the quota."),
    ("not ready for scale-up", "group-not-ready",
        "the matching node group is not ready for new nodes",
     "Look at the node group."),
)  # fmt: skip
"""Fragments of the cluster autoscaler's `NotTriggerScaleUp` that do not echo the scheduler."""

_OF_GROUPS: Final = {
    Plugin.VOLUME: ("no way to its volume", "Add a node group where its volume is"),
    Plugin.RESOURCE: ("too little {what}", "Add a node group that has enough {what}"),
    Plugin.LABEL: ("other labels than it asks for",
        "Add a node group with these labels, or correct nodeSelector or affinity"),
    Plugin.TAINT: ("taints that it does not tolerate {what}",
        "Add a toleration, or remove the taint from a node group"),
}  # fmt: skip
"""What the autoscaler says of node groups, by the scheduler's plugin that refuses a node of them.

The nearest to fitting first: the plugins run in the opposite order, and the first refusal counts.
"""

_MOST_REASONS: Final = 4
_DECLARES: Final = (
    "; one that is scaled to zero counts with what its template declares only (AWS: tags "
    "k8s.io/cluster-autoscaler/node-template/...)."
)
_NO_GROUP_FITS: Final = Wording("no-group",
    "the cluster autoscaler adds no node, as no node group would do: {reasons}",
    "no node group would do", "{action}")  # fmt: skip

_LAUNCH: Final = ("Launched", "Registered", "Initialized")
_NO_CAPACITY: Final = (
    "InsufficientCapacityError", "LaunchFailed", "FailedToScaleUpGroup", "ScaleUpTimedOut",
)  # fmt: skip
_STATUS: Final = ObjectRef("v1", "ConfigMap", "kube-system", "cluster-autoscaler-status")

_COMING: Final = Wording("node-coming", "{cause}", "a node is on its way", "Wait for the node.")
_LATE: Final = Wording("node-late",
    f"{{cause}}, and none came in {_BOOT // timedelta(minutes=1)} min", "no node came",
    "Look at the machine in the cloud, and at what its kubelet may reach.",
    Sureness.LIKELY)  # fmt: skip
_MAKES_NONE: Final = Wording("karpenter", "Karpenter makes no node: {message}",
    "Karpenter makes no node",
    "Look at the NodePools.")  # fmt: skip
_LIMITS_USED: Final = Wording("nodepool-limits",
    "NodePool {pool} may make no more nodes: {used} of its limits are used",
    "limits of NodePool {pool}",
    "Raise spec.limits of NodePool {pool}.")  # fmt: skip
_NOT_READY: Final = Wording("nodepool-unusable",
    "NodePool {pool} makes no nodes: {name} is False ({message})",
    "NodePool {pool} is not ready", "Fix what the condition names.")  # fmt: skip
_OF_CLAIM: Final = "NodeClaim {name}: {reason}"
_MACHINE_REFUSED: Final = Wording("capacity",
    "the cloud refuses the machine of NodeClaim {name}: {message}", _OF_CLAIM,
    "Look at quota, instance type and zone.")  # fmt: skip
_OF_LAUNCH: Final = {
    ("Registered", "NodeNotFound"): Wording("node-not-joining",
        "the machine of NodeClaim {name} runs, and its kubelet does not join", _OF_CLAIM,
        "Look at the machine's boot log and at what its kubelet may reach."),
    ("Initialized", "ResourceNotRegistered"): Wording("device-missing",
        "node {node} is there, and nothing offers its devices: {message}", _OF_CLAIM,
        "Look at the device plugin on the node."),
    **{("Initialized", each): Wording("node-starting",
        "node {node} is not ready for pods yet: {message}", _OF_CLAIM,
        "Check what should remove the taint, or the node.")
        for each in ("StartupTaintsExist", "KnownEphemeralTaintsExist", "NodeNotReady")},
}  # fmt: skip
"""Why a machine is not a usable node, by the type and reason of its NodeClaim's condition."""

_CLOUD_QUOTA: Final = Wording(
    "quota", "no node comes, the cloud's quota is used up: {message}",
    "the cloud's quota is used up", "Raise the quota of the cloud.")  # fmt: skip
_CLOUD_FULL: Final = Wording(
    "capacity", "no node comes, the cloud has no capacity for it: {message}",
    "the cloud has no capacity for it",
    "Allow other zones or instance types, or reserve capacity.")  # fmt: skip
_PROJECT_QUOTA: Final = Wording("quota", "no node comes, the project's quota is used up: {message}",
    "the project's quota is used up", "Raise the quota.")  # fmt: skip
_ZONE_FULL: Final = Wording("capacity", "no node comes, the zone has no capacity: {message}",
    "the zone has no capacity",
    "Try another zone or machine type, or reserve capacity.")  # fmt: skip
_POOL_FULL: Final = Wording("capacity", "no node comes, the node pool cannot grow: {message}",
    "the node pool cannot grow",
    "Try another zone or machine type, or reserve capacity.")  # fmt: skip


def why_no_node(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return why an autoscaler adds no node for a pod; None without an Event that says so."""
    for event in snapshot.evidence.events_of("Pod", pod):
        found: Diagnosis | None = None
        if event.reason == "Nominated" and (name := _NOMINATED.search(event.message)):
            return _claim_fault(name[1], snapshot)
        if event.reason == "FailedScheduling" and "karpenter" in event.component.lower():
            found = _karpenter(pod, event, snapshot)
        elif event.reason == "NotTriggerScaleUp":
            found = _not_triggered(event, snapshot)
        elif event.reason == "FailedScaleUp":
            found = _gke(event)
        if found is not None:
            return found
    return None


def what_comes(pod: Pod, snapshot: Snapshot, now: datetime | None) -> Diagnosis | None:
    """Return which node is on its way for a pod, or is late; None if none was requested."""
    for event in snapshot.evidence.events_of("Pod", pod):
        if event.reason == "TriggeredScaleUp":
            group = _GROUP.search(event.message)
            where = f" in node group {clean(group[1])} ({group[2]} to {group[3]})" if group else ""
            return _coming(f"the cluster autoscaler adds a node for it{where}", event, now)
        if event.reason == "Nominated" and (name := _NOMINATED.search(event.message)):
            claim = f"NodeClaim {clean(name[1])}"
            return _coming(f"Karpenter makes a node for it ({claim})", event, now)
        if event.reason in ("NotTriggerScaleUp", "FailedScaleUp"):
            return None
    return None


def _coming(cause: str, event: ForeignEvent, now: datetime | None) -> Diagnosis:
    late = now is not None and event.last is not None and now - event.last > _BOOT
    return (_LATE if late else _COMING).of(cause=cause)


def _others(snapshot: Snapshot, kind: str) -> Iterator[ForeignEvent]:
    for (_, about, _), events in snapshot.evidence.events.items():
        if about == kind:
            yield from events


def _quoted(text: str) -> str:
    return quoted(text.removeprefix("Failed to schedule pod, "), _QUOTED_BYTES)


def _karpenter(pod: Pod, event: ForeignEvent, snapshot: Snapshot) -> Diagnosis:
    """Return the most specific cause that Karpenter gives; it gives one for each NodePool."""
    parts = event.message.split("; ")
    asks = " and ".join(f"{n} {clean(k)}" for k, n in pod.spec.devices) or "what it asks for"
    for fragment, code, cause, action in _KARPENTER:
        part = next((each for each in parts if fragment in each), None)
        if part is None:
            continue
        pool = _pool_of(part, snapshot)
        known = snapshot[NODEPOOLS].get("", pool)
        if code == "nodepool-limits" and (full := _limits(known, pod)) is not None:
            return full
        refused = [e for e in _others(snapshot, "NodeClaim") if e.reason in _NO_CAPACITY]
        if code == "capacity" and refused:
            return _no_capacity(refused[0])
        name = f"NodePool {clean(pool)}" if pool else "the NodePools"
        label = _label_of(part, pod)
        words = cause.format(pool=name, message=_quoted(part), asks=asks, label=label)
        short = cause.format(pool=name, message="see Karpenter's Event", asks=asks, label=label)
        return Diagnosis(
            code=code,
            cause=f"Karpenter makes no node: {words}",
            brief=cut(short, 80),
            object=NODEPOOLS.ref_named("", pool) if pool else None,
            action=action.format(pool=name),
            shared=bool(pool),
        )
    return _unusable(snapshot) or _MAKES_NONE.of(message=_quoted(event.message))


def _label_of(part: str, pod: Pod) -> str:
    """Return the label that Karpenter's text is about, with the value that the pod asks for."""
    named = _LABEL.search(part)
    if named is None or asks_too_much(pod.spec):
        return "a label"
    asked = (each for each in labels_asked(pod.spec) if named[1] in each.keys)
    found = next(asked, None)
    return f"the label {found.what if found else clean(named[1])}"


def _pool_of(part: str, snapshot: Snapshot) -> str:
    """Return the name of the NodePool that Karpenter's text is about; empty if ambiguous."""
    named = _POOL.search(part)
    pools = [*snapshot[NODEPOOLS]]
    if named is not None:
        return named[1]
    return pools[0].name if len(pools) == 1 else ""


def _limits(pool: NodePool | None, pod: Pod, *, sure: bool = True) -> Diagnosis | None:
    if pool is None:
        return None
    used, asks = amounts(pool.status.resources), pod.spec.demand
    limits = sorted(amounts(pool.spec.limits).items(), key=lambda each: "/" not in each[0])
    for name, most in limits:
        if used.get(name, 0.0) + asks.get(name, 0.0) > most:
            amounts_used = f"{shown(name, used.get(name, 0.0))} of {shown(name, most)} {name}"
            found = _LIMITS_USED.of(NODEPOOLS.ref(pool), pool=pool.name, used=amounts_used)
            return found if sure else replace(found, sureness=Sureness.LIKELY)
    return None


def _unusable(snapshot: Snapshot) -> Diagnosis | None:
    """Return the first NodePool whose conditions say that it makes no nodes, or None."""
    for pool in snapshot[NODEPOOLS]:
        for name in ("NodeClassReady", "ValidationSucceeded", "Ready"):
            if found := pool.status.condition(name, "False"):
                said = detail(found.reason, found.message, _QUOTED_BYTES)
                return _NOT_READY.of(NODEPOOLS.ref(pool), pool=pool.name, name=name, message=said)
    return None


def why_none_can_come(pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return why no NodePool can make a node, from their limits and conditions, or None."""
    pools = [*snapshot[NODEPOOLS]]
    full = [each for each in (_limits(pool, pod, sure=False) for pool in pools) if each]
    if pools and len(full) == len(pools):
        return full[0]
    return _unusable(snapshot) if len(pools) == 1 else None


def why_claims_wait(names: Iterable[str], snapshot: Snapshot) -> Diagnosis | None:
    """Return why one of these NodeClaims becomes no node; None while all are on their way."""
    return next(filter(None, (_claim_fault(each, snapshot) for each in names)), None)


def _claim_fault(name: str, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a NodeClaim's machine does not become a node; None while it is on its way."""
    events = [e for e in _others(snapshot, "NodeClaim") if e.about.name == name]
    claim = snapshot[NODECLAIMS].get("", name)
    launched = claim is not None and claim.status.condition("Launched", "True") is not None
    if not launched and (refused := next((e for e in events if e.reason in _NO_CAPACITY), None)):
        return _no_capacity(refused)
    if claim is None:
        return None
    for each in _LAUNCH:
        found = claim.status.condition(each)
        if found is not None and found.status != "True":
            return _not_launched(claim, each, found)
    return None


def _not_launched(claim: NodeClaim, step: str, condition: Condition) -> Diagnosis | None:
    reason = condition.reason or ""
    refused = step == "Launched" and reason not in ("", "AwaitingReconciliation", "Launching")
    wording = _MACHINE_REFUSED if refused else _OF_LAUNCH.get((step, reason))
    if wording is None:
        return None
    return wording.of(
        NODECLAIMS.ref(claim),
        name=claim.name,
        node=claim.status.node_name or claim.name,
        reason=reason,
        message=detail(condition.reason, condition.message, _QUOTED_BYTES),
    )


def _no_capacity(event: ForeignEvent) -> Diagnosis:
    quota = any(e in event.message for e in ("VcpuLimitExceeded", "MaxSpotInstanceCount", "Quota"))
    return (_CLOUD_QUOTA if quota else _CLOUD_FULL).of(message=_quoted(event.message))


def _not_triggered(event: ForeignEvent, snapshot: Snapshot) -> Diagnosis | None:
    """Return why the cluster autoscaler adds no node, None if all it says is that none fits."""
    for fragment, code, cause, action in _NO_GROUP:
        if fragment not in event.message:
            continue
        failed = _failed_group(snapshot) if code == "group-backoff" else None
        return failed or Wording(code, f"no node comes: {cause}", cause, action).of()
    return None


def in_no_group(found: Diagnosis | None, pod: Pod, snapshot: Snapshot) -> Diagnosis | None:
    """Return `found` (why no node takes a pod) with why no node group would, where it is known.

    The cluster autoscaler counts its node groups by what the scheduler would say of a node of each.
    If some of it is not known, the group that comes nearest is not. What to do about a node that is
    there and would fit is left as it is: a cluster may have groups for other pods alone.
    """
    events = snapshot.evidence.events_of("Pod", pod)
    said = next((each for each in events if each.reason == "NotTriggerScaleUp"), None)
    counts = counted(said.message.partition(": ")[2]) if said else {}
    if not all(each.startswith(tuple(_OF_GROUPS)) for each in counts):
        return found
    texts, actions = [], []
    for plugin, (words, action) in _OF_GROUPS.items():
        for text in islice((each for each in counts if each.startswith(plugin)), _MOST_REASONS):
            what = clean(text.removeprefix(plugin).removeprefix("(s)").strip())
            texts.append(f"{words.format(what=what).rstrip()} ({counts[text]})")
            actions.append(action.format(what=what))
    if not texts:
        return found
    no_group = _NO_GROUP_FITS.of(reasons=some(texts, _MOST_REASONS), action=actions[0] + _DECLARES)
    if found is None:
        return no_group
    action = no_group.action if found.code in _FOR_NEW_NODES else found.action
    return replace(found, cause=f"{found.cause}; {no_group.cause}", action=action)


_FOR_NEW_NODES: Final = frozenset(
    {"node-full", "device-absent", "resource-size", "node-label", "node-taint", "volume-zone"}
)
"""Codes of what another node mends, not one that is there."""


def _failed_group(snapshot: Snapshot) -> Diagnosis | None:
    """Return the cloud's error for a node group, from Events on the autoscaler's ConfigMap."""
    for event in snapshot.evidence.events_about(_STATUS.namespace, _STATUS.kind, _STATUS.name):
        if event.reason in _NO_CAPACITY:
            group = _OWN_GROUP.search(event.message)
            name = f" in node group {clean(group[1])}" if group else ""
            cause = f"no node comes{name}: {_quoted(event.message)}"
            return replace(_no_capacity(event), cause=cause, object=_STATUS)
    return None


def _gke(event: ForeignEvent) -> Diagnosis:
    text = event.message
    full = _ZONE_FULL if "out of resources" in text else _POOL_FULL
    return (_PROJECT_QUOTA if "quota exceeded" in text.lower() else full).of(message=_quoted(text))
