"""Which pods keep a pod away from nodes, or are not where it wants to be: affinity to pods.

The scheduler counts the nodes, and names neither the pods nor the rule. A rule of a pod that runs
counts as well as one of the pod that waits (Kubernetes, "Assigning Pods to Nodes"). Terms that
select namespaces by label are left out: labels of namespaces are not held against them here.
"""

from collections.abc import Callable
from typing import Final

from reporter.catalogue.resources import NODES, PODS
from reporter.diagnosis.fit import selected, some
from reporter.model.objects import Pod, PodAffinityTerm
from reporter.model.text import clean
from reporter.snapshot.snapshot import Snapshot


def _wanted(pod: Pod, snapshot: Snapshot) -> str:
    """Return which pods it wants to be beside, by which label of nodes, and where they are."""
    affinity = pod.spec.affinity and pod.spec.affinity.pod_affinity
    told = []
    for each in (affinity.required if affinity else None) or ():
        where = f"{selected(each.label_selector)} by {clean(each.topology_key)}"
        nodes = list(snapshot[NODES])
        found = {
            f"{one.namespace}/{one.name} on {one.spec.node_name}"
            for space in each.namespaces or (pod.namespace,)
            for one in snapshot[PODS].in_namespace(space)
            if _is_placed(one) and _applies(each, pod, one)
        }
        if nodes and all(n.metadata.label(each.topology_key) is None for n in nodes):
            where += ", a label that no node has"
        elif found:
            where += f": {some(sorted(found))}"
        told.append(where)
    return "; ".join(told[:2])


def _unwanted(pod: Pod, snapshot: Snapshot) -> str:
    """Return which pods that are on nodes it does not want beside it."""
    terms = pod.spec.affinity.kept_away if pod.spec.affinity else ()
    spaces = {one for each in terms for one in each.namespaces or (pod.namespace,)}
    found = (other for one in sorted(spaces) for other in snapshot[PODS].in_namespace(one))
    names = {
        f"{each.namespace}/{each.name}"
        for each in found
        if _is_placed(each) and any(_applies(term, pod, each) for term in terms)
    }
    return some(sorted(names))


def _kept_away_by(pod: Pod, snapshot: Snapshot) -> str:
    """Return which pods that are on nodes do not want it beside them, and by which labels."""
    found = [
        (f"{each.namespace}/{each.name}", selected(term.label_selector))
        for each in snapshot.once(_with_terms, _with_terms)
        for term in (each.spec.affinity.kept_away if each.spec.affinity else ())
        if _applies(term, each, pod)
    ]  # fmt: skip
    names, rules = sorted({name for name, _ in found}), sorted({rule for _, rule in found})
    return f"{some(names)}: podAntiAffinity to {some(rules)}" if found else ""


_BY_TEXT: Final[dict[str, Callable[[Pod, Snapshot], str]]] = {
    "node(s) didn't match pod affinity rules": _wanted,
    "node(s) didn't match pod anti-affinity rules": _unwanted,
    "node(s) didn't satisfy existing pods anti-affinity rules": _kept_away_by,
}


def which(said: str, pod: Pod, snapshot: Snapshot) -> str:
    """Return in brackets which pods and rules a text of the scheduler is about, or nothing."""
    of = _BY_TEXT.get(said)
    found = of(pod, snapshot) if of else ""
    return f" ({found})" if found else ""


def _with_terms(snapshot: Snapshot) -> tuple[Pod, ...]:
    return tuple(
        each
        for each in snapshot[PODS]
        if each.spec.affinity and each.spec.affinity.kept_away and _is_placed(each)
    )


def _is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and pod.status.phase not in ("Succeeded", "Failed")


def _applies(term: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    """Return whether a rule of one pod is about another one."""
    if term.namespace_selector is not None or term.label_selector is None or owner is other:
        return False
    spaces = term.namespaces or (owner.namespace,)
    return other.namespace in spaces and term.label_selector.matches(other.metadata.labels)
