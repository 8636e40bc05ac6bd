"""How many series name subjects, and what a scrape of them costs: `python -m tests.bench.subject_series`."""

import statistics
import sys
import time
from datetime import UTC, datetime
from functools import partial
from typing import Final

from prometheus_client import generate_latest

from reporter.model.reason import EventType
from reporter.model.report import (
    Disposition,
    Impact,
    Report,
    ResolvedFinding,
    ServingState,
    SubjectState,
)
from reporter.model.subject import CLUSTER, Layer, ObjectRef, Subject
from reporter.sinks.own_metrics import SubjectMetrics
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND

_NAMESPACES: Final = 20
_NOW: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
_ROUNDS: Final = 10
_CAUSE: Final = "clusterKaitoControllerNotReady"
_OWN: Final = "inferencesetModelPodsNotReady"


def _report(models: int, *, failing: int, alone: bool) -> Report:
    """Return a report in which some models fail: each of its own, or because of one cause of all."""
    subjects = [
        Subject(INFERENCESET_KIND, f"team-{number % _NAMESPACES}", f"model-{number}")
        for number in range(models)
    ]
    down = subjects[:failing]
    cause = _OWN if alone else _CAUSE
    states = [SubjectState(each, ServingState.NOT_SERVING, _NOW, cause) for each in down]
    states += [SubjectState(each, ServingState.SERVING) for each in subjects[failing:]]
    states += [
        SubjectState(Subject.of_namespace(f"team-{number}"), ServingState.SERVING)
        for number in range(_NAMESPACES)
    ]
    states.append(SubjectState(CLUSTER, ServingState.DEGRADED, _NOW, _CAUSE))
    findings = [_finding(_CAUSE, CLUSTER, Impact(not_serving=0 if alone else failing))]
    if alone:
        findings += [_finding(_OWN, each, Impact(not_serving=1)) for each in down]
    return Report(
        catalogue=BUILT_IN,
        now=_NOW,
        findings=tuple(findings),
        ready=(),
        unknown=(),
        skipped=(),
        states=tuple(states),
    )


def _finding(reason: str, subject: Subject, impact: Impact) -> ResolvedFinding:
    ref = ObjectRef("v1", "Namespace", "", subject.namespace or "kaito-system")
    return ResolvedFinding(
        reason=reason,
        layer=Layer.CLUSTER if subject == CLUSTER else Layer.DEPLOYMENT,
        type=EventType.WARNING,
        subject=subject,
        involved=ref,
        related=ref,
        disposition=Disposition.FIRING,
        message="",
        cause="",
        since=_NOW,
        impact=impact,
    )


def _same(report: Report) -> Report:
    return report


def main() -> int:
    """Print a row for each size and state of a fleet."""
    write = sys.stdout.write
    write(
        "| models | of which do not serve | series | kB | ms |\n| --- | --- | --- | --- | --- |\n"
    )
    for models in (1000, 5000):
        for failing, alone in ((0, False), (models // 10, True), (models, False), (models, True)):
            report = _report(models, failing=failing, alone=alone)
            exported = SubjectMetrics(partial(_same, report))
            took = []
            for _ in range(_ROUNDS):
                began = time.process_time()
                page = generate_latest(exported)
                took.append(time.process_time() - began)
            lines = [each for each in page.splitlines() if not each.startswith(b"#")]
            why = "" if not failing else ", each of its own" if alone else ", one cause"
            write(
                f"| {models} | {failing}{why} | {len(lines)} | {len(page) / 1000:.0f} | "
                f"{statistics.median(took) * 1000:.0f} |\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
