"""What the rules found in the pages of some pods, for whatever subject they belong to."""

from collections.abc import Iterable, Iterator

from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import FROM_METRICS, of_kind
from reporter.model.finding import Undecided
from reporter.model.objects import Pod
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.samples.samples import PodFault, Samples, Verdict
from reporter.workload.pod import counts


def running(pods: Iterable[Pod]) -> Iterator[Pod]:
    """Yield the pods whose containers run: what a page said of one that has crashed is over."""
    for pod in pods:
        statuses = pod.status.container_statuses or ()
        if counts(pod) and statuses and all(each.state and each.state.running for each in statuses):
            yield pod


def verdicts(pods: Iterable[Pod], samples: Samples) -> tuple[Verdict, ...]:
    """Return the verdicts on pods: what answers about their subject rest on."""
    judged = (samples.of(pod.namespace, pod.name, pod.metadata.uid) for pod in pods)
    return tuple(each.verdict for each in judged if each is not None)


def faults(
    pods: Iterable[Pod], samples: Samples, kind: SubjectKind
) -> Iterator[tuple[str, Pod, PodFault]]:
    """Yield each fault of each pod, with the reason that tells it of a subject of that kind."""
    for pod in running(pods):
        judged = samples.of(pod.namespace, pod.name, pod.metadata.uid)
        for fault in judged.verdict.faults.values() if judged else ():
            yield of_kind(fault.reason, kind), pod, fault


def undecided(pods: Iterable[Pod], samples: Samples, kind: SubjectKind) -> Undecided:
    """Return the reasons that cannot be judged of each pod now."""
    if not samples.scraping:
        return {}
    found: dict[ObjectRef, frozenset[str]] = {}
    for pod in running(pods):
        judged = samples.of(pod.namespace, pod.name, pod.metadata.uid)
        reasons = FROM_METRICS if judged is None else judged.verdict.undecided
        if reasons:
            found[PODS.ref(pod)] = frozenset(of_kind(each, kind) for each in reasons)
    return found
