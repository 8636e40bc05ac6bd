"""What must hold whatever bytes a pod serves as its page."""

import math
import time
from pathlib import Path
from typing import Final

from reporter.metrics.pages.names import FAMILIES, Kind
from reporter.metrics.pages.reader import PageLimits, UnreadablePage
from reporter.metrics.pages.reading import Count, EngineSeries, Histogram, Page, read_page

_SAMPLES: Final = Path(__file__).parents[1] / "data" / "pages"
_LIMITS: Final = PageLimits(series=2_000, engines=100, line_bytes=20_000)
_LONGEST_SECONDS: Final = 2.0
_SECONDS_PER_BYTE: Final = 5e-6

SEEDS: Final = (
    *(path.read_bytes() for path in sorted(_SAMPLES.glob("*.txt"))),
    b'vllm:num_requests_running { engine = "0" , pid = "7" , } 1 17 # {a="b"} 1\r\n',
    b'{"my.metric","a.b"="c"} 1\nvllm:prompt_tokens_total{"a.b"="c"} NaN\n',
    rb'vllm:request_success_total{finished_reason="\\\"\n\d",model_name="a/b"} +Inf',
    (
        b'vllm:e2e_request_latency_seconds_bucket{le="1"} 1\n'
        b'vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 2\n'
    ),
    b"\xef\xbb\xbf<!doctype html>\n",
    b'{"kind": "Status"}',
    b"",
)

TOKENS: Final = (
    *tuple(
        rb"""{ } " \ , = # \n \" \\ _ : . - + e NaN +Inf -Inf 1e999 0x1 1_0 vllm: engine le pid
    vllm:num_requests_running vllm:prompt_tokens_total vllm:time_to_first_token_seconds_bucket
    http_requests_total le="+Inf" engine="0" a="b", {engine="1"} # HELP # TYPE # EOF""".split()
    ),
    b" ",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\x00",
    b"\xff",
    b"\xe2\x80\xa8",
    b" # {",
    b"} 1\n",
)


def check(data: bytes) -> None:
    """Read a page, and check what came out.

    Raises:
        AssertionError: something that the rules must not be given, or it took too long.

    """
    began = time.thread_time()
    try:
        page, cause = read_page(data, _LIMITS), ""
    except UnreadablePage as unreadable:
        page, cause = None, str(unreadable)
    spent = time.thread_time() - began
    assert spent < _LONGEST_SECONDS + _SECONDS_PER_BYTE * len(data), f"{spent} s"
    if page is not None:
        _check_page(page)
    else:
        assert 0 < len(cause) < 100, cause
        assert cause.isprintable(), cause


def _check_page(page: Page) -> None:
    assert len(page.engines) <= _LIMITS.engines
    assert page.reading.kept <= _LIMITS.series
    assert page.reading.duplicates < max(1, page.reading.kept)
    assert page.vllm or page.sglang or not page.engines
    for series in (page.pod, *page.engines.values()):
        _check_series(series)
    _check_counters(*page.http_requests.values())


def _check_series(series: EngineSeries) -> None:
    for family in FAMILIES:
        if family.kind is Kind.GAUGE:
            _check_gauges(*series.gauges(family).values())
        elif family.kind is Kind.HISTOGRAM:
            _check_histogram(series.histogram(family))
        else:
            _check_counters(*series.counters(family).values())


def _check_gauges(*gauges: float | None) -> None:
    assert all(each is None or math.isfinite(each) for each in gauges), gauges


def _check_counters(*counters: Count | None) -> None:
    for each in counters:
        if each is not None:
            assert 0 <= each.value < math.inf, each
            _check_gauges(each.created)


def _check_histogram(histogram: Histogram | None) -> None:
    if histogram is None:
        return
    bounds, counts = histogram.bounds, histogram.counts
    assert len(bounds) == len(counts) > 0, histogram
    assert bounds[-1] == math.inf, histogram
    assert list(bounds) == sorted(set(bounds)), histogram
    assert list(counts) == sorted(counts), histogram
    assert counts[0] >= 0, histogram
    assert counts[-1] < math.inf, histogram
    _check_gauges(histogram.sum, histogram.created)
