"""Faults that several models, or a model and a shared part, owe to one object: reported once,
there.

clusterNodeNotReady: nodes that cause the faults of what is on them or waits for them. Only nodes
that other findings depend on are judged, so unused nodes do not matter.

clusterSharedCause: any other object that the diagnoses of several subjects name as the one to
repair, for the same kind of cause. What affects only one subject is reported there; but a webhook
without endpoints refuses everybody's pods. If a shared part is behind such a webhook, that part is
the cause.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, TypeAlias

from reporter.catalogue.reasons import CLUSTER_NODE, CLUSTER_SHARED
from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES, NODES, PODS, SERVICES
from reporter.diagnosis.case import REFUSES_ALL
from reporter.model.finding import Diagnosis, Evaluation, Finding
from reporter.model.objects import LabelSelector, Node
from reporter.model.subject import CLUSTER, CLUSTER_KIND, NAMESPACE_KIND, ObjectRef, Subject
from reporter.model.text import clean
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import namespace_ref
from reporter.workload.deployment import deployment_behind, judge_deployment
from reporter.workload.node import GONE, NodeFault, node_fault
from reporter.workload.pod import is_ready
from reporter.workload.replica_faults import pods_of

_Cause: TypeAlias = tuple[ObjectRef, str]
"""The object to repair, and the kind of cause."""

_ACTIONS: Final = 3


def with_shared_causes(parts: Sequence[Evaluation], snapshot: Snapshot) -> tuple[Evaluation, ...]:
    """Return the evaluations with findings that share an object depending on that object.

    A node with a fault of its own, which may be unrelated, is reported for its own fault, and the
    subjects for theirs.
    """
    every = list(chain.from_iterable(part.findings for part in parts))
    subjects: dict[_Cause, set[Subject]] = defaultdict(set)
    whys: dict[_Cause, Diagnosis] = {}
    for each in every:
        if each.diagnosis and (key := _cause_of(each)):
            subjects[key].add(each.subject)
            whys[key] = each.diagnosis
    shared = {
        key: (
            CLUSTER_SHARED,
            f"{NAMESPACES.kind} {at}" if (at := key[0].namespace) else str(key[0]),
        )
        for key, found in subjects.items()
        if (len(found) > 1 and (key[0].kind != NODES.kind or _is_well(key[0].name, snapshot)))
        or _refuses_all(whys[key], snapshot)
    }
    if not shared:
        return tuple(parts)
    down = {each.related: each.reason for each in every if each.governs}
    for ref, code in shared:
        refuses = code == REFUSES_ALL
        behind = deployment_behind(snapshot, ref.namespace, ref.name) if refuses else None
        if behind is not None and (part := down.get(DEPLOYMENTS.ref(behind))):
            shared[ref, code] = (part, "")

    def rest(finding: Finding) -> Finding:
        key = _cause_of(finding)
        if key is None or key not in shared:
            return finding
        if key[0].kind == NODES.kind:
            return replace(finding, lost_node=key[0].name)
        if finding.governs and shared[key] == (finding.reason, ""):
            return _behind_itself(finding)
        return replace(finding, rests_on=shared[key])

    return tuple(replace(part, findings=tuple(map(rest, part.findings))) for part in parts)


def _cause_of(finding: Finding) -> _Cause | None:
    found = finding.diagnosis
    if finding.lost_node or found is None or not found.shared or found.object is None:
        return None
    return found.object, found.code


def _behind_itself(finding: Finding) -> Finding:
    """Return the finding of a part whose pods are refused by the webhook that it serves itself.

    It depends on nothing: everything that the webhook refuses depends on it.
    """
    why = finding.diagnosis and replace(finding.diagnosis, action=_EXEMPT)
    message = f"{finding.message}; it answers that webhook itself"
    return replace(finding, message=message, diagnosis=why)


_EXEMPT: Final = (
    "Exempt its namespace from the webhook (namespaceSelector), or remove the webhook's "
    "configuration until it runs."
)


def _standing(ref: ObjectRef, snapshot: Snapshot) -> str:
    """Return the fault of the Deployment behind a Service, in parentheses, or an empty string."""
    behind = deployment_behind(snapshot, ref.namespace, ref.name)
    fault = judge_deployment(behind, snapshot) if behind is not None else None
    if behind is None or fault is None:
        return ""
    return f" ({DEPLOYMENTS.ref(behind)} is {fault.state}: {fault.detail})"


def _refuses_all(why: Diagnosis, snapshot: Snapshot) -> bool:
    """Verify that a webhook's Service has no ready pod: a diagnosis may quote forged text."""
    ref = why.object
    if why.code != REFUSES_ALL or ref is None:
        return False
    service = snapshot[SERVICES].get(ref.namespace, ref.name)
    if service is None:
        return why.missing and snapshot.absence_known(SERVICES, ref.namespace, ref.name)
    labels = service.spec.selector
    if not labels or not snapshot.known(PODS):
        return False
    return not any(map(is_ready, pods_of(LabelSelector(labels), ref.namespace, snapshot)))


def _is_well(name: str, snapshot: Snapshot) -> bool:
    node = snapshot[NODES].get("", name)
    return node is not None and node_fault(node) is None


def probe_nodes(snapshot: Snapshot, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield a finding for each node at fault that other findings depend on."""
    resting: dict[str, list[Finding]] = {}
    for each in findings:
        if each.lost_node:
            resting.setdefault(each.lost_node, []).append(each)
    for name, rests in sorted(resting.items()):
        node = snapshot[NODES].get("", name)
        fault = node_fault(node) if node is not None else GONE
        sharing = [each for each in rests if each.diagnosis and each.diagnosis.shared]
        several = len({each.subject for each in sharing}) > 1
        if node is not None and fault is None and several:
            whys = (each.diagnosis for each in sharing if each.diagnosis)
            first = min(whys, key=lambda of: of.cause)
            at = _node_finding(name, node, NodeFault(first.brief, ""), why=first)
            yield replace(at, sole_place=_sole_place(sharing))
        if fault is not None and (node is not None or snapshot.absence_known(NODES, name=name)):
            # The pods that wait for its devices were diagnosed with why it has none.
            found = (each.diagnosis for each in rests if fault.lacking)
            devices = (each for each in found if each and each.code.startswith("device"))
            why = min(devices, key=lambda each: each.cause, default=None)
            yield _node_finding(name, node, fault, why=why)


def _node_finding(
    name: str, node: Node | None, fault: NodeFault, *, why: Diagnosis | None
) -> Finding:
    ref = NODES.ref(node) if node is not None else NODES.ref_named("", name)
    return Finding(
        reason=CLUSTER_NODE,
        subject=CLUSTER,
        involved=ref,
        related=ref,
        message=clean(f"{ref} {fault.text}" if why is None else f"{ref}: {why.sentence}"),
        cause=fault.cause,
        transition=fault.transition,
        created=node.created if node is not None else None,
        governs=True,
        diagnosis=why,
    )


def probe_shared(snapshot: Snapshot, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield a finding for each object that several findings depend on."""
    resting: dict[_Cause, list[Finding]] = defaultdict(list)
    for each in findings:
        if each.rests_on and each.rests_on[0] == CLUSTER_SHARED and (key := _cause_of(each)):
            resting[key].append(each)
    for (ref, _), rests in sorted(resting.items()):
        yield _shared_finding(ref, rests, snapshot)


def _shared_finding(ref: ObjectRef, rests: Sequence[Finding], snapshot: Snapshot) -> Finding:
    """Return the finding of an object: as old as its oldest dependent, as urgent as any."""
    why = min((each.diagnosis for each in rests if each.diagnosis), key=lambda of: of.cause)
    pods = {each.related for each in rests if each.related.kind == PODS.kind}
    subjects = {each.subject for each in rests}
    whom = _named(subjects)
    what = f"pods of {whom} from being made"
    if pods:
        what = f"{_count(len(pods), 'pod')} of {whom} from running"
    actions = sorted({each.diagnosis.action for each in rests if each.diagnosis} - {""})
    first = min(rests, key=lambda each: f"{each.transition or each.created or '9'}")
    budgets = [each.budget for each in rests]
    of = str(ref) if ref.api_version else f"image {ref.name}"
    of_one = _sole_place(rests)
    cause = why.sentence
    if why.code == REFUSES_ALL:
        refuses_all = _refuses_all(why, snapshot)
        none = ", and no pod behind it is ready" if refuses_all and not why.missing else ""
        cause += _standing(ref, snapshot) or none
        if ref.namespace != of_one and refuses_all:
            of_one = ""  # other namespaces are refused as soon as they need a pod
    return Finding(
        reason=CLUSTER_SHARED,
        subject=CLUSTER,
        involved=namespace_ref(snapshot, ref.namespace) if ref.namespace else ref,
        related=ref,
        message=clean(f"{of} keeps {what}: {cause}. {' '.join(actions[:_ACTIONS])}".strip()),
        cause=f"{of} ({why.brief})",
        transition=first.transition,
        created=first.created,
        exempt=any(each.exempt for each in rests),
        budget=min((each for each in budgets if each is not None), default=None)
        if None not in budgets
        else None,
        governs=True,
        diagnosis=why,
        sole_place=of_one,
    )


def _sole_place(rests: Iterable[Finding]) -> str:
    """Return the only namespace of some findings, or an empty string; see `Finding`."""
    places = {each.subject.namespace for each in rests}
    return places.pop() if len(places) == 1 else ""


def _named(subjects: Iterable[Subject]) -> str:
    of_models = [each.kind not in {CLUSTER_KIND, NAMESPACE_KIND} for each in subjects]
    parts, models = of_models.count(False), of_models.count(True)
    counted = ((models, "model"), (parts, "shared part"))
    return " and ".join(_count(number, what) for number, what in counted if number)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
