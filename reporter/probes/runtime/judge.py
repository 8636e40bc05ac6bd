"""Apply all rules to one pod after a scrape, and look up the verdicts on pods."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue import runtime as t
from reporter.catalogue.pickers import PICKER_NAMES
from reporter.metrics.samples import window
from reporter.metrics.samples.sample import Latency, Samples
from reporter.model.objects import Pod
from reporter.probes.runtime import rule as r
from reporter.probes.runtime.engine_rules import DOWNLOAD_RULES, OBJECTIVES, judge_engines
from reporter.probes.runtime.network import is_settled
from reporter.probes.runtime.pod_rules import POD_RULES, http_errors, judge_picker
from reporter.settings import EvaluationSettings
from reporter.workload.pod import counts

FORGOTTEN_AFTER: Final = 2
"""Number of unjudged windows after which a fault is no longer kept open."""


def judge(
    history: window.History, before: window.PodVerdict | None, settings: EvaluationSettings
) -> window.PodVerdict:
    """Return the verdict on a pod as of its newest sample.

    `before` is the previous verdict: a fault that continues keeps its text, so the numbers in its
    message are those of when it was found.
    """
    newest = history.newest
    if before is None or before.uid != newest.target.uid:
        before = window.PodVerdict(uid=newest.target.uid)
    faults: dict[str, window.MetricFault] = {}
    doubts: dict[str, window.Doubt] = {}
    for reason, answers in _answers(history, settings):
        known = before.faults.get(reason)
        doubted = before.doubts.get(reason)
        if known is None and doubted is not None:
            known = doubted.fault
        found = {name: each for name, each in answers.items() if isinstance(each, r.Found)}
        if found:
            since = _samples(history, reason, settings)[0].at.wall
            faults[reason] = _fault(reason, found, since, known=known)
        elif (inconclusive := _inconclusive(answers)) is not None:
            lasting = isinstance(inconclusive, r.NotOver)
            same = doubted is not None and doubted.lasting == lasting
            since_boot = doubted.since if doubted and same else newest.at.boot
            lasts = newest.at.boot - since_boot
            open_ = lasting or lasts < FORGOTTEN_AFTER * _longest_of(reason, settings)
            doubts[reason] = window.Doubt(
                inconclusive.why, since_boot, known if open_ else None, open=open_, lasting=lasting
            )
    # Only model pods count as failing: the page of a picker is often closed.
    of_pod = newest.target.picked is None
    return window.PodVerdict(
        uid=newest.target.uid,
        faults=faults,
        doubts=doubts,
        failing=of_pod and newest.fails,
        in_service=of_pod and is_settled(newest),
    )


def longest_window(settings: EvaluationSettings) -> timedelta:
    """Return how far back samples are needed; failing attempts may be a gap apart."""
    attempts = settings.threshold(t.SCRAPE_ATTEMPTS) * settings.scrape_period * window.GAP_PERIODS
    return timedelta(seconds=max(settings.longest_window_seconds, attempts))


def objectives(settings: EvaluationSettings) -> Mapping[Latency, float]:
    if not settings.judges_runtime:
        return {}
    every = {kind: settings.threshold(each) for kind, each in OBJECTIVES.items()}
    return {kind: seconds for kind, seconds in every.items() if seconds}


def _answers(
    history: window.History, settings: EvaluationSettings
) -> Iterator[tuple[str, Mapping[str, r.Answer]]]:
    """Yield each enabled reason with the answers of its rules, by engine."""
    is_picker = history.newest.target.picked is not None
    for reason, rule in () if is_picker else DOWNLOAD_RULES.items():
        yield reason, {"": rule(history, _samples(history, reason, settings), settings)}
    if not settings.judges_runtime:
        return
    for reason in PICKER_NAMES if is_picker else ():
        yield reason, judge_picker(history, reason, settings)
    for reason in () if is_picker else t.RUNTIME_NAMES:
        if not is_settled(history.newest):
            yield reason, {"": r.NOT_SETTLED}
        elif reason in POD_RULES:
            samples = _samples(history, reason, settings)
            yield reason, {"": POD_RULES[reason](history, samples, settings)}
        elif reason == t.ERROR_RATE:
            http = http_errors(history, _samples(history, reason, settings), settings)
            yield reason, {**judge_engines(history, reason, settings), "": http}
        else:
            yield reason, judge_engines(history, reason, settings)


def _inconclusive(answers: Mapping[str, r.Answer]) -> r.Inconclusive | None:
    """Return why nothing can be decided, or None; a sign that a fault is not over comes first.

    Values that a page never has are not waited for if another part of the pod has an answer.
    """
    doubts = [each for each in answers.values() if isinstance(each, r.Inconclusive)]
    passing = [each for each in doubts if not isinstance(each, r.NotOnPage)]
    if passing:
        return next((each for each in passing if isinstance(each, r.NotOver)), passing[0])
    return doubts[0] if doubts and len(doubts) == len(answers) else None


def _fault(
    reason: str, found: Mapping[str, r.Found], since: datetime, *, known: window.MetricFault | None
) -> window.MetricFault:
    """Return the fault of some answers: the known one, while its engine is among them."""
    if known is not None and known.engine in found:
        return known
    engine, worst = min(found.items(), key=lambda each: (-each[1].severity, each[0]))
    others = len(found) - 1
    text = f"engine {engine} {worst.text}" if engine else worst.text
    return window.MetricFault(
        reason=reason,
        cause=worst.cause,
        text=f"{text} (and {others} more)" if others else text,
        severity=worst.severity,
        since=since if known is None else known.since,
        engine=engine,
    )


def _samples(history: window.History, reason: str, settings: EvaluationSettings) -> Samples:
    return history.last(timedelta(seconds=settings.window_seconds(reason)))


def _longest_of(reason: str, settings: EvaluationSettings) -> timedelta:
    seconds = float(settings.window_seconds(reason))
    if reason == t.ENGINE_STALLED:
        seconds = max(seconds, settings.threshold(t.STALLED_IDLE))
    return timedelta(seconds=seconds)


def running(pods: Iterable[Pod]) -> Iterator[Pod]:
    """Yield the pods whose containers all run: after a crash, the last page is out of date."""
    for pod in pods:
        statuses = pod.status.container_statuses or ()
        if counts(pod) and statuses and all(each.running for each in statuses):
            yield pod


def judged_of(pod: Pod, samples: window.PodSamples) -> window.Judged | None:
    """Return the judgement of a pod, or None if a container restarted since the last scrape.

    The faults ended with the former run, and nothing is known until the next scrape.
    """
    judged = samples.of(pod.namespace, pod.name, pod.metadata.uid)
    if judged is None or not judged.history.samples:
        return judged
    statuses = {each.name: each for each in pod.status.container_statuses or ()}
    for seen in judged.history.newest.target.containers:
        now = statuses.get(seen.name)
        if now is not None and now.restart_count > seen.restarts:
            return None
    return judged


def verdicts(pods: Iterable[Pod], samples: window.PodSamples) -> tuple[window.PodVerdict, ...]:
    judged = (judged_of(pod, samples) for pod in pods)
    return tuple(each.verdict for each in judged if each is not None)
