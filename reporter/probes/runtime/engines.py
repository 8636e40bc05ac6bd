"""Which looks each engine of a pod is judged by."""

from collections.abc import Mapping
from datetime import timedelta

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Counter, Look
from reporter.metrics.looks.window import History, Window, since_restart
from reporter.probes.runtime import engine_rules as rules
from reporter.probes.runtime.rule import (
    ASLEEP,
    ENGINE_GONE,
    NO_ENGINE,
    NO_PAGE,
    NOT_COVERED,
    NOT_TOLD,
    Answer,
    EngineRule,
    Found,
)
from reporter.probes.runtime.service import in_service
from reporter.settings import EvaluationSettings


def judge_engines(
    history: History, reason: str, settings: EvaluationSettings
) -> Mapping[str, Answer]:
    """Return what the rule of a reason says of each engine, by its number."""
    if reason == t.ENGINE_STALLED:
        return _stalled(history, settings)
    window = timedelta(seconds=settings.window_seconds(reason))
    return _by_engine(history, window, rules.ENGINE_RULES[reason], settings=settings)


def _by_engine(
    history: History, length: timedelta, rule: EngineRule, *, settings: EvaluationSettings
) -> dict[str, Answer]:
    if history.newest.failure is not None:
        return {"": NO_PAGE}
    pages = in_service(history.last(length))
    names = {name for page in pages for name in page.engines}
    if not names:
        return {"": NO_ENGINE}
    return {
        name: _ask(history, name, pages, length=length, rule=rule, settings=settings)
        for name in sorted(names)
    }


def _ask(
    history: History,
    name: str,
    pages: tuple[Look, ...],
    *,
    length: timedelta,
    rule: EngineRule,
    settings: EvaluationSettings,
) -> Answer:
    newest = history.newest.engines.get(name)
    if newest is None:
        return ENGINE_GONE
    if newest.awake is False:
        return ASLEEP
    asleep = [n for n, page in enumerate(pages) if _asleep(page, name)]
    pages = since_restart(pages[asleep[-1] + 1 :] if asleep else pages, name)
    told = [page for page in pages if name in page.engines and rule.can_read(page.engines[name])]
    if not told:
        return NOT_TOLD
    if told[-1] is not history.newest or not history.covers(told, length):
        return NOT_COVERED
    span = told[-1].at.boot - told[0].at.boot
    return rule.judge(Window(span, tuple(page.engines[name] for page in told)), settings)


def _stalled(history: History, settings: EvaluationSettings) -> dict[str, Answer]:
    """Judge by a short window where there is demand, by a long one where nothing tells of any."""
    short = timedelta(seconds=settings.window_seconds(t.ENGINE_STALLED))
    long = timedelta(seconds=rules.stalled_seconds_without_demand(settings))
    quick = rules.STALLED_AND_REFUSING if _refuses(history, short) else rules.STALLED
    answers = _by_engine(history, short, quick, settings=settings)
    without = _by_engine(history, long, rules.STALLED_WITHOUT_DEMAND, settings=settings)
    for name, answer in without.items():
        if isinstance(answer, Found) and not isinstance(answers.get(name), Found):
            answers[name] = answer
    return answers


def _refuses(history: History, length: timedelta) -> bool:
    pages = tuple(page.pod for page in in_service(history.last(length)))
    counters = (Counter.RATE_LIMITED, Counter.NOT_ADMITTED, Counter.HTTP_ERRORS)
    return any(Window(length, pages).increase(counter) for counter in counters)


def _asleep(page: Look, name: str) -> bool:
    engine = page.engines.get(name)
    return engine is not None and engine.awake is False
