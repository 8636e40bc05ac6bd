"""What the rules found in the pages of some pods, for whatever subject they belong to."""

from collections.abc import Iterable, Iterator

from reporter.metrics.looks.samples import Judged, PodVerdict, Samples
from reporter.model.objects import Pod
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


def verdicts(pods: Iterable[Pod], samples: Samples) -> tuple[PodVerdict, ...]:
    """Return the verdicts on pods: what answers about their subject rest on."""
    judged = (judged_of(pod, samples) for pod in pods)
    return tuple(each.verdict for each in judged if each is not None)
