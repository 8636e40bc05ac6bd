"""The last lines before a crash, beside the report: which are wanted, and how they are put into it.

Logs are no part of the evidence: nothing is decided by them, no probe sees them, and no Event has them. They are
read after a pass and given to the next one. What containers say is not under anybody's rules, so each line
is cleaned as messages are, and there are few of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from reporter.catalogue.resources import PODS
from reporter.model.finding import Crash, EpisodeKey
from reporter.model.objects import ContainerStatus, Pod
from reporter.model.report import Report
from reporter.model.text import clean_lines, cut
from reporter.snapshot.snapshot import Snapshot

MOST_LINES: Final = 20
LINE_BYTES: Final = 300

_CRASH_LOOP: Final = "CrashLoopBackOff"


def crashes_of(report: Report, snapshot: Snapshot) -> Mapping[EpisodeKey, Crash]:
    """Return, for each cause that names a pod with a container that crashed, that container."""
    found: dict[EpisodeKey, Crash] = {}
    for finding in report.findings:
        ref = finding.related
        if not finding.is_cause or finding.stale or ref.kind != PODS.kind:
            continue
        pod = snapshot[PODS].get(ref.namespace, ref.name)
        if pod is not None and (crash := _crash(pod)):
            found[finding.key, finding.since] = crash
    return found


def _crash(pod: Pod) -> Crash | None:
    crashed = [each for each in _containers(pod) if not each.ready and _ended(each)]
    crashed.sort(key=lambda each: not _loops(each))
    if not crashed:
        return None
    worst = crashed[0]
    runs_again = worst.state is None or worst.state.terminated is None
    return Crash(pod.namespace, pod.name, worst.name, runs_again)


def _containers(pod: Pod) -> Iterator[ContainerStatus]:
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def _ended(container: ContainerStatus) -> bool:
    """Tell whether a container ended with an error, now or the last time."""
    states = (container.state, container.last_state)
    return any(each and each.terminated and each.terminated.exit_code for each in states)


def _loops(container: ContainerStatus) -> bool:
    waiting = container.state.waiting if container.state else None
    return waiting is not None and waiting.reason == _CRASH_LOOP


def last_lines(log: str) -> tuple[str, ...]:
    """Return the last lines of a log, fit to be shown."""
    return tuple(cut(each, LINE_BYTES) for each in clean_lines(log)[-MOST_LINES:])


def with_last_lines(report: Report, lines: Mapping[EpisodeKey, Iterable[str]]) -> Report:
    """Return a report with the last lines that were read."""
    if not lines:
        return report
    return replace(
        report,
        findings=tuple(
            replace(each, last_lines=tuple(found))
            if (found := lines.get((each.key, each.since), ()))
            else each
            for each in report.findings
        ),
    )
