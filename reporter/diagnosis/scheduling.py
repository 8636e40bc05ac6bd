"""Why a pod has no node.

The scheduler's message names no node and hides all but the first reason of each. So the pod's
demands are checked against every node again (`fit.py`), which leaves four cases: nodes that fit but
are full, nodes that are out because of a passing state only, demands that no node meets, and
demands that exclude each other. If the counts of first reasons equal the scheduler's, the result is
as certain as its message. If not (nodes changed since, other versions), only demands that no node
meets are certain; any other cause is likely, with the scheduler's message beside it. Constraints
that depend on other pods (spread, ports, affinity to pods) are taken from its message.

Dead end: computing free processors and memory as well would need the requests of every pod; for
these, only "more than any node has" is reported.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import nsmallest
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from reporter.catalogue.resources import NODES, PODS
from reporter.diagnosis import autoscalers, devices, fit, messages, queues, storage
from reporter.diagnosis.devices import Ask
from reporter.diagnosis.fit import is_ready
from reporter.diagnosis.nodes import has_no_network, why_not_ready
from reporter.diagnosis.texts import Wording
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import Node, Pod, is_device
from reporter.model.text import clean
from reporter.snapshot.snapshot import Snapshot

DEFAULT_SCHEDULER: Final = "default-scheduler"

_UNSEEN: Final = timedelta(seconds=30)
"""A running scheduler has seen a pod within this time."""

_FOR_WANT_OF_NODES: Final = ("node-full", devices.ABSENT, "resource-size")

_NO_SCHEDULER: Final = Wording("no-scheduler",
    "no scheduler {name} has seen it: none of that name runs, or it does not work",
    "no scheduler {name}",
    "Install or restart {name}, or set schedulerName to one that runs.",
    Sureness.LIKELY)  # fmt: skip
_USED_UP: Final = Wording("node-full", "{nodes} could take it, but {what} used up there",
    "no free {lacking}",
    "Free what is used there, or add nodes.")  # fmt: skip
_NONE_FREE: Final = Wording(
    "node-full", "{cause}", "no {asks} {resource} free", "Free {resource}, or add nodes."
)
_HELD_BY_ITS_OLDER: Final = Wording(
    "node-full",
    "{cause}; {older} is of an older revision of the same Deployment, which a rolling update "
    "deletes only once the new pod is ready",
    "its older pod has the {resource}",
    "Delete the older pod first (strategy Recreate, or maxSurge 0), or add nodes.",
)
_CORDONED: Final = Wording(
    "node-cordoned", "{cause}", "{name} {why}", "Run kubectl uncordon {name}."
)
_OUT: Final = Wording("node-state", "{cause}", "{name} {why}", "Look at node {name}.")
_NO_LABEL: Final = Wording("node-label", "it needs a node with {what}, and no node has {that}",
    "no node has {what}",
    "Label a node that is meant, or correct nodeSelector or affinity.")  # fmt: skip
_TAINTED: Final = Wording("node-taint", "it tolerates no node: they have {taints}",
    "it does not tolerate {taints}",
    "Add a toleration to the pod, or remove the taint.")  # fmt: skip
_ABSENT: Final = Wording(devices.ABSENT, "it asks for {asks} {resource}, no node offers {offer}",
    "no node offers {resource}",
    "Add a node with {resource}, or install the device plugin on nodes that have it.")  # fmt: skip
_OF_EXTENDER: Final = Wording("no-scheduler",
    "it asks for {asks} {resource}, which only the scheduler of {system} counts, and {scheduler} "
    "is to place it", "{scheduler} does not know {resource}",
    "Look why the webhook of {system} left the pod as it was (installed, running, not exempt), or "
    "set schedulerName to the scheduler of {system}.")  # fmt: skip
_EXTENDERS: Final = {
    **dict.fromkeys(
        ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
         "hygon.com/dcumem", "hygon.com/dcucores"),
        "HAMi",
    ),
    **dict.fromkeys(("volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"), "Volcano"),
}  # fmt: skip
"""Shares of devices that no node offers, by who counts them (Project-HAMi, docs; Volcano, vGPU)."""

_VOLUMES_APART: Final = Wording("volume-zone", "no node reaches all its volumes: {where}",
    "its volumes are in different places",
    "Move the volumes to one place, or use a kind that all nodes reach.")  # fmt: skip
_TOO_LARGE: Final = Wording("resource-size",
    "it asks for {asks} {resource}, no node has more than {most}",
    "no node has {asks} {resource}", "Ask for less {resource}, or add a larger node.")  # fmt: skip
_DEVICES_TOO_LARGE: Final = _TOO_LARGE._replace(
    action="Ask for less on one node (such as a smaller tensor parallel size), or add a larger one."
)


def why_unscheduled(
    pod: Pod, snapshot: Snapshot, *, now: datetime | None = None, ask: Ask | None = None
) -> Diagnosis | None:
    """Return why a pod has no node; None if it has one, or if the cause is unknown.

    Without `now`, causes that depend on the age of the pod or its Events are left out.
    """
    if pod.spec.node_name or pod.deleting:
        return None
    scheduled = pod.status.condition("PodScheduled")
    if waits := queues.why_in_line(pod, snapshot):
        return waits
    if scheduled is None:
        return _unseen(pod, now)
    if scheduled.status != "False" or pod.status.nominated_node_name:
        return None
    message = scheduled.message or ""
    if claim := storage.why_claim_waits(pod, snapshot, message=message):
        return _by_its_helper(claim, snapshot) or claim
    if (check := _NodeCheck.at(pod, snapshot, message, ask=ask)) is not None:
        here = check.diagnosis()
    else:
        here = messages.by_words(pod, snapshot, fit.counts_of(message), message=message)
    gone = autoscalers.why_no_node(pod, snapshot) or autoscalers.what_comes(pod, snapshot, now)
    if gone is None and (here is None or here.code in _FOR_WANT_OF_NODES):
        gone = autoscalers.why_none_can_come(pod, snapshot)
    return gone or autoscalers.in_no_group(here, pod, snapshot)


def _by_its_helper(claim: Diagnosis, snapshot: Snapshot) -> Diagnosis | None:
    """Return why no volume is made if the provisioner's own pod has no node, or None."""
    found = [*storage.helpers(claim, snapshot)] if claim.code == storage.SLOW else []
    if len(found) != 1:
        return None
    scheduled = found[0].status.condition("PodScheduled", "False")
    said = (scheduled.message if scheduled else "") or ""
    look = _NodeCheck.at(found[0], snapshot, said, ask=None)
    why = look.diagnosis() if look else None
    if why is None:
        return None
    place = f"{found[0].namespace}/{clean(found[0].name)}"
    cause = f"{claim.cause}, as its pod {place} has no node: {why.cause}"
    return replace(claim, cause=cause, action=why.action)


def _unseen(pod: Pod, now: datetime | None) -> Diagnosis | None:
    """Return a diagnosis if the pod's scheduler should have seen the pod by now."""
    if now is None or pod.created is None or now - pod.created < _UNSEEN:
        return None
    return _NO_SCHEDULER.of(name=pod.spec.scheduler_name or DEFAULT_SCHEDULER)


def _revision_of(pod: Pod) -> tuple[str, str] | None:
    """Return the Deployment of a pod and its revision, from the name of the ReplicaSet."""
    for owner in pod.metadata.owner_references or ():
        if owner.kind == "ReplicaSet" and "-" in owner.name:
            deployment, _, revision = owner.name.rpartition("-")
            return deployment, revision
    return None


def _is_older(other: Pod, pod: Pod) -> bool:
    """Return whether a pod was made before another one, and is not ending already."""
    if other.deleting or other.created is None or pod.created is None:
        return False
    return other.created < pod.created


class _Holders(NamedTuple):
    """The pods that hold devices of a node: how many pods and devices, and the first names."""

    pods: int
    devices: int
    first: list[str]


_REMEMBERED: Final = 100
"""Maximum demands of which the nodes that do not meet them are remembered."""

Held: TypeAlias = Mapping[tuple[str, str], _Holders]
"""Who holds devices, by (node, resource)."""


def _devices_held(snapshot: Snapshot) -> Held:
    """Return the devices that pods hold; cached, else each pending pod would scan all pods."""
    held: dict[tuple[str, str], dict[str, int]] = {}
    for each in snapshot[PODS]:
        for name, count in each.spec.devices if each.is_placed else ():
            of_node = held.setdefault((each.spec.node_name or "", name), {})
            of_node[f"{each.namespace}/{each.name}"] = count
    return {
        place: _Holders(len(pods), sum(pods.values()), nsmallest(fit.MOST_NAMED, pods))
        for place, pods in held.items()
    }


def _by_deployment(snapshot: Snapshot) -> Mapping[tuple[str, str], list[Pod]]:
    """Return the pods with devices on nodes, by namespace and Deployment."""
    found: dict[tuple[str, str], list[Pod]] = {}
    for each in snapshot[PODS]:
        if each.is_placed and each.spec.devices and (of := _revision_of(each)):
            found.setdefault((each.namespace, of[0]), []).append(each)
    return found


class _Nodes:
    """All nodes, and those that do not meet a demand, which most pods have in common."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.all = list(snapshot[NODES])
        self._refusing: dict[fit.Demand, frozenset[str]] = {}

    def refusing(self, demand: fit.Demand) -> frozenset[str]:
        if demand not in self._refusing:
            if len(self._refusing) >= _REMEMBERED:
                self._refusing.clear()
            refusing = frozenset(each.name for each in self.all if not demand.is_met(each))
            self._refusing[demand] = refusing
        return self._refusing[demand]


@dataclass(slots=True)
class _NodeCheck:
    """All nodes checked against a pod's demands."""

    pod: Pod
    snapshot: Snapshot
    message: str
    counts: fit.NodeCounts | None
    demands: list[fit.Demand]
    nodes: list[Node]
    unmet: dict[str, list[fit.Demand]]
    held: Held
    left_out: int = 0
    ask: Ask | None = None

    @classmethod
    def at(
        cls, pod: Pod, snapshot: Snapshot, message: str, *, ask: Ask | None
    ) -> "_NodeCheck | None":
        """Check all nodes against a pod's demands; None for too many, or if no nodes are known."""
        if fit.asks_too_much(pod.spec):
            return None
        known = snapshot.once(_Nodes, _Nodes)
        everywhere = known.all
        named = fit.named_nodes(pod)
        nodes = [each for each in everywhere if named is None or named.is_met(each)]
        if not nodes or not snapshot.absence_known(NODES):
            return None
        demands = fit.demands_of(pod, snapshot)
        refusing = [(each, known.refusing(each)) for each in demands]
        unmet = {n.name: [d for d, names in refusing if n.name in names] for n in nodes}
        left_out = len(everywhere) - len(nodes)
        held = snapshot.once(_devices_held, _devices_held)
        counts = fit.counts_of(message)
        check = cls(pod, snapshot, message, counts, demands, nodes, unmet, held, left_out, ask)
        # Drop resources that no node offers and an extender schedules, such as GPU memory.
        check.demands = [d for d in demands if not check._denied(d) or check._most(d)]
        if len(check.demands) < len(demands):
            check.unmet = {n: [d for d in unmet[n] if d in check.demands] for n in unmet}
        return check

    def free(self, node: Node, resource: str) -> float:
        """Return how much of a device no visible pod holds on a node; less may be free."""
        held = self.held.get((node.name, resource))
        return fit.offered(node, resource) - (held.devices if held else 0)

    @property
    def agrees(self) -> bool:
        """True if the scheduler's counts equal those computed here."""
        counts = self.counts
        if counts is None or counts.nodes != len(self.nodes) + self.left_out:
            return False
        first = Counter(found[0].plugin for found in self.unmet.values() if found)
        first[fit.Plugin.LABEL] += self.left_out
        counted = (fit.Plugin.CORDON, fit.Plugin.TAINT, fit.Plugin.LABEL)
        if any(counts.of(each) != first[each] for each in counted):
            return False
        free = sum(not each for each in self.unmet.values())
        late = first[fit.Plugin.RESOURCE] + first[fit.Plugin.VOLUME]
        never = ((self._never_enough(each), each.what) for each in self._asked())
        return all(few <= counts.lacking(what) <= max(few, late) + free for few, what in never)

    def diagnosis(self) -> Diagnosis | None:
        never = self._never()
        able = [each for each in self.nodes if not self.unmet[each.name]]
        found = self._room(able) if able else self._state() or never or self._excluding()
        if found is None or self.agrees:
            return found
        if self.counts is None:
            return replace(found, sureness=Sureness.LIKELY)
        kept = never or found
        known = never and self.counts.nodes <= len(self.nodes) + self.left_out
        words = "" if known else messages.quoted(self.message)
        return replace(kept, cause=kept.cause + words, sureness=Sureness.LIKELY)

    def _room(self, able: list[Node]) -> Diagnosis | None:
        """Return why nodes that meet all demands do not take the pod: full, or as messages say."""
        others = messages.by_words(self.pod, self.snapshot, self.counts, message=self.message)
        lacking = [
            each.what
            for each in self._asked()
            if self.counts and self.counts.lacking(each.what) > self._never_enough(each)
        ]
        if others and self.counts and not lacking:
            return others
        for demand in self._asked(devices_only=True):
            if all(self.free(node, demand.what) < demand.asks for node in able):
                return self._full(able, demand)
        if self.counts and self.counts.of("Too many pods"):
            lacking.append("room for one more pod")
        if not lacking:
            return others
        what = f"{fit.some(lacking)} {'is' if len(lacking) == 1 else 'are'}"
        names = fit.some(each.name for each in able)
        return _USED_UP.of(nodes=names, what=what, lacking=fit.some(lacking))

    def _never_enough(self, demand: fit.Demand) -> int:
        return sum(
            bool(found) and found[0].plugin is fit.Plugin.RESOURCE and demand in found
            for found in self.unmet.values()
        )

    def _asked(self, *, devices_only: bool = False) -> list[fit.Demand]:
        return [
            each
            for each in self.demands
            if each.plugin is fit.Plugin.RESOURCE and (is_device(each.what) or not devices_only)
        ]

    def _full(self, able: list[Node], demand: fit.Demand) -> Diagnosis:
        resource = demand.what
        free = [self.free(node, resource) for node in able]
        size = {fit.offered(node, resource) for node in able}
        names = fit.some(each.name for each in able)
        held = [each for n in able if (each := self.held.get((n.name, resource)))]
        first = sorted(chain.from_iterable(each.first for each in held))
        pods = fit.some(first, count=sum(each.pods for each in held))
        holders = f" (pods {pods})" if pods else ""
        asks = fit.shown(resource, demand.asks)
        if sum(free) >= demand.asks:
            parts = sorted((each for each in free if each > 0), reverse=True)
            split = " + ".join(fit.shown(resource, each) for each in parts)
            most = "" if self.snapshot.covered is None else "at most "
            cause = f"it asks for {asks} {resource} on one node; free are {most}{split} on {names}"
        elif len(size) == 1 and max(free) <= 0:
            most = fit.shown(resource, size.pop())
            each_one = " on each" if len(able) > 1 else ""
            cause = f"{names} could take it, but 0 of {most} {resource} are free{each_one}{holders}"
        else:
            most = fit.shown(resource, max(0.0, *free))
            cause = (
                f"{names} could take it, but at most {most} {resource} are free there, and it asks "
                f"for {asks}{holders}"
            )
        older = self._older(able, demand)
        wording = _HELD_BY_ITS_OLDER if older else _NONE_FREE
        return wording.of(cause=cause, asks=asks, resource=resource, older=older)

    def _older(self, able: list[Node], demand: fit.Demand) -> str:
        """Return a pod of an older revision of the same Deployment that holds enough devices."""
        mine = _revision_of(self.pod)
        if mine is None:
            return ""
        nodes = {each.name: each for each in able}
        key = (self.pod.namespace, mine[0])
        for other in self.snapshot.once(_by_deployment, _by_deployment).get(key, ()):
            node = nodes.get(other.spec.node_name or "")
            if node is None or _revision_of(other) == mine or not _is_older(other, self.pod):
                continue
            free = self.free(node, demand.what)
            if dict(other.spec.devices).get(demand.what, 0) >= demand.asks - free:
                return other.name
        return ""

    def _state(self) -> Diagnosis | None:
        groups: dict[fit.Demand, list[Node]] = {}
        nowhere = self._nowhere()
        for node in self.nodes:
            found = self.unmet[node.name]
            if len(found) == 1 and (found[0] in nowhere or found[0].is_state(node)):
                groups.setdefault(found[0], []).append(node)
        if not groups:
            return None
        demand, nodes = max(
            groups.items(), key=lambda item: (item[0].plugin is fit.Plugin.RESOURCE, len(item[1]))
        )
        if demand.plugin is fit.Plugin.RESOURCE:
            return devices.why_missing(
                nodes, demand.what, self.snapshot, role=self._only(nodes), ask=self.ask
            )
        whys = sorted({demand.why(each) for each in nodes})
        name, wording = nodes[0].name, _CORDONED if demand.plugin is fit.Plugin.CORDON else _OUT
        more = why_not_ready(nodes[0], self.snapshot, self.ask) if demand.state else ""
        cause = f"{clean(name)}, {self._only(nodes)}, {fit.some(whys)}{more}"
        if len(nodes) > 1:
            each_why = "; ".join(f"{clean(each.name)} {demand.why(each)}" for each in nodes[:3])
            cause = f"{self._only(nodes)} are out: {each_why}"
        return wording.of(NODES.ref(nodes[0]), cause=cause, name=name, why=whys[0])

    def _nowhere(self) -> list[fit.Demand]:
        """Return the devices that no node offers, if the pod's labels rule out other nodes.

        Then a node that offers none may have lost them; otherwise it is just another kind of node.
        """
        singled = any(d.plugin is fit.Plugin.LABEL for f in self.unmet.values() for d in f)
        asked = self._asked(devices_only=True) if singled else ()
        return [each for each in asked if not self._most(each)]

    def _only(self, nodes: list[Node]) -> str:
        if len(nodes) == 1:
            return "the only node that fits"
        return f"the {len(nodes)} nodes that fit"

    def _never(self) -> Diagnosis | None:
        order = (fit.Plugin.RESOURCE, fit.Plugin.LABEL, fit.Plugin.TAINT)
        found = [
            each
            for each in self.demands
            if each.plugin in order and not each.state
            if all(each in self.unmet[node.name] for node in self.nodes) and not self._denied(each)
        ]
        if not found:
            return None
        found.sort(key=lambda each: (order.index(each.plugin), not is_device(each.what)))
        unmet = [self._unmet_by_all(each) for each in found[:2]]
        return replace(unmet[0], cause="; and ".join(each.cause for each in unmet))

    def _denied(self, demand: fit.Demand) -> bool:
        """True if the scheduler does not miss a resource that nodes lack (dynamic allocation)."""
        if demand.plugin is not fit.Plugin.RESOURCE or self.counts is None:
            return False
        return not self.counts.lacking(demand.what) and self._never_enough(demand) > 0

    def _most(self, demand: fit.Demand) -> float:
        """Return the largest amount of a resource that a single node offers."""
        return max(fit.offered(node, demand.what) for node in self.nodes)

    def _unmet_by_all(self, demand: fit.Demand) -> Diagnosis:
        if demand.plugin is fit.Plugin.RESOURCE:
            return self._too_large(demand)
        if demand.plugin is fit.Plugin.LABEL:
            return _NO_LABEL.of(what=demand.what, that=f"that{self._values(demand)}")
        taints = fit.written_taints(t for node in self.nodes for t in demand.taints(node))
        return _TAINTED.of(taints=taints)

    def _too_large(self, demand: fit.Demand) -> Diagnosis:
        resource, asks = demand.what, fit.shown(demand.what, demand.asks)
        most = self._most(demand)
        by, system = self.pod.spec.scheduler_name or DEFAULT_SCHEDULER, _EXTENDERS.get(resource, "")
        if not most and system and system.lower() not in by.lower():
            return _OF_EXTENDER.of(asks=asks, resource=resource, system=system, scheduler=by)
        if not most:
            offer = f"any{devices.other_names(self.nodes, resource)}"
            found = _ABSENT.of(asks=asks, resource=resource, offer=offer)
            if not is_device(resource):
                return replace(found, action=f"Reserve {resource} on nodes, or request none.")
            idle = devices.why_idle(found, self.nodes, snapshot=self.snapshot, resource=resource)
            return self._lame(found, resource) or idle
        wording = _DEVICES_TOO_LARGE if is_device(resource) else _TOO_LARGE
        return wording.of(asks=asks, resource=resource, most=fit.shown(resource, most))

    def _lame(self, found: Diagnosis, resource: str) -> Diagnosis | None:
        """Return `found` with a node that is not Ready and may have devices not offered yet."""
        kinds = {each.metadata.label(_MACHINE) for each in self.nodes if is_ready(each)} - {None}
        for node in self.nodes:
            new = has_no_network(node) and node.metadata.label(_MACHINE) not in kinds
            may_have = fit.has_accelerator(node, resource) or new
            if not is_ready(node) and may_have and not self._of_control_plane(node):
                name, why = clean(node.name), why_not_ready(node, self.snapshot, self.ask)
                cause = f"{found.cause}; {name} is not Ready{why}"
                action = f"Fix node {name} first: what it has is known once it is Ready."
                return replace(found, cause=cause, action=action)
        return None

    def _values(self, demand: fit.Demand) -> str:
        key = demand.keys[0] if demand.keys else ""
        found = sorted({v for node in self.nodes if (v := node.metadata.label(key))})
        return f" (there are {clean(key)}={fit.some(found)})" if found else ""

    def _excluding(self) -> Diagnosis | None:
        """Return how the demands exclude each other, from the nodes that miss the fewest."""
        if apart := self._apart():
            return apart
        asked = self._asked(devices_only=True)
        with_devices = [
            each
            for each in self.nodes
            if asked and all(d not in self.unmet[each.name] for d in asked)
        ]
        others = [n for n in self.nodes if not self._of_control_plane(n)]
        # Nodes with devices that the pod does not request are meant for other pods.
        plain = [] if asked else [each for each in others if not each.status.devices]
        pool = self._chosen() or with_devices or plain or others or self.nodes
        fewest = min(len(self.unmet[each.name]) for each in pool)
        groups: dict[tuple[fit.Demand, ...], list[Node]] = {}
        for node in pool:
            if len(self.unmet[node.name]) == fewest:
                groups.setdefault(tuple(self.unmet[node.name]), []).append(node)
        if not groups or not fewest:
            return None
        found = sorted(groups.items(), key=lambda item: (-len(item[1]), item[1][0].name))
        demand, nodes = found[0][0][0], found[0][1]
        texts = [_group_text(*each) for each in found[:2]]
        if with_devices:
            near = [n for n in others if n not in pool and len(self.unmet[n.name]) == 1]
            near = [n for n in near if demand.plugin is fit.Plugin.LABEL]
            what = asked[0]
            texts = [
                (
                    f"no node with {fit.shown(what.what, what.asks)} {what.what} takes it: "
                    f"{'; '.join(texts)}"
                ),
                *(_group_text((self.unmet[n.name][0],), [n]) for n in near[:1]),
            ]
        code, action = _MEND[demand.plugin]
        why = "" if with_devices else "no node meets all that it asks for: "
        cause = why + "; ".join(texts)
        brief = f"{clean(nodes[0].name)} {demand.why(nodes[0])}"
        return Diagnosis(code=code, cause=cause, brief=brief, action=action)

    def _chosen(self) -> list[Node]:
        """Return the nodes that the pod asks for by their hostname, if it asks so."""
        hosts = [
            e
            for e in self.demands
            if e.plugin is fit.Plugin.LABEL and e.keys == ["kubernetes.io/hostname"]
        ]
        return [node for node in self.nodes if hosts and all(e.is_met(node) for e in hosts)]

    def _apart(self) -> Diagnosis | None:
        """Return a diagnosis if no node reaches all volumes of the pod, as they are apart."""
        volumes = [each for each in self.demands if each.plugin is fit.Plugin.VOLUME]
        if len({each.terms for each in volumes}) < 2 or any(  # noqa: PLR2004
            not any(each in self.unmet[node.name] for each in volumes) for node in self.nodes
        ):
            return None
        where = " and ".join(f"{e.what} is in {fit.written(e.terms or ())}" for e in volumes)
        return _VOLUMES_APART.of(where=where)

    def _of_control_plane(self, node: Node) -> bool:
        return any(
            t.key.startswith("node-role.kubernetes.io/")
            for d in self.unmet[node.name]
            for t in d.taints(node)
        )


_MACHINE: Final = "node.kubernetes.io/instance-type"

_MEND: Final = {
    fit.Plugin.CORDON: ("node-cordoned", "Uncordon the node, or ask for what others have."),
    fit.Plugin.TAINT: ("node-taint", "Add a toleration to the pod, or remove the taint."),
    fit.Plugin.LABEL: ("node-label",
        "Label the node that is meant, or correct nodeSelector or affinity."),
    fit.Plugin.RESOURCE: ("resource-size", "Ask for less, or add a larger node."),
    fit.Plugin.VOLUME: ("volume-zone",
        "Move the volume to where the nodes are, or use one that all can reach."),
}  # fmt: skip


_PLURAL: Final = {"has": "have", "is": "are", "does": "do", "offers": "offer", "lacks": "lack"}


def _group_text(demands: tuple[fit.Demand, ...], nodes: list[Node]) -> str:
    whys = [each.why(nodes[0]).split(" ", 1) for each in demands[:3]]
    verbs = _PLURAL if len(nodes) > 1 else {}
    text = " and ".join(f"{verbs.get(verb, verb)} {lack}" for verb, lack in whys)
    return f"{fit.some(each.name for each in nodes)} {text}"
