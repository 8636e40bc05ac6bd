"""Causes of a pod without a node that only messages name: the scheduler's, or its extender's.

They depend on other pods or on devices that are shared, which is not evaluated here. The scheduler
counts nodes but names neither the pods nor the rule of an affinity to pods, so those are looked up.
The rules of running pods apply as well as those of the pending pod (Kubernetes, "Assigning Pods to
Nodes"). Terms that select namespaces by label are skipped: labels of namespaces are not evaluated
here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from reporter.catalogue.resources import NODES, PODS
from reporter.diagnosis import fit
from reporter.diagnosis.texts import Wording
from reporter.model.finding import Diagnosis
from reporter.model.objects import Pod, PodAffinityTerm
from reporter.model.text import clean, cut
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot

_WORDS_BYTES: Final = 220

_PLAIN: Final = (
    ("node(s) didn't match pod topology spread constraints", "topology-spread",
     "its topology spread constraints leave no node",
     "Loosen topologySpreadConstraints, or add nodes."),
    ("node(s) didn't match pod affinity rules", "pod-affinity",
     "no node that fits has the pods that its affinity asks for",
     "Look at podAffinity of the pod."),
    ("node(s) didn't satisfy existing pods anti-affinity rules", "pod-affinity",
     "pods that run there exclude it by anti-affinity",
     "Look at podAntiAffinity of the pods that run."),
    ("node(s) didn't match pod anti-affinity rules", "pod-affinity",
     "each node that fits has a pod that its anti-affinity excludes",
     "Loosen podAntiAffinity, or add nodes."),
    ("node(s) didn't have free ports", "host-port",
     "the host ports that it asks for are taken on each node that fits",
     "Remove hostPort or hostNetwork, or free the ports."),
    ("node(s) exceed max volume count", "volume-count",
     "the nodes that fit hold as many volumes as they can", "Add nodes, or use fewer volumes."),
    ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", "volume-lost",
     "its claim is bound to a volume that does not exist",
     "Restore the volume, or recreate the claim."),
    ("node(s) had no available volume zone", "volume-zone",
     "its volume is in a zone without a node that fits",
     "Move the volume, or add nodes in its zone."),
    ("node(s) didn't find available persistent volumes to bind", "volume-none",
     "no free volume can be bound to its claim on any node that fits",
     "Add volumes, or use a class that creates them."),
    ("node(s) did not have enough free storage", "volume-space",
     "no node that fits has enough storage for its claim", "Free storage, or ask for less."),
    ("pod already in-use", "volume-in-use",
     "another pod holds its claim, which only one pod may use", "Delete the other pod first."),
    ("cannot allocate all claims", "device-claim",
     "no node has the devices that its resource claims ask for", "Look at its ResourceClaims."),
    ("resourceclaim", "device-claim",
     "its resource claim cannot be met",
     "Look at its ResourceClaims and the device driver."),
)  # fmt: skip
"""The scheduler's texts for reasons not evaluated here (kube-scheduler, framework/plugins)."""


_NO_DEVICE_CLASS: Final = re.compile(r"device class (\S{1,253}) does not exist")
_NO_CLASS_OF_DEVICES: Final = Wording("device-class-missing",
    "its resource claim asks for DeviceClass {name}, which does not exist",
    "no DeviceClass {name}",
    "Install the device driver together with its DeviceClass, or name one that exists.",
    missing=True)  # fmt: skip
_EXTENDER: Final = re.compile(r"\d{1,6} nodes ([A-Z]\w{3,60})\(([^)\n]{1,2000})\)")
_OF_CARDS: Final = {
    "CardInsufficientMemory": "no card has as much memory left as it asks for",
    "CardInsufficientCore": "no card has as much computing power left as it asks for",
    "CardTimeSlicingExhausted": "no card may take one more pod",
    "CardTypeMismatch": "no card is of the type that it asks for",
    "CardUuidMismatch": "no card is one of those that it names",
    "NodeInsufficientDevice": "there are fewer cards than it asks for",
}
"""HAMi's codes for why a node's cards do not fit."""
_NO_CARD: Final = Wording("device-share", "{why} on {nodes} (HAMi: {code})",
    "no card of {nodes} fits", "Ask for less, free cards, or add nodes.")  # fmt: skip


def by_words(
    pod: Pod, snapshot: Snapshot, counts: fit.NodeCounts | None, *, message: str
) -> Diagnosis | None:
    """Return a cause that only messages of the scheduler or its extender name, or None."""
    if missing := _NO_DEVICE_CLASS.search(message):
        return _NO_CLASS_OF_DEVICES.of(name=missing[1])
    words = quoted(message) if counts else ""
    for text in counts.others if counts else [message]:
        for begins, code, cause, action in _PLAIN:
            if begins in text:
                which = _which(begins, pod, snapshot)
                return Diagnosis(code, cause + which + words, cause, action)
    refused = (e for e in snapshot.evidence.events_of("Pod", pod) if e.reason == "FilteringFailed")
    return next(filter(None, (_by_extender(each.message) for each in refused)), None)


def _by_extender(message: str) -> Diagnosis | None:
    """Return why HAMi finds no card for a pod (HAMi, pkg/device/common/common.go)."""
    for code, names in _EXTENDER.findall(message):
        if code in _OF_CARDS:
            return _NO_CARD.of(nodes=fit.some(names.split(",")), why=_OF_CARDS[code], code=code)
    return None


def quoted(message: str) -> str:
    """Return the scheduler's message in brackets, to append to a cause."""
    text = clean(re.split(r"\.(?: |$)", message, maxsplit=1)[0])
    return f" (scheduler: {cut(text, _WORDS_BYTES)})" if text else ""


def _wanted(pod: Pod, snapshot: Snapshot) -> str:
    """Return the pods that it wants to be near, the topology key, and where those pods run."""
    affinity = pod.spec.affinity and pod.spec.affinity.pod_affinity
    rules = []
    nodes = list(snapshot[NODES])
    for each in (affinity.required if affinity else None) or ():
        where = f"{fit.selected(each.label_selector)} by {clean(each.topology_key)}"
        there = _selected(each, pod, snapshot)
        found = {f"{one.namespace}/{one.name} on {one.spec.node_name}" for one in there}
        if nodes and all(n.metadata.label(each.topology_key) is None for n in nodes):
            where += ", a label that no node has"
        elif found:
            where += f": {fit.some(sorted(found))}"
        rules.append(where)
    return "; ".join(rules[:2])


def _unwanted(pod: Pod, snapshot: Snapshot) -> str:
    """Return the placed pods that its own anti-affinity rules exclude."""
    terms = pod.spec.affinity.kept_away if pod.spec.affinity else ()
    found = (one for each in terms for one in _selected(each, pod, snapshot))
    return fit.some(sorted({f"{each.namespace}/{each.name}" for each in found}))


def _kept_away_by(pod: Pod, snapshot: Snapshot) -> str:
    """Return the placed pods whose anti-affinity rules exclude it, and the rules' selectors."""
    found = [
        (f"{each.namespace}/{each.name}", fit.selected(term.label_selector))
        for key in (_ANY, *(pod.metadata.labels or {}).items())
        for each, term in snapshot.entry(_terms, (pod.namespace, *key), _terms) or ()
        if _applies(term, each, pod)
    ]
    names, rules = sorted({name for name, _ in found}), sorted({rule for _, rule in found})
    return f"{fit.some(names)}: podAntiAffinity to {fit.some(rules)}" if found else ""


_BY_TEXT: Final[dict[str, Callable[[Pod, Snapshot], str]]] = {
    "node(s) didn't match pod affinity rules": _wanted,
    "node(s) didn't match pod anti-affinity rules": _unwanted,
    "node(s) didn't satisfy existing pods anti-affinity rules": _kept_away_by,
}


def _which(message: str, pod: Pod, snapshot: Snapshot) -> str:
    """Return in brackets the pods and rules behind a scheduler message, or an empty string."""
    of = _BY_TEXT.get(message)
    found = of(pod, snapshot) if of else ""
    return f" ({found})" if found else ""


def _selected(term: PodAffinityTerm, owner: Pod, snapshot: Snapshot) -> Iterator[Pod]:
    """Yield the pods on nodes that a rule of a pod is about."""
    for space in term.namespaces or (owner.namespace,):
        selector = term.label_selector
        for each in snapshot[PODS].selected(space, selector) if selector else ():
            if each.is_placed and _applies(term, owner, each):
                yield each


_ANY: Final = ("", "")


def _terms(
    snapshot: Snapshot,
) -> Mapping[tuple[str, str, str], tuple[tuple[Pod, PodAffinityTerm], ...]]:
    """Return the rules of pods on nodes by namespace and by a label of the pods kept away."""
    return grouped(
        ((space, *_label(term)), (each, term))
        for each in snapshot[PODS]
        if each.spec.affinity and each.is_placed
        for term in each.spec.affinity.kept_away
        for space in set(term.namespaces or (each.namespace,))
    )


def _label(term: PodAffinityTerm) -> tuple[str, str]:
    labels = (term.label_selector and term.label_selector.match_labels) or {}
    return max(labels.items(), key=lambda each: (len(each[1]), each), default=_ANY)


def _applies(term: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    """True if a rule of the owner selects the other pod."""
    if term.namespace_selector is not None or term.label_selector is None or owner is other:
        return False
    spaces = term.namespaces or (owner.namespace,)
    return other.namespace in spaces and term.label_selector.matches(other.metadata.labels)
