"""What to read beyond the watches to explain faults: a pure function of a pass's report.

The order is that of the report: causes by the number of models that they affect. Findings with a
certain cause need no more evidence; findings in their grace do, so that the cause is known when
they are reported.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Final

from reporter.catalogue import resources as r
from reporter.diagnosis import daemons, devices, reach
from reporter.diagnosis.case import Case, last_end, statuses
from reporter.diagnosis.fit import bound_claims
from reporter.model.evidence import LogCause
from reporter.model.finding import Sureness
from reporter.model.objects import ContainerStatus, KubeObject, Pod
from reporter.model.report import Disposition, Report, ResolvedFinding
from reporter.model.resource import AnyResource
from reporter.snapshot.snapshot import Served, Snapshot

OF_NODES: Final = "default"
"""Namespace of Events on Nodes, NodeClaims and NodePools (client-go, tools/record; karpenter)."""

MOST_PODS: Final = 20
"""Most pods per namespace whose logs are read, or whose Events are read one by one."""

_MOST_CONTAINERS: Final = 10
"""Most containers per pod whose logs are read: a pod may have hundreds, and other pods wait."""

_OPEN: Final = frozenset(Disposition) - {Disposition.SUPPRESSED, Disposition.CLEARING}
_PENDING: Final = "Pending"


@dataclass(frozen=True, slots=True)
class WantedRun:
    """A container whose log is worth reading.

    `runs` lists its runs, the most informative first; True is the previous run.
    """

    namespace: str
    pod: str
    container: str
    runs: tuple[bool, ...]
    uid: str = ""
    restarts: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        return self.namespace, self.pod, self.container


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedEvidence:
    """What to read, the most important first.

    `namespaces` maps each namespace whose Events are read to its faults, and `pods` to its pods at
    fault, at most `MOST_PODS` each. `resources` are listed, `volumes` are read by name. Verdicts
    depend on `leases`, by namespace and name, and on `scalers`, HorizontalPodAutoscalers;
    `scalers_at_fault` asks for recent data about them, as one is reported. Evidence about the
    namespaces in `at_fault` is kept.
    """

    namespaces: Mapping[str, frozenset[object]] = field(default_factory=dict)
    pods: Mapping[str, tuple[Pod, ...]] = field(default_factory=dict)
    logs: tuple[WantedRun, ...] = ()
    resources: tuple[AnyResource, ...] = ()
    volumes: tuple[str, ...] = ()
    leases: tuple[tuple[str, str], ...] = ()
    scalers: bool = False
    scalers_at_fault: bool = False
    at_fault: frozenset[str] = frozenset()


NOTHING_WANTED: Final = WantedEvidence()


def wanted_evidence(report: Report, snapshot: Snapshot) -> WantedEvidence:
    """Return the evidence that may explain the unexplained findings of a report."""
    at_fault = frozenset(filter(None, (_namespace(each) for each in report.findings)))
    if not at_fault:
        return NOTHING_WANTED
    faults: dict[str, set[object]] = {}
    named: dict[str, dict[str, None]] = {}
    for each in report.findings:
        namespace = _namespace(each)
        if namespace and _is_open(each):
            faults.setdefault(namespace, set()).add((each.key, each.since))
        if each.related.kind == r.PODS.kind and each.disposition in _OPEN:
            named.setdefault(namespace, {})[each.related.name] = None
    pods = {each: _pods(snapshot, each, named.get(each, ())) for each in faults}
    at_hand = list(chain.from_iterable(pods.values()))
    # Last log lines are shown even for pods whose faults are explained.
    explained = [
        pod
        for namespace in sorted(named.keys() - faults.keys())
        for name in list(named[namespace])[:MOST_PODS]
        if (pod := snapshot[r.PODS].get(namespace, name))
    ]
    waiting = [pod for pod in at_hand if pod.status.phase == _PENDING]
    beyond = tuple(islice(_beyond(report, snapshot), MOST_PODS))
    for other in beyond:
        faults.setdefault(other.namespace, set()).add(other.metadata.uid)
    namespaces = {namespace: frozenset(found) for namespace, found in faults.items()}
    of_nodes = [
        *(waiting if _serves(snapshot, r.NODECLAIMS) else ()),
        *(pod for pod in (*at_hand, *explained) if _lacked_memory(pod, snapshot)),
    ]
    causes: frozenset[object] = frozenset(pod.metadata.uid for pod in of_nodes)
    if _lacks_machines(report, snapshot):
        causes |= {each.key for each in report.findings if _is_not_of_a_pod(each)}
    if causes:
        namespaces.setdefault(OF_NODES, causes)
    return WantedEvidence(
        namespaces=namespaces,
        pods=pods,
        logs=tuple(
            run
            for pod in (*at_hand, *beyond, *explained)
            if isinstance(pod, Pod)
            for run in islice(wanted_logs(pod), _MOST_CONTAINERS)
        ),
        resources=tuple(_resources(report, snapshot, waits=bool(waiting))),
        volumes=tuple(
            dict.fromkeys(name for pod in waiting for _, name in bound_claims(pod, snapshot))
        ),
        at_fault=at_fault
        | {each.namespace for each in beyond}
        | ({OF_NODES} if OF_NODES in namespaces else frozenset()),
    )


def _lacks_machines(report: Report, snapshot: Snapshot) -> bool:
    """True if NodeClaims may say why a model has no pod yet: KAITO asks for them itself."""
    return _serves(snapshot, r.NODECLAIMS) and any(map(_is_not_of_a_pod, report.findings))


def _is_not_of_a_pod(finding: ResolvedFinding) -> bool:
    return _is_open(finding) and finding.related.kind != r.PODS.kind


def _lacked_memory(pod: Pod, snapshot: Snapshot) -> bool:
    """True if a container without a limit was killed for memory: Events say if the node ran out."""
    case = Case(pod, snapshot)
    ended = ((each.name, last_end(each)) for each in statuses(pod))
    return any(end and end.reason == "OOMKilled" and case.lacks_limit(name) for name, end in ended)


def _beyond(report: Report, snapshot: Snapshot) -> Iterator[KubeObject]:
    """Yield the pods and DaemonSets of other namespaces that nodes without devices wait for."""
    for each in report.findings:
        known = each.diagnosis if each.disposition in _OPEN and not each.is_blind else None
        if known is not None and known.code in (devices.MISSING, devices.ABSENT):
            yield from devices.behind(known, snapshot)
            yield from daemons.short_of_pods(snapshot)


def _namespace(finding: ResolvedFinding) -> str:
    return finding.related.namespace or finding.subject.namespace


def _is_open(finding: ResolvedFinding) -> bool:
    if finding.disposition not in _OPEN or finding.is_blind:
        return False
    known = finding.diagnosis
    return known is None or known.sureness is not Sureness.CERTAIN


def _pods(snapshot: Snapshot, namespace: str, first: Iterable[str]) -> tuple[Pod, ...]:
    table = snapshot[r.PODS]
    named = [pod for name in first if (pod := table.get(namespace, name))]
    names = {each.name for each in named}
    others = (
        each
        for each in table.in_namespace(namespace)
        if each.name not in names and (each.status.phase == _PENDING or any(wanted_logs(each)))
    )
    return (*named, *others)[:MOST_PODS]


_OF_OTHERS: Final = (*r.BY_NAME, r.AUTOSCALERS, r.APISERVICES, r.NETWORKPOLICIES)
"""Read for other reasons than a pod that waits."""


def _resources(report: Report, snapshot: Snapshot, *, waits: bool) -> Iterator[AnyResource]:
    for each in r.ON_DEMAND if waits else ():
        if each not in _OF_OTHERS and (not each.custom or _serves(snapshot, each)):
            yield each
    if not waits and _lacks_machines(report, snapshot):
        yield r.NODECLAIMS
    if any(
        each.disposition in _OPEN and reach.TIMED_OUT.search(each.message)
        for each in report.findings
    ):
        yield r.NETWORKPOLICIES


def _serves(snapshot: Snapshot, resource: AnyResource) -> bool:
    return snapshot.discovery.state(resource.crd_name) is Served.SERVED


def wanted_logs(pod: Pod) -> Iterator[WantedRun]:
    """Yield the containers that are not ready; skip pods that succeeded or are being deleted."""
    if pod.status.phase == "Succeeded" or pod.metadata.deletion_timestamp is not None:
        return
    sidecars = {e.name for e in pod.spec.init_containers or () if e.restart_policy == "Always"}
    done = {
        each.name
        for each in pod.status.init_container_statuses or ()
        if each.ended and each.ended.exit_code == 0
    }
    for each in statuses(pod):
        if each.name not in done - sidecars and (runs := _runs(each)):
            place = (pod.namespace, pod.name, each.name)
            yield WantedRun(*place, runs, pod.metadata.uid, each.restart_count)


def _runs(container: ContainerStatus) -> tuple[bool, ...]:
    if container.ready:
        return ()
    if container.ended:
        return (False,)
    before = (True,) if container.ended_before else ()
    return (*before, False) if container.running else before


def together(found: Iterable[LogCause]) -> LogCause:
    """Return the best result of several runs' logs: the first with a cause, else a symptom, else an
    unexplained failure. That a run has served counts whichever is best.
    """
    causes = list(found)
    ranks = (
        (each for each in causes if each.signature and not each.symptom),
        (each for each in causes if each.signature),
        (each for each in causes if each.failure),
        (each for each in causes if each.listens or each.loads),
        causes,
    )
    best = next(chain.from_iterable(ranks), LogCause(read=False))
    served = any(each.serves for each in causes)
    return best if best.serves == served else replace(best, serves=served)
