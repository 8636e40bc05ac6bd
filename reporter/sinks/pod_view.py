"""What was last scraped from a pod, as text and JSON, and its last log lines before a crash.

The last lines are only shown: no probe reads them, and no Event contains them. A cause that a log
signature extracts is evidence, and travels another way (`diagnosis/logs.py`). Logs are read after a
pass and given to the next one. Containers may print anything, so each line is cleaned as messages
are, and there are few of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from msgspec import structs

from reporter.catalogue.pickers import PICKER_NAMES, SWITCHED_NAMES
from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import ROWS, of_kind
from reporter.diagnosis.case import is_error, last_end, loops, statuses
from reporter.metrics.samples.sample import EngineSample, Sample
from reporter.metrics.samples.window import Judged
from reporter.model.evidence import ContainerLog
from reporter.model.finding import EpisodeKey
from reporter.model.instant import rfc3339
from reporter.model.objects import Pod
from reporter.model.report import Report
from reporter.model.text import clean
from reporter.settings import EvaluationSettings
from reporter.sinks.words import age
from reporter.snapshot.snapshot import Snapshot

PodView: TypeAlias = Mapping[str, object]

_GAUGES: Final = (
    "running", "waiting", "capacity", "deferred", "kv_usage", "unfetched", "fetching", "awake",
    "healthy",
)  # fmt: skip


def pod_view(judged: Judged, settings: EvaluationSettings) -> PodView:
    sample = judged.history.newest
    verdict = judged.verdict
    return {
        "apiVersion": "status-reporter/v1",
        "kind": "PodMetrics",
        "namespace": sample.target.namespace,
        "name": sample.target.name,
        "uid": sample.target.uid,
        "ready": sample.target.ready,
        "inService": verdict.in_service,
        "scrapedAt": rfc3339(sample.at.wall),
        "outcome": f"{sample.failure} {sample.detail}".strip() if sample.failure else "ok",
        "scrapes": len(judged.history.samples),
        "spanSeconds": int((sample.at.boot - judged.history.samples[0].at.boot).total_seconds()),
        "values": dict(_values(sample)),
        "reasons": [_reason(name, judged, settings) for name in _names(sample)],
    }


def pod_json(view: PodView) -> bytes:
    return json.dumps(view, indent=2).encode() + b"\n"


def pod_text(judged: Judged, now: datetime, settings: EvaluationSettings) -> str:
    view = pod_view(judged, settings)
    sample = judged.history.newest
    entries = [_reason(name, judged, settings) for name in _names(sample)]
    width = max(len(entry["reason"]) for entry in entries)
    lines = [
        (
            f"Pod {sample.target.namespace}/{sample.target.name}: "
            f"scraped {age(now - sample.at.wall)} ago, {view['outcome']}; "
            f"{view['scrapes']} scrapes over {view['spanSeconds']} s"
        ),
        _service(judged),
    ]
    if dropped := judged.history.dropped:
        lines.append(f"{dropped} samples were dropped: they took too much memory.")
    lines.append("")
    values = list(_values(sample))
    lines += [f"  {clean(name):28} {value}" for name, value in values]  # a page names its engines
    lines += [""] if values else []
    for entry in entries:
        detail = f"  {entry['detail']}" if entry["detail"] else ""
        lines.append(f"  {entry['reason']:{width}}  {entry['verdict']}{detail}")
    return "\n".join(lines) + "\n"


def _names(sample: Sample) -> Iterable[str]:
    return ROWS if sample.target.picked is None else PICKER_NAMES


def _service(judged: Judged) -> str:
    target = judged.history.newest.target
    if target.picked is not None:
        ready = len(target.picked.ready_since)
        return f"An endpoint picker, with {ready} Ready pod{'' if ready == 1 else 's'} to pick."
    sample = judged.history.newest
    if not judged.verdict.in_service:
        state = "Ready for less than a minute" if target.ready else "Not Ready"
        return f"{state}: only downloads are judged."
    if sample.failure is not None:
        return "In service, but its numbers cannot be read: nothing is judged but that."
    if not sample.engines:
        return "In service, but its page has no engine: nothing is judged but that."
    return "In service: its numbers are judged."


def _reason(name: str, judged: Judged, settings: EvaluationSettings) -> dict[str, str]:
    verdict = judged.verdict
    if name in verdict.faults:
        outcome, detail = "fault", clean(verdict.faults[name].text)
    elif name in verdict.why:
        outcome, detail = "not judged", verdict.why[name]
    elif name in SWITCHED_NAMES and not settings.judges_runtime:
        outcome, detail = "off", ""
    else:
        outcome, detail = "clear", ""
    reason = of_kind(name, judged.history.newest.target.subject.kind)
    return {"reason": reason, "verdict": outcome, "detail": detail}


def _values(sample: Sample) -> Iterator[tuple[str, float | bool]]:
    known = {
        "download_speed": sample.speed,
        "download_remaining": sample.remaining,
        "ready_endpoints": sample.endpoints and sample.endpoints.fresh,
    }
    yield from ((name, value) for name, value in known.items() if value is not None)
    for engine, values in sorted(sample.engines.items()):
        yield from _engine(f"engine {engine} ", values)
    yield from _engine("", sample.pod)


def _engine(prefix: str, sample: EngineSample) -> Iterator[tuple[str, float | bool]]:
    for gauge in _GAUGES:
        value: float | bool | None = getattr(sample, gauge)
        if value is not None:
            yield f"{prefix}{gauge}", value
    for counter, count in sorted(sample.counters.items(), key=lambda item: item[0].name):
        yield f"{prefix}{counter.name.lower()}", count.value


def crashes_of(report: Report, snapshot: Snapshot) -> Mapping[EpisodeKey, ContainerLog]:
    """Return the crashed container of each cause whose object is a pod with one."""
    found: dict[EpisodeKey, ContainerLog] = {}
    for finding in report.findings:
        ref = finding.related
        if not finding.is_cause or finding.stale or ref.kind != PODS.kind:
            continue
        pod = snapshot[PODS].get(ref.namespace, ref.name)
        if pod is not None and (crash := _crash(pod)):
            found[finding.key, finding.since] = crash
    return found


def _crash(pod: Pod) -> ContainerLog | None:
    crashed = [each for each in statuses(pod) if not each.ready and is_error(last_end(each))]
    crashed.sort(key=lambda each: not loops(each))
    if not crashed:
        return None
    worst = crashed[0]
    runs_again = worst.state is None or worst.state.terminated is None
    return ContainerLog(pod.namespace, pod.name, worst.name, runs_again)


def with_last_lines(report: Report, lines: Mapping[EpisodeKey, Iterable[str]]) -> Report:
    if not lines:
        return report
    return replace(
        report,
        findings=tuple(
            structs.replace(each, last_lines=tuple(found))
            if (found := lines.get((each.key, each.since), ()))
            else each
            for each in report.findings
        ),
    )
