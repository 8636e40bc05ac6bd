"""What the rules found in the pages of some pods, for whatever subject they belong to."""

from collections.abc import Iterable, Iterator

from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import FROM_METRICS, of_kind
from reporter.metrics.looks.samples import Judged, PodFault, Samples, Verdict
from reporter.model.finding import Undecided
from reporter.model.objects import Pod
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.workload.pod import counts


def running(pods: Iterable[Pod]) -> Iterator[Pod]:
    """Yield the pods whose containers run: what a page said of one that has crashed is over."""
    for pod in pods:
        statuses = pod.status.container_statuses or ()
        if counts(pod) and statuses and all(each.state and each.state.running for each in statuses):
            yield pod


def judged_of(pod: Pod, samples: Samples) -> Judged | None:
    """Return what is known of a pod, None while nothing was seen of this life of its engine.

    What was found in the last life ended with it, and until the next scrape nobody knows better.
    """
    judged = samples.of(pod.namespace, pod.name, pod.metadata.uid)
    if judged is None or not judged.history.looks:
        return judged
    statuses = {each.name: each for each in pod.status.container_statuses or ()}
    for seen in judged.history.newest.target.containers:
        now = statuses.get(seen.name)
        if now is not None and now.restart_count > seen.restarts:
            return None
    return judged


def verdicts(pods: Iterable[Pod], samples: Samples) -> tuple[Verdict, ...]:
    """Return the verdicts on pods: what answers about their subject rest on."""
    judged = (judged_of(pod, samples) for pod in pods)
    return tuple(each.verdict for each in judged if each is not None)


def faults(
    pods: Iterable[Pod], samples: Samples, kind: SubjectKind
) -> Iterator[tuple[str, Pod, PodFault]]:
    """Yield each fault of each pod, with the reason that tells it of a subject of that kind."""
    for pod in running(pods):
        judged = judged_of(pod, samples)
        for fault in judged.verdict.faults.values() if judged else ():
            yield of_kind(fault.reason, kind), pod, fault


def undecided(pods: Iterable[Pod], samples: Samples, kind: SubjectKind) -> Undecided:
    """Return the reasons that cannot be judged of each pod now."""
    if not samples.scraping:
        return {}
    found: dict[ObjectRef, frozenset[str]] = {}
    for pod in running(pods):
        judged = judged_of(pod, samples)
        reasons = FROM_METRICS if judged is None else judged.verdict.undecided
        if reasons:
            found[PODS.ref(pod)] = frozenset(of_kind(each, kind) for each in reasons)
    return found
