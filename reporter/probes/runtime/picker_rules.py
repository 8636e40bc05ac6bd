"""Rules about an endpoint picker, by its page.

Only the page of a Ready picker counts: of several that elect a leader only the leader is ever Ready, and
followers watch no pool (Gateway API Inference Extension v1.5, pkg/epp/server/runserver.go). A page that
cannot be read is never a fault of the picker.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from reporter.catalogue import pickers as p
from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Counter, Look
from reporter.metrics.looks.target import wants_token
from reporter.metrics.looks.window import History, Window
from reporter.probes.runtime.network import SETTLED, in_service, is_settled
from reporter.probes.runtime.rule import (
    CLEAR,
    NO_PAGE,
    NOT_COVERED,
    NOT_SETTLED,
    NOT_TOLD,
    Answer,
    Found,
    PodRule,
    Undecided,
    minutes,
    window_of,
)
from reporter.settings import EvaluationSettings

WANTS_TOKEN: Final = Undecided("its page wants a token, and the reporter sends none")
BLIND: Final = 0
"""Severity of a picker without fresh metrics: all pods that it knows stay candidates (Gateway API Inference
Extension v1.5, pkg/epp/requestcontrol/candidates.go)."""

EMPTY: Final = 1
"""Severity of one that knows no pod: it answers 503 (pkg/epp/requestcontrol/director.go there)."""

_FEW_FAILURES: Final = 5
_FAILED_SHARE: Final = 0.05

JUST_READY: Final = Undecided("no pod that its pool selects has been Ready for a minute")


def judge_picker(
    history: History, reason: str, settings: EvaluationSettings
) -> Mapping[str, Answer]:
    """Return what the rule of a reason says of a picker."""
    newest = history.newest
    if not is_settled(newest):
        return {"": NOT_SETTLED}
    if newest.failure is not None:
        return {"": WANTS_TOKEN if wants_token(newest.failure, newest.detail) else NO_PAGE}
    looks = history.last(timedelta(seconds=settings.window_seconds(reason)))
    return {"": PICKER_RULES[reason](history, looks, settings)}


def no_endpoints(history: History, looks: tuple[Look, ...], settings: EvaluationSettings) -> Answer:
    """Judge whether the picker sees none of its pods, all the time.

    The number is 0 also while it knows pods and cannot read the page of any, which the queues on its page
    tell apart: each endpoint that it knows has one (Gateway API Inference Extension v1.5,
    pkg/epp/metrics/collectors/inference_pool.go).
    """
    newest = history.newest
    if newest.endpoints is None:
        return NOT_TOLD
    picked = newest.target.picked
    if newest.endpoints.fresh > 0 or picked is None or not picked.ready_since:
        return CLEAR
    if not pickable(newest):
        return JUST_READY
    pages = in_service(looks)
    if any(page.endpoints and page.endpoints.fresh for page in pages):
        return CLEAR
    seconds = settings.window_seconds(p.NO_ENDPOINTS)
    told = all(page.endpoints is not None and pickable(page) for page in pages)
    if not told or not history.covers(pages, timedelta(seconds=seconds)):
        return NOT_COVERED
    return _without_endpoints(pages, minutes(seconds))


def _without_endpoints(pages: tuple[Look, ...], how_long: str) -> Found:
    ready = pickable(pages[-1])
    pods = "the Ready pod" if ready == 1 else f"any of the {ready} Ready pods"
    if any(page.endpoints and page.endpoints.known for page in pages):
        return Found(
            "no metrics of any pod",
            f"has read no metrics of {pods} that its pool selects for {how_long}: it chooses blindly, and with "
            "flow control holds requests back",
            BLIND,
        )
    return Found(
        "no endpoints",
        f"has not known {pods} that its pool selects for {how_long}: it answers requests with 503",
        EMPTY,
    )


def pickable(look: Look) -> int:
    """Return how many pods a picker may pick that have been Ready for a while."""
    picked = look.target.picked
    return picked.settled(look.at.wall, SETTLED) if picked is not None else 0


def stale_metrics(
    history: History, looks: tuple[Look, ...], settings: EvaluationSettings
) -> Answer:
    """Judge whether the picker sees fewer pods than are Ready, but some, all the time.

    A pod with several ports is several endpoints, which can only hide the fault.
    """
    newest = history.newest
    if newest.endpoints is None:
        return NOT_TOLD
    pages = in_service(looks)
    if any(page.endpoints is not None and not _lacks_some(page) for page in pages):
        return CLEAR
    seconds = settings.window_seconds(p.STALE_METRICS)
    told = all(page.endpoints is not None for page in pages)
    if not told or not history.covers(pages, timedelta(seconds=seconds)):
        return NOT_COVERED
    seen, ready = round(newest.endpoints.fresh), pickable(newest)
    return Found(
        "stale metrics",
        f"for {minutes(seconds)} has read the metrics of only {seen} of the {ready} Ready pods that its pool "
        "selects",
        ready - seen,
    )


def _lacks_some(look: Look) -> bool:
    return look.endpoints is not None and 0 < look.endpoints.fresh < pickable(look)


def scheduling_failing(
    history: History, looks: tuple[Look, ...], settings: EvaluationSettings
) -> Answer:
    """Judge how many attempts to choose an endpoint failed."""
    window = window_of(history, in_service(looks), settings.window_seconds(p.SCHEDULING_FAILING))
    if not isinstance(window, Window):
        return window
    failed, attempts = map(window.increase, (Counter.FAILED_CHOICES, Counter.CHOICES))
    if failed is None or attempts is None:
        return NOT_TOLD
    if failed < _FEW_FAILURES or failed <= attempts * _FAILED_SHARE:
        return CLEAR
    how_long = minutes(settings.window_seconds(p.SCHEDULING_FAILING))
    return Found(
        "no fitting endpoint",
        f"found no fitting endpoint for {failed:.0f} of {attempts:.0f} requests within {how_long}",
        round(failed),
    )


def shedding(history: History, looks: tuple[Look, ...], settings: EvaluationSettings) -> Answer:
    """Judge the share of requests that are refused before any pod sees them.

    Without flow control an attempt that failed is counted as a refusal too, by the same code (Gateway API
    Inference Extension v1.5, pkg/epp/requestcontrol/director.go), and is taken away.
    """
    window = window_of(history, in_service(looks), settings.window_seconds(p.SHEDDING))
    if not isinstance(window, Window):
        return window
    requests, refused = window.increase(Counter.QUEUED), window.increase(Counter.SHED)
    if requests is None:
        failed = window.increase(Counter.FAILED_CHOICES)
        requests, refused = window.increase(Counter.PICKED), window.increase(Counter.EXHAUSTED)
        refused = None if refused is None or failed is None else max(0.0, refused - failed)
    if requests is None or refused is None:
        return NOT_TOLD
    few = refused < max(1.0, settings.threshold(t.REJECTED_REQUESTS))
    if few or refused <= requests * settings.threshold(t.REJECTED_SHARE):
        return CLEAR
    how_long = minutes(settings.window_seconds(p.SHEDDING))
    return Found(
        "requests refused",
        f"refused {refused:.0f} of {requests:.0f} requests within {how_long}, its pool being full",
        round(refused),
    )


PICKER_RULES: Final[Mapping[str, PodRule]] = {
    p.NO_ENDPOINTS: no_endpoints,
    p.STALE_METRICS: stale_metrics,
    p.SCHEDULING_FAILING: scheduling_failing,
    p.SHEDDING: shedding,
}
