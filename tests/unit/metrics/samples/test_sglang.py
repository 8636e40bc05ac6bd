"""What is read of a page of SGLang, and what is not."""

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.pages.reading import Count, read_page
from reporter.metrics.samples.sample import Counter, Failure, Latency, Scrape, sample_of
from tests.unit.metrics.pages.reading import PADDING, SGLANG
from tests.unit.probes.runtime.scraped import START, TARGET, Scraped


def sample(body, at=0.0):
    return sample_of(TARGET, Scrape(at=START.after(at), page=read_page(body)), {Latency.TTFT: 10})


def changed(*changes):
    """The sample with other values: of lines with this name and these words, one more each second."""

    def page(at):
        lines = []
        for line in SGLANG.decode().splitlines():
            head, _, value = line.rpartition(" ")
            for name, rate in changes:
                if line.startswith(f"sglang:{name}{{"):
                    value = str(rate(float(value), at) if callable(rate) else rate)
            lines.append(f"{head} {value}")
        found = sample("\n".join(lines).encode() + b"\n", at)
        return {"known": found.known, "engines": found.engines, "pod": found.pod}

    return page


def rises(rate):
    return lambda value, at: value + rate * at


LIVE = ("realtime_tokens_total", rises(10))


def test_sample():
    """Ranks that repeat a counter count once; the sign of life are tokens counted while made."""
    found = sample(SGLANG)
    engine = found.engines["0"]
    assert (found.known, list(found.engines)) == (True, ["0"])
    assert (engine.running, engine.waiting, engine.capacity, engine.kv_usage) == (
        24,
        11,
        None,
        0.97,
    )
    assert engine.counters[Counter.PREEMPTIONS] == Count(37)
    assert engine.counters[Counter.GENERATED_TOKENS] == Count(1385200 + 402100 + 361977)
    assert engine.counters[Counter.FINISHED] == Count(1204)
    assert Counter.FAILED not in engine.counters
    assert engine.latencies[Latency.TTFT].counts[-1] == 930 + 288
    assert found.pod.counters[Counter.HTTP_REQUESTS] == Count(1222 + 9 + 3)
    assert found.pod.counters[Counter.HTTP_ERRORS] == Count(9)


def test_failure_that_has_not_been_is_zero():
    lines = [line for line in SGLANG.split(b"\n") if b"num_retracted_requests" not in line]
    assert sample(b"\n".join(lines)).engines["0"].counters[Counter.PREEMPTIONS] == Count(0)


def test_engines_are_told_apart_by_their_data_parallel_rank():
    line = 'sglang:num_running_reqs{dp_rank="%d",tp_rank="%d"} %d\n'
    body = "".join(line % each for each in ((0, 0, 3), (0, 1, 3), (1, 0, 5)))
    engines = sample(body.encode() + PADDING).engines
    assert {name: each.running for name, each in engines.items()} == {"0": 3, "1": 5}


def test_server_of_images_is_no_engine():
    body = b"sglang:num_running_reqs 3\nsglang:diffusion_requests_total 3\n" + PADDING
    assert not sample(body).known
    assert not sample(body).engines


@pytest.mark.parametrize(
    ("reason", "when", "changes"),
    [
        (t.KV_CACHE, 300, [LIVE]),
        (t.KV_CACHE, None, [LIVE, ("token_usage", 0.5)]),
        (t.ENGINE_STALLED, 120, []),
        (t.ENGINE_STALLED, None, [LIVE]),
        (t.BACKLOG, 300, [LIVE, ("num_queue_reqs", rises(0.1))]),
        (t.PREEMPTION, 300, [LIVE, ("num_queue_reqs", 0), ("token_usage", 0.6), ("num_retracted_requests_total", rises(2))]),
        (t.ERROR_RATE, 300, [LIVE, ("http_responses_total", rises(1))]),
        (t.METRICS_MISSING, None, [LIVE]),
        (t.REJECTED, None, [LIVE, ("http_responses_total", rises(1))]),
    ],
)  # fmt: skip
def test_reasons(reason, when, changes):
    assert Scraped().first(reason, changed(*changes), 600) == when


@pytest.mark.parametrize(
    "reason", [t.ENGINE_UNHEALTHY, t.OUTPUT_CORRUPTED, t.SCHEDULER_STUCK, t.REJECTED]
)
def test_what_it_cannot_tell_is_not_told(reason):
    """It is neither well nor ill."""
    pod = Scraped()
    pod.watch(changed(LIVE), 600)
    assert "does not have what the rule reads" in pod.verdict.why[reason]


def test_without_tokens_counted_while_made_nobody_knows_whether_it_stands_still():
    """Before SGLang 0.5.10 tokens count when a request ends, which may be minutes away."""
    lines = [line for line in SGLANG.split(b"\n") if b"realtime_tokens" not in line]
    found = sample(b"\n".join(lines))
    pod = Scraped()
    pod.watch(lambda _: {"known": True, "engines": found.engines, "pod": found.pod}, 600)
    assert t.ENGINE_STALLED not in pod.verdict.faults


def test_metrics_that_are_off_are_told_as_that():
    """A healthy server answers 404, and the message has the flag."""
    pod = Scraped()
    pod.watch(lambda _: {"failure": Failure.STATUS, "detail": "404"}, 120)
    assert "--enable-metrics" in pod.verdict.faults[t.SCRAPE_FAILING].text
