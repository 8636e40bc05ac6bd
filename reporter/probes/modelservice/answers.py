"""Whether the engine of a pod has answered: pods without probes tell it by their pages only
(OtterScale sheet 0, fact 1).
"""

from datetime import datetime

from reporter.catalogue.runtime import SCRAPE_FAILING
from reporter.manifests.modelservice.serving import CONTAINER
from reporter.model.objects import Pod
from reporter.probes.runtime.told import judged_of
from reporter.samples.samples import Samples


def engine_started(pod: Pod) -> datetime | None:
    """Return when the engine's container started, None if it does not run."""
    for status in pod.status.container_statuses or ():
        if status.name == CONTAINER and status.state and status.state.running:
            return status.state.running.started_at
    return None


def has_answered(pod: Pod, samples: Samples) -> bool:
    """Tell whether the engine served a page with metrics since its container started."""
    judged = samples.of(pod.namespace, pod.name, pod.metadata.uid)
    started = engine_started(pod)
    if judged is None or started is None:
        return False
    answer = judged.history.last_answer
    return answer is not None and answer.wall >= started


def is_given_up(pod: Pod, samples: Samples) -> bool:
    """Tell whether the engine has been silent for so long that its silence is told as such."""
    judged = judged_of(pod, samples)
    return judged is not None and SCRAPE_FAILING in judged.verdict.faults
