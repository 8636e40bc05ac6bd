"""Inter-pod affinity: which pods keep a pod away from nodes, or are not where it wants to be.

The scheduler counts nodes but names neither the pods nor the rule. The rules of running pods apply
as well as those of the pending pod (Kubernetes, "Assigning Pods to Nodes"). Terms that select
namespaces by label are skipped: labels of namespaces are not evaluated here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from reporter.catalogue.resources import NODES, PODS
from reporter.diagnosis.fit import selected, some
from reporter.model.objects import Pod, PodAffinityTerm
from reporter.model.text import clean
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot


def _wanted(pod: Pod, snapshot: Snapshot) -> str:
    """Return the pods that it wants to be near, the topology key, and where those pods run."""
    affinity = pod.spec.affinity and pod.spec.affinity.pod_affinity
    rules = []
    nodes = list(snapshot[NODES])
    for each in (affinity.required if affinity else None) or ():
        where = f"{selected(each.label_selector)} by {clean(each.topology_key)}"
        there = _selected(each, pod, snapshot)
        found = {f"{one.namespace}/{one.name} on {one.spec.node_name}" for one in there}
        if nodes and all(n.metadata.label(each.topology_key) is None for n in nodes):
            where += ", a label that no node has"
        elif found:
            where += f": {some(sorted(found))}"
        rules.append(where)
    return "; ".join(rules[:2])


def _unwanted(pod: Pod, snapshot: Snapshot) -> str:
    """Return the placed pods that its own anti-affinity rules exclude."""
    terms = pod.spec.affinity.kept_away if pod.spec.affinity else ()
    found = (one for each in terms for one in _selected(each, pod, snapshot))
    return some(sorted({f"{each.namespace}/{each.name}" for each in found}))


def _kept_away_by(pod: Pod, snapshot: Snapshot) -> str:
    """Return the placed pods whose anti-affinity rules exclude it, and the rules' selectors."""
    found = [
        (f"{each.namespace}/{each.name}", selected(term.label_selector))
        for key in (_ANY, *(pod.metadata.labels or {}).items())
        for each, term in snapshot.entry(_terms, (pod.namespace, *key), _terms) or ()
        if _applies(term, each, pod)
    ]
    names, rules = sorted({name for name, _ in found}), sorted({rule for _, rule in found})
    return f"{some(names)}: podAntiAffinity to {some(rules)}" if found else ""


_BY_TEXT: Final[dict[str, Callable[[Pod, Snapshot], str]]] = {
    "node(s) didn't match pod affinity rules": _wanted,
    "node(s) didn't match pod anti-affinity rules": _unwanted,
    "node(s) didn't satisfy existing pods anti-affinity rules": _kept_away_by,
}


def which(message: str, pod: Pod, snapshot: Snapshot) -> str:
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
