"""Whether the engine of a pod has answered: pods without probes tell it by their pages only.

The operator gives them no probes (otterscale/model-operator at ca17623).
"""

from datetime import datetime

from reporter.catalogue.runtime import SCRAPE_FAILING
from reporter.metrics.looks.samples import Samples
from reporter.model.objects import Pod
from reporter.probes.runtime.judge import judged_of
from reporter.stacks.otterscale.manifests.serving import CONTAINER


def engine_started(pod: Pod) -> datetime | None:
    """Return when the engine's container started, None if it does not run."""
    for status in pod.status.container_statuses or ():
        if status.name == CONTAINER and status.state and status.state.running:
            return status.state.running.started_at
    return None


def has_answered(pod: Pod, samples: Samples) -> bool:
    """Tell whether the engine served a page since its container started.

    It listens once the model is loaded. One that is told to keep no statistics serves a page
    without any of the engine.
    """
    judged = samples.of(pod.namespace, pod.name, pod.metadata.uid)
    started = engine_started(pod)
    if judged is None or started is None:
        return False
    answer = judged.history.last_answer
    if answer is not None and answer.wall >= started:
        return True
    return any(not look.fails and look.at.wall >= started for look in judged.history.looks)


def is_given_up(pod: Pod, samples: Samples) -> bool:
    """Tell whether the engine has been silent for so long that its silence is told as such.

    Or would be, if any other pod could be reached. What was found before the engine started is in
    doubt too until the pod has settled, and says nothing of it.
    """
    judged = judged_of(pod, samples)
    if judged is None:
        return False
    verdict = judged.verdict
    doubt = verdict.doubts.get(SCRAPE_FAILING)
    doubted = verdict.in_service and doubt is not None and doubt.fault is not None
    return doubted or SCRAPE_FAILING in verdict.faults
