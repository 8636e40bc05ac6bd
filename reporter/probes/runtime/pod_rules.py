"""Rules about a serving pod as a whole, and about an endpoint picker, by its page.

Only the page of a Ready picker counts: if pickers elect a leader, only the leader is Ready, and
followers watch no pool (Gateway API Inference Extension v1.5, pkg/epp/server/runserver.go). A page
that cannot be read is never a fault of the picker.
"""

from collections.abc import Mapping
from datetime import timedelta
from itertools import takewhile
from typing import Final

from reporter.catalogue import pickers as p
from reporter.catalogue import runtime as t
from reporter.metrics.samples import sample as s
from reporter.metrics.samples.window import History, Window, restarts, since_restart
from reporter.probes.runtime import rule as r
from reporter.probes.runtime.engine_rules import failures
from reporter.probes.runtime.network import SETTLED, in_service, is_settled, settled
from reporter.settings import EvaluationSettings

_NOT_VLLM: Final = r.Inconclusive("its runtime is not vLLM: the page is not text")
_TOO_FEW: Final = r.Inconclusive("too few attempts failed so far")


def scrape_failing(history: History, _samples: s.Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge whether all attempts fail, for at least the window and a number of attempts."""
    newest, samples = history.newest, settled(history.samples)
    if newest.failure is None:
        return r.CLEAR
    if newest.failure is s.Failure.UNSUPPORTED:
        return _NOT_VLLM
    failed = tuple(takewhile(lambda sample: sample.failure is not None, reversed(samples)))
    window = timedelta(seconds=settings.window_seconds(t.SCRAPE_FAILING))
    spans = newest.at.boot - failed[-1].at.boot >= window
    if not spans or len(failed) < settings.threshold(t.SCRAPE_ATTEMPTS):
        return r.CLEAR if len(failed) < len(samples) else _TOO_FEW
    how = f"{newest.failure} {newest.detail}".strip()
    text = f"its metrics could not be read for {r.minutes(window.total_seconds())}: {how}"
    if newest.failure is s.Failure.STATUS and newest.detail == "404":
        text += ", as where they are switched off (SGLang has them with --enable-metrics)"
    return r.Found(f"metrics: {how}", text)


def metrics_missing(history: History, samples: s.Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge whether the page has no engine metrics during the whole window."""
    newest, pages = history.newest, in_service(samples)
    if newest.failure is s.Failure.UNSUPPORTED:
        return _NOT_VLLM
    if newest.failure is not None:
        return r.NO_PAGE
    if any(sample.known or sample.remaining for sample in pages):
        return r.CLEAR
    window = timedelta(seconds=settings.window_seconds(t.METRICS_MISSING))
    if not history.covers(pages, window):
        return r.NOT_COVERED
    text = f"its page has had no metrics of vLLM or SGLang for {r.minutes(window.total_seconds())}"
    return r.Found("no engine metrics", text)


def engine_restarting(
    history: History, samples: s.Samples, settings: EvaluationSettings
) -> r.Answer:
    """Judge the number of restarts of the engine; a new pod is not a restart.

    A pod is not Ready while its engine starts, so samples from such times count here.
    """
    if history.newest.failure is not None:
        return r.NO_PAGE
    count = restarts(samples)
    if count < max(1, settings.threshold(t.RESTARTS)):
        window = timedelta(seconds=settings.window_seconds(t.ENGINE_RESTARTING))
        reaches_back = samples[0].at.boot <= history.newest.at.boot - window
        return r.CLEAR if reaches_back else r.NOT_COVERED
    how_long = r.minutes(settings.window_seconds(t.ENGINE_RESTARTING))
    return r.Found(
        "engine restarts", f"its engine started again {count} times within {how_long}", count
    )


def rejected(history: History, samples: s.Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge the share of refused requests, whether or not all requests include them."""
    window = _window(history, samples, settings.window_seconds(t.REJECTED))
    if not isinstance(window, Window):
        return window
    limited, not_admitted = (
        window.increase(each) for each in (s.Counter.RATE_LIMITED, s.Counter.NOT_ADMITTED)
    )
    requests = window.increase(s.Counter.HTTP_REQUESTS)
    if (limited is None and not_admitted is None) or requests is None:
        return r.NOT_ON_PAGE
    refused = (limited or 0.0) + (not_admitted or 0.0)
    if not refused or refused < settings.threshold(t.REJECTED_REQUESTS):
        return r.CLEAR
    # Whether or not `requests` includes refusals, the sum can only make the share too small.
    part = refused / (requests + refused)
    if part <= settings.threshold(t.REJECTED_SHARE):
        return r.CLEAR
    how_long = r.minutes(settings.window_seconds(t.REJECTED))
    return r.Found(
        "requests refused",
        f"refused {refused:.0f} requests ({r.share(part)} or more) within {how_long}, "
        "its queue being full",
        round(refused),
    )


def http_errors(history: History, samples: s.Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge the error rate seen from HTTP; a refusal by a limit is not an error."""
    window = _window(history, samples, settings.window_seconds(t.ERROR_RATE))
    if not isinstance(window, Window):
        return window
    errors, total = window.increase(s.Counter.HTTP_ERRORS), window.increase(s.Counter.HTTP_REQUESTS)
    if total is None:
        return r.NOT_ON_PAGE
    refused = (window.increase(s.Counter.NOT_ADMITTED) or 0.0) + _unanswered(history, window)
    errors = max(0.0, (errors or 0.0) - refused)
    return failures(errors, total, "were answered with HTTP 5xx", settings=settings)


def _unanswered(history: History, window: Window) -> float:
    """Return how many requests were counted as refused before a window but answered within it."""
    pages = since_restart(in_service(history.samples))
    before = pages[: len(pages) - len(window.samples) + 1]
    other = [_other_errors(sample.pod) for sample in before]
    return max(other) - other[-1] if other else 0.0


def _other_errors(pod: s.EngineSample) -> float:
    """Return the errors that are not refusals, minus refusals that are not answered yet."""
    errors, refused = (pod.counters.get(e) for e in (s.Counter.HTTP_ERRORS, s.Counter.NOT_ADMITTED))
    return (errors.value if errors else 0.0) - (refused.value if refused else 0.0)


POD_RULES: Final[Mapping[str, r.PodRule]] = {
    t.SCRAPE_FAILING: scrape_failing,
    t.METRICS_MISSING: metrics_missing,
    t.ENGINE_RESTARTING: engine_restarting,
    t.REJECTED: rejected,
}


def _window(history: History, samples: s.Samples, seconds: int) -> Window | r.Inconclusive:
    """Return the counters of the pod as a whole over a window, or why they cannot be judged."""
    newest = history.newest
    if newest.failure is not None:
        return r.NO_PAGE
    if not newest.known:
        return r.NO_ENGINE
    if newest.engines and all(engine.awake is False for engine in newest.engines.values()):
        return r.ASLEEP
    return r.window_of(history, since_restart(in_service(samples)), seconds)


WANTS_TOKEN: Final = r.Inconclusive("its page wants a token, and the reporter sends none")
BLIND: Final = 0
"""Severity of a picker without fresh metrics: all pods that it knows stay candidates (Gateway API
Inference Extension v1.5, pkg/epp/requestcontrol/candidates.go)."""

EMPTY: Final = 1
"""Severity of a picker that knows no pod: it answers 503 (director.go there)."""

_FEW_FAILURES: Final = 5
_FAILED_SHARE: Final = 0.05

JUST_READY: Final = r.Inconclusive("no pod that its pool selects has been Ready for a minute")


def judge_picker(
    history: History, reason: str, settings: EvaluationSettings
) -> Mapping[str, r.Answer]:
    newest = history.newest
    if not is_settled(newest):
        return {"": r.NOT_SETTLED}
    if newest.failure is not None:
        return {"": WANTS_TOKEN if s.wants_token(newest.failure, newest.detail) else r.NO_PAGE}
    samples = history.last(timedelta(seconds=settings.window_seconds(reason)))
    return {"": PICKER_RULES[reason](history, samples, settings)}


def no_endpoints(history: History, samples: s.Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge whether the picker sees none of its pods during the whole window.

    The number is also 0 while it knows pods but cannot read their metrics. The queues on its page
    show the difference: each known endpoint has one (Gateway API Inference Extension v1.5,
    pkg/epp/metrics/collectors/inference_pool.go).
    """
    newest = history.newest
    if newest.endpoints is None:
        return r.NOT_ON_PAGE
    picked = newest.target.picked
    if newest.endpoints.fresh > 0 or picked is None or not picked.ready_since:
        return r.CLEAR
    if not pickable(newest):
        return JUST_READY
    pages = in_service(samples)
    if any(page.endpoints and page.endpoints.fresh for page in pages):
        return r.CLEAR
    seconds = settings.window_seconds(p.NO_ENDPOINTS)
    complete = all(page.endpoints is not None and pickable(page) for page in pages)
    if not complete or not history.covers(pages, timedelta(seconds=seconds)):
        return r.NOT_COVERED
    return _without_endpoints(pages, r.minutes(seconds))


def _without_endpoints(pages: s.Samples, how_long: str) -> r.Found:
    ready = pickable(pages[-1])
    pods = "the Ready pod" if ready == 1 else f"any of the {ready} Ready pods"
    if any(page.endpoints and page.endpoints.known for page in pages):
        return r.Found(
            "no metrics of any pod",
            f"has read no metrics of {pods} that its pool selects for {how_long}: it chooses "
            "blindly, and with flow control holds requests back",
            BLIND,
        )
    return r.Found(
        "no endpoints",
        f"has not known {pods} that its pool selects for {how_long}: it answers requests with 503",
        EMPTY,
    )


def pickable(sample: s.Sample) -> int:
    """Return how many pods that a picker may pick have been Ready for a while."""
    picked = sample.target.picked
    return picked.settled(sample.at.wall, SETTLED) if picked is not None else 0


def stale_metrics(history: History, samples: s.Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge whether the picker sees some but not all Ready pods during the whole window.

    A pod with several ports counts as several endpoints, which can only hide the fault.
    """
    newest = history.newest
    if newest.endpoints is None:
        return r.NOT_ON_PAGE
    pages = in_service(samples)
    if any(page.endpoints is not None and not _lacks_some(page) for page in pages):
        return r.CLEAR
    seconds = settings.window_seconds(p.STALE_METRICS)
    complete = all(page.endpoints is not None for page in pages)
    if not complete or not history.covers(pages, timedelta(seconds=seconds)):
        return r.NOT_COVERED
    seen, ready = round(newest.endpoints.fresh), pickable(newest)
    return r.Found(
        "stale metrics",
        f"for {r.minutes(seconds)} has read the metrics of only {seen} of the {ready} Ready pods "
        "that its pool selects",
        ready - seen,
    )


def _lacks_some(sample: s.Sample) -> bool:
    return sample.endpoints is not None and 0 < sample.endpoints.fresh < pickable(sample)


def scheduling_failing(
    history: History, samples: s.Samples, settings: EvaluationSettings
) -> r.Answer:
    """Judge the share of failed attempts to choose an endpoint."""
    seconds = settings.window_seconds(p.SCHEDULING_FAILING)
    window = r.window_of(history, in_service(samples), seconds)
    if not isinstance(window, Window):
        return window
    failed, attempts = map(window.increase, (s.Counter.FAILED_CHOICES, s.Counter.CHOICES))
    if failed is None or attempts is None:
        return r.NOT_ON_PAGE
    if failed < _FEW_FAILURES or failed <= attempts * _FAILED_SHARE:
        return r.CLEAR
    how_long = r.minutes(seconds)
    return r.Found(
        "no fitting endpoint",
        f"found no fitting endpoint for {failed:.0f} of {attempts:.0f} requests within {how_long}",
        round(failed),
    )


def shedding(history: History, samples: s.Samples, settings: EvaluationSettings) -> r.Answer:
    """Judge the share of requests that are refused before they reach a pod.

    Without flow control, failed attempts are also counted as refusals, by the same code (Gateway
    API Inference Extension v1.5, pkg/epp/requestcontrol/director.go), and are subtracted.
    """
    window = r.window_of(history, in_service(samples), settings.window_seconds(p.SHEDDING))
    if not isinstance(window, Window):
        return window
    requests, refused = window.increase(s.Counter.QUEUED), window.increase(s.Counter.SHED)
    if requests is None:
        failed = window.increase(s.Counter.FAILED_CHOICES)
        requests, refused = window.increase(s.Counter.PICKED), window.increase(s.Counter.EXHAUSTED)
        refused = None if refused is None or failed is None else max(0.0, refused - failed)
    if requests is None or refused is None:
        return r.NOT_ON_PAGE
    few = refused < max(1.0, settings.threshold(t.REJECTED_REQUESTS))
    if few or refused <= requests * settings.threshold(t.REJECTED_SHARE):
        return r.CLEAR
    how_long = r.minutes(settings.window_seconds(p.SHEDDING))
    return r.Found(
        "requests refused",
        f"refused {refused:.0f} of {requests:.0f} requests within {how_long}, its pool being full",
        round(refused),
    )


PICKER_RULES: Final[Mapping[str, r.PodRule]] = {
    p.NO_ENDPOINTS: no_endpoints,
    p.STALE_METRICS: stale_metrics,
    p.SCHEDULING_FAILING: scheduling_failing,
    p.SHEDDING: shedding,
}
