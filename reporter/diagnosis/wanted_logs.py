"""Which logs of a pod may say why it does not run, and what they say together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reporter.model.evidence import LogCause
from reporter.model.objects import ContainerStatus, Pod
from reporter.model.objects.pods import ContainerState

_DONE = "Succeeded"


@dataclass(frozen=True, slots=True)
class WantedLog:
    """A container whose log is worth reading.

    Attributes:
        container: its name.
        runs: which runs, those that say more first; True is the run before the present one.

    """

    container: str
    runs: tuple[bool, ...]


def wanted_logs(pod: Pod) -> Iterator[WantedLog]:
    """Yield the containers that ended, or run and are not ready; nothing of a pod that does its work."""
    if pod.status.phase == _DONE or pod.metadata.deletion_timestamp is not None:
        return
    sidecars = {
        each.name for each in pod.spec.init_containers or () if each.restart_policy == "Always"
    }
    for each in pod.status.init_container_statuses or ():
        ended = each.state.terminated if each.state else None
        done = ended is not None and ended.exit_code == 0 and each.name not in sidecars
        if not done and (runs := _runs(each)):
            yield WantedLog(each.name, runs)
    for each in pod.status.container_statuses or ():
        if runs := _runs(each):
            yield WantedLog(each.name, runs)


def _runs(container: ContainerStatus) -> tuple[bool, ...]:
    state = container.state or ContainerState()
    last = container.last_state or ContainerState()
    if container.ready:
        return ()
    if state.terminated:
        return (False,)
    if state.running:
        return (True, False) if last.terminated else (False,)
    return (True,) if last.terminated else ()


def together(found: Iterable[LogCause]) -> LogCause:
    """Return what the logs of several runs say: the first that names a cause, else a symptom."""
    causes = list(found)
    told = [each for each in causes if each.signature]
    named = next((each for each in told if not each.symptom), None)
    return named or next(iter(told), None) or LogCause(read=bool(causes))
