"""What is told of a real vLLM, scraped every 15 s: from pages that it served (`make engine-check`)."""

from itertools import groupby

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.looks.look import Counter, Scrape, look_at
from reporter.metrics.pages.reading import read_page
from reporter.probes.runtime.judge import objectives
from reporter.stacks.settings import FullEvaluationSettings
from tests.engine.recording import load, recorded
from tests.unit.probes.runtime.scraped import START, TARGET, Scraped


class Told:
    """The looks at recorded pages, and which reasons were found, or held, after each."""

    def __init__(self, name, **settings):
        pod = Scraped(**settings)
        self.looks = {}
        self.reasons = {}
        before = frozenset()
        for at, body in load(recorded(name)).items():
            scrape = Scrape(at=START.after(at), page=read_page(body))
            look = look_at(TARGET, scrape, objectives(pod.settings))
            verdict = pod.judge(look)
            before = verdict.faults.keys() | (verdict.undecided & before)
            self.looks[at], self.reasons[at] = look.engines["0"], before

    def episodes(self, reason):
        """When a reason was told without a break: first and last time of each."""
        spells = groupby(self.reasons, key=lambda at: reason in self.reasons[at])
        times = [list(each) for told, each in spells if told]
        return [(each[0], each[-1]) for each in times]

    def waiting(self):
        """When requests waited for room: first and last time."""
        times = [at for at, look in self.looks.items() if look.capacity]
        return times[0], times[-1]


def test_a_backlog_is_one_episode_of_a_full_cache():
    """It begins once requests have waited for a window, ends within one after they do, and nothing else is told."""
    told = Told("backlog")
    first, last = told.waiting()
    ((began, ended),) = told.episodes(t.KV_CACHE)
    window = Scraped().settings.window_seconds(t.KV_CACHE)
    assert first + window <= began <= first + 1.25 * window
    assert last <= ended <= last + window
    alone = {reason for each in told.reasons.values() if t.KV_CACHE not in each for reason in each}
    assert alone - {t.BACKLOG, t.LATENCY} == set()


def test_the_full_cache_swings_as_each_preemption_frees_blocks():
    """Why use alone does not tell that it is full: what the rule above is for."""
    told = Told("backlog")
    first, last = told.waiting()
    usage = [look.kv_usage for at, look in told.looks.items() if first <= at <= last]
    full = Scraped().settings.threshold(t.KV_USAGE)
    assert min(usage) < 0.9 * full
    assert max(usage) >= full


@pytest.mark.parametrize("share", [0.25, 0.45, 0.5, 0.6])
def test_preemptions_of_a_steady_load_do_not_come_and_go(share):
    """However close to the limit they are: once told they are told as long as the load is there."""
    told = Told("preempting", runtime_threshold={t.PREEMPTED_SHARE.name: share})
    ((_, ended),) = told.episodes(t.PREEMPTION)
    assert ended == max(told.reasons)
    assert not told.episodes(t.KV_CACHE)


def test_late_answers_go_on_while_requests_wait_and_none_finishes():
    """The engine hangs under load: that no answer comes at all is no recovery, however long it lasts."""
    name, window = FullEvaluationSettings.metrics_name(t.LATENCY), 90
    told = Told(
        "collapse", runtime_window={name: window}, runtime_threshold={t.TTFT_SECONDS.name: 1}
    )
    ((_, ended),) = told.episodes(t.LATENCY)
    finished = [(look.counters[Counter.FINISHED].value, at) for at, look in told.looks.items()]
    hung_since = min(at for value, at in finished if value == finished[-1][0])
    # The window runs empty, and what is only undecided is given up two windows later.
    assert ended == max(told.reasons) > hung_since + 3 * window
