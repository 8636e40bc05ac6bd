"""Rules about a serving pod as a whole."""

from collections.abc import Mapping
from datetime import timedelta
from itertools import takewhile
from typing import Final

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Counter, EngineLook, Look
from reporter.metrics.looks.target import Failure
from reporter.metrics.looks.window import History, Window, restarts, since_restart
from reporter.probes.runtime.engine_rules import failures
from reporter.probes.runtime.network import in_service, settled
from reporter.probes.runtime.rule import (
    ASLEEP,
    CLEAR,
    NO_ENGINE,
    NO_PAGE,
    NOT_COVERED,
    NOT_TOLD,
    Answer,
    Found,
    PodRule,
    Undecided,
    minutes,
    share,
    window_of,
)
from reporter.settings import EvaluationSettings

_NOT_VLLM: Final = Undecided("its runtime is not vLLM: the page is not text")
_NOT_FOUND: Final = "404"
_TOO_FEW: Final = Undecided("too few attempts failed so far")


def scrape_failing(
    history: History, _looks: tuple[Look, ...], settings: EvaluationSettings
) -> Answer:
    """Judge whether every attempt fails, for at least the window and a number of attempts."""
    newest, looks = history.newest, settled(history.looks)
    if newest.failure is None:
        return CLEAR
    if newest.failure is Failure.UNSUPPORTED:
        return _NOT_VLLM
    failed = tuple(takewhile(lambda look: look.failure is not None, reversed(looks)))
    window = timedelta(seconds=settings.window_seconds(t.SCRAPE_FAILING))
    spans = newest.at.boot - failed[-1].at.boot >= window
    if not spans or len(failed) < settings.threshold(t.SCRAPE_ATTEMPTS):
        return CLEAR if len(failed) < len(looks) else _TOO_FEW
    how = f"{newest.failure} {newest.detail}".strip()
    text = f"its metrics could not be read for {minutes(window.total_seconds())}: {how}"
    if newest.failure is Failure.STATUS and newest.detail == _NOT_FOUND:
        text += ", as where they are switched off (SGLang has them with --enable-metrics)"
    return Found(f"metrics: {how}", text)


def metrics_missing(
    history: History, looks: tuple[Look, ...], settings: EvaluationSettings
) -> Answer:
    """Judge whether the page has no metric of an engine, all the time."""
    newest, pages = history.newest, in_service(looks)
    if newest.failure is Failure.UNSUPPORTED:
        return _NOT_VLLM
    if newest.failure is not None:
        return NO_PAGE
    if any(look.known or look.remaining for look in pages):
        return CLEAR
    window = timedelta(seconds=settings.window_seconds(t.METRICS_MISSING))
    if not history.covers(pages, window):
        return NOT_COVERED
    text = f"its page has had no metrics of vLLM or SGLang for {minutes(window.total_seconds())}"
    return Found("no engine metrics", text)


def engine_restarting(
    history: History, looks: tuple[Look, ...], settings: EvaluationSettings
) -> Answer:
    """Count the restarts of the engine; another pod is no restart.

    A pod is not Ready while its engine starts, so looks from such times count here.
    """
    if history.newest.failure is not None:
        return NO_PAGE
    count = restarts(looks)
    if count < max(1, settings.threshold(t.RESTARTS)):
        window = timedelta(seconds=settings.window_seconds(t.ENGINE_RESTARTING))
        reaches_back = looks[0].at.boot <= history.newest.at.boot - window
        return CLEAR if reaches_back else NOT_COVERED
    how_long = minutes(settings.window_seconds(t.ENGINE_RESTARTING))
    return Found(
        "engine restarts", f"its engine started again {count} times within {how_long}", count
    )


def rejected(history: History, looks: tuple[Look, ...], settings: EvaluationSettings) -> Answer:
    """Judge the share of refused requests, whether or not all requests include them."""
    window = _window(history, looks, settings.window_seconds(t.REJECTED))
    if not isinstance(window, Window):
        return window
    limited, not_admitted = (
        window.increase(each) for each in (Counter.RATE_LIMITED, Counter.NOT_ADMITTED)
    )
    requests = window.increase(Counter.HTTP_REQUESTS)
    if (limited is None and not_admitted is None) or requests is None:
        return NOT_TOLD
    refused = (limited or 0.0) + (not_admitted or 0.0)
    if not refused or refused < settings.threshold(t.REJECTED_REQUESTS):
        return CLEAR
    # With all requests and the refused ones in the denominator, it holds by either reading.
    part = refused / (requests + refused)
    if part <= settings.threshold(t.REJECTED_SHARE):
        return CLEAR
    how_long = minutes(settings.window_seconds(t.REJECTED))
    return Found(
        "requests refused",
        f"refused {refused:.0f} requests ({share(part)} or more) within {how_long}, "
        "its queue being full",
        round(refused),
    )


def http_errors(history: History, looks: tuple[Look, ...], settings: EvaluationSettings) -> Answer:
    """Judge the error rate seen from the HTTP side; a refusal by a limit is no error."""
    window = _window(history, looks, settings.window_seconds(t.ERROR_RATE))
    if not isinstance(window, Window):
        return window
    errors, total = window.increase(Counter.HTTP_ERRORS), window.increase(Counter.HTTP_REQUESTS)
    if total is None:
        return NOT_TOLD
    refused = (window.increase(Counter.NOT_ADMITTED) or 0.0) + _unanswered(history, window)
    errors = max(0.0, (errors or 0.0) - refused)
    return failures(errors, total, "were answered with HTTP 5xx", settings=settings)


def _unanswered(history: History, window: Window) -> float:
    """Return how many requests were counted as refused before a window, and as answered in it."""
    pages = since_restart(in_service(history.looks))
    before = pages[: len(pages) - len(window.looks) + 1]
    other = [_other_errors(look.pod) for look in before]
    return max(other) - other[-1] if other else 0.0


def _other_errors(pod: EngineLook) -> float:
    """Return the errors that are no refusals, less the refusals that are on their way."""
    errors, refused = (
        pod.counters.get(each) for each in (Counter.HTTP_ERRORS, Counter.NOT_ADMITTED)
    )
    return (errors.value if errors else 0.0) - (refused.value if refused else 0.0)


POD_RULES: Final[Mapping[str, PodRule]] = {
    t.SCRAPE_FAILING: scrape_failing,
    t.METRICS_MISSING: metrics_missing,
    t.ENGINE_RESTARTING: engine_restarting,
    t.REJECTED: rejected,
}


def _window(history: History, looks: tuple[Look, ...], seconds: int) -> Window | Undecided:
    """Return the counters of the pod as a whole over a window, or why there is none."""
    newest = history.newest
    if newest.failure is not None:
        return NO_PAGE
    if not newest.known:
        return NO_ENGINE
    if newest.engines and all(engine.awake is False for engine in newest.engines.values()):
        return ASLEEP
    return window_of(history, since_restart(in_service(looks)), seconds)


def _asleep(engine: EngineLook) -> bool:
    return engine.awake is False
