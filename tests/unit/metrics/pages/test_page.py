"""What a page tells: the samples, and what may be different about them."""

import math
import re

import pytest

from reporter.metrics.pages.reader import PageLimits, UnreadablePage
from reporter.metrics.pages.reading import Count, Histogram, Reading
from tests.unit.metrics.pages.reading import DOWNLOAD, PADDING, RUST, VLLM, ToldPage, page
from tests.unit.metrics.pages.reading import told as read_page

REPORTED = frozenset({"stop", "length", "abort", "error", "repetition"})


def test_vllm_sample():
    """Two engines are read apart, the one that is saturated and the one that is not."""
    told = read_page(VLLM)
    assert (told.vllm, told.router, list(told.engines)) == (True, False, ["0", "1"])
    busy, normal = told.engines["0"], told.engines["1"]
    assert (busy.running, busy.waiting, busy.kv_cache_usage) == (24, 14, 0.9292293774159059)
    assert busy.waiting_by_reason == {"capacity": 13, "deferred": 1}
    assert busy.sleep_state == {"awake": 1, "weights_offloaded": 0, "discard_all": 0}
    assert busy.healthy == 1
    assert busy.preemptions == Count(110, 1786499942.31861)
    assert busy.iterations == Count(61331, 1786499942.31945)
    assert busy.failed_transfers == Count(2, 1786499942.31783)
    assert busy.finished_requests.keys() == REPORTED
    assert busy.finished_requests["error"] == Count(7, 1786499942.31912)
    assert (normal.running, normal.waiting, normal.kv_cache_usage) == (9, 0, 0.20610247553252733)
    assert normal.finished_requests["error"] == Count(5, 1786499942.31927)
    assert told.process_start == 1.78649980642e9
    assert told.rate_limited is told.download_speed is told.download_remaining is None
    assert told.admission_rejections["max_num_queued_reqs"] == Count(6, 1786499942.32047)
    assert told.http_requests.keys() == {
        ("/v1/chat/completions", "2xx"),
        ("/v1/chat/completions", "4xx"),
        ("/v1/chat/completions", "5xx"),
        ("/v1/completions", "2xx"),
        ("/v1/responses/{response_id}", "4xx"),
    }
    assert told.http_requests["/v1/chat/completions", "5xx"] == Count(9, 1786499958.90021)
    assert told.reading == Reading(lines=1502, kept=235)


def test_rust_sample():
    """Another front end, the same quantities: no `_created`, no start, one engine."""
    told, python = read_page(RUST), read_page(VLLM)
    assert list(told.engines) == ["1"]
    rust, same = told.engines["1"], python.engines["1"]
    assert rust.generation_tokens == Count(same.generation_tokens.value)
    assert rust.iterations == Count(same.iterations.value)
    assert rust.e2e_request_latency.counts == same.e2e_request_latency.counts
    assert rust.e2e_request_latency.bounds == same.e2e_request_latency.bounds
    assert rust.finished_requests.keys() == REPORTED - {"abort"}
    assert rust.sleep_state == {}
    assert rust.corrupted_requests is None
    assert told.process_start is None
    assert told.http_requests["/v1/chat/completions", "2xx"].created is None


def test_download_sample():
    told = read_page(DOWNLOAD)
    assert (told.vllm, told.engines) == (False, {})
    assert (told.download_speed, told.download_remaining) == (1.84530944e07, 871.6120438)
    assert told.rate_limited == Count(0, 1.7870004128841e9)
    assert told.process_start == 1.78700039807e9


def without_reading(told: ToldPage):
    return told.engines, told.http_requests, told.admission_rejections, told.process_start


def reordered(body: bytes) -> bytes:
    """Turn round the labels of each line, where no value has a comma."""
    return re.sub(
        rb"\{([^\n]*)\}(?= )",
        lambda labels: b"{" + b",".join(reversed(labels[1].split(b","))) + b"}",
        b"\n".join(line for line in body.split(b"\n") if b"lora" not in line and b"#" not in line),
    )


SAME = {
    "labels in another order": reordered(VLLM),
    "lines in another order": b"\n".join(reversed(VLLM.split(b"\n")[:-1])),
    "no types, no help": re.sub(rb"(?m)^#.*\n", b"", VLLM),
    "carriage returns": VLLM.replace(b"\n", b"\r\n"),
    "timestamps": re.sub(rb"(?m)^([a-z].*)$", rb"\1 1786499942318", VLLM),
    "blanks before values": re.sub(rb"(?m)^([a-z].*) ([^ ]*)$", rb"\1 \t\2", VLLM),
    "integers": re.sub(rb"(?m)^([a-z].*)\.0$", rb"\1", VLLM),
    "bounds in other digits": re.sub(rb'le="(\d+)\.0"', rb'le="\1e+00"', VLLM),
    "bounds as Go writes them": re.sub(rb'le="(\d+)\.0"', rb'le="\1"', VLLM),
    "V0 name of the KV use": VLLM.replace(b"kv_cache_usage_perc", b"gpu_cache_usage_perc"),
    "V0 name of the latency": VLLM.replace(b"inter_token_latency_seconds", b"time_per_output_token_seconds"),
    "V0 name of the prefix cache": VLLM.replace(b"vllm:prefix_cache_queries", b"vllm:gpu_prefix_cache_queries"),
    "label of the simulator": VLLM.replace(b"finished_reason=", b"finish_reason="),
    "counters without _total": re.sub(rb"(?m)^(vllm:[a-z_0-9]+|http_requests)_total\{", rb"\1{", VLLM),
    "both names of the KV use": VLLM + b'vllm:gpu_cache_usage_perc{engine="0"} 0.1\nvllm:gpu_cache_usage_perc{engine="1"} 1\n',
    "both names of a counter": VLLM + b'vllm:prompt_tokens{engine="0",model_name="m"} 5\n',
    "a bad line": VLLM + b'vllm:num_requests_running{engine="0"} many\n',
    "a raw quote": VLLM + b'vllm:num_requests_running{engine="0",model_name="a"b"} 99\n',
    "cut inside the last line": VLLM[:-20],
    "a second process start": VLLM + b"process_start_time_seconds 5\n",
    "a duplicate": VLLM.replace(
        b"# TYPE vllm:num_requests_waiting gauge\n",
        b'vllm:num_requests_running{model_name="meta-llama/Llama-3.1-8B-Instruct",engine="0"} 99\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_same(name):
    """However a producer writes it, the page tells the same."""
    assert SAME[name] != VLLM
    assert without_reading(read_page(SAME[name])) == without_reading(read_page(VLLM))


def test_no_engine_label():
    body = b"".join(
        re.sub(rb'engine="0",?', b"", line)
        for line in VLLM.splitlines(keepends=True)
        if b'engine="1"' not in line
    )
    expected = read_page(VLLM).engines["0"]
    assert read_page(body).engines == {"0": expected}
    assert read_page(VLLM.replace(b'engine="0"', b'engine=""')).engines["0"] == expected


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("vllm:cache_config_info{a='b'} 1", True),
        ('vllm:cache_config_info{a="b"} 1', True),
        (" vllm:some_new_gauge 1", True),
        ("vllm:admission_rejections_total 1", True),
        ("# HELP vllm:cache_config_info text", False),
        ('other{name="vllm:x"} 1', False),
        ("myvllm:x 1", False),
    ],
)
def test_vllm_seen(line, seen):
    assert page("process_start_time_seconds 5", line).vllm is seen
    assert read_page(line.encode() + b"\n" + PADDING).vllm is seen


def test_router():
    """A router has the names of engines, with a label for the server behind."""
    assert page('vllm:num_requests_running{server="http://a:8000"} 3').router is True


def running(*samples: str):
    told = page(*(f"vllm:num_requests_running{sample}" for sample in samples))
    return told.engines["0"].running


def tokens(*samples: str):
    told = page(*(f"vllm:prompt_tokens{sample}" for sample in samples))
    return told.engines["0"].prompt_tokens


@pytest.mark.parametrize(
    ("samples", "gauge"),
    [
        (["{} 3"], 3),
        (["{} NaN"], None),
        (["{} +Inf"], None),
        (["{} -Inf"], None),
        (["{} -1"], -1),
        (["{} 3", "{} 5"], 3),
        (["{} NaN", "{} 5"], None),
        (['{pid="7"} 3', '{pid="8"} 5'], 5),
        (['{pid="7"} 3', '{pid="7"} 9', '{pid="8"} 5'], 5),
        (['{pid="7"} NaN', '{pid="8"} 5'], None),
        (['{model_name="a",pid="7"} 3', '{pid="7",model_name="a"} 9'], 3),
    ],
)
def test_gauge(samples, gauge):
    """Gauges: the first told, the largest of several processes, no number is unknown."""
    assert running(*samples) == gauge


@pytest.mark.parametrize(
    ("samples", "counter"),
    [
        (["_total{} 3"], Count(3)),
        (["_total{} 0"], Count(0)),
        (["_total{} -1"], None),
        (["_total{} NaN"], None),
        (["_total{} Inf"], None),
        (["_total{} 3", "_total{} 5"], Count(3)),
        (['_total{pid="7"} 3', '_total{pid="8"} 5'], Count(8)),
        (['_total{model_name="a"} 3', '_total{model_name="b"} 5'], Count(8)),
        (['_total{pid="7"} 3', '_total{pid="8"} NaN'], None),
        (["_total{} 3", "_created{} 17"], Count(3, 17)),
        (["_created{} 17", "_total{} 3"], Count(3, 17)),
        (["_total{} 3", "_created{} NaN"], Count(3)),
        (["{} 3", "_created{} 17"], Count(3, 17)),
        (["{} 9", "_total{} 3"], Count(3)),
        (["_created{} 17"], None),
    ],
)
def test_counter(samples, counter):
    """Counters: the first told, the sum of several processes, no count is unknown."""
    assert tokens(*samples) == counter


def test_created_of_another_name():
    """When a series began is not told by the name that was passed over."""
    told = page(
        "vllm:prefix_cache_queries_total 3",
        "vllm:gpu_prefix_cache_queries_total 9",
        "vllm:gpu_prefix_cache_queries_created 17",
    )
    assert told.engines["0"].prefix_cache_queries == Count(3)


def test_parts_of_a_count():
    """Labels that newer releases add do not hide a part of the count."""
    told = page(
        'vllm:request_success_total{finished_reason="stop",priority="0"} 3',
        'vllm:request_success_total{finished_reason="stop",priority="<-1"} 4',
        'http_requests_total{handler="/score",method="GET",status="4xx"} 1',
        'http_requests_total{handler="/score",method="POST",status="4xx"} 2',
        'http_requests_total{handler="/scores",method="POST",status="4xx"} 9',
    )
    assert told.engines["0"].finished_requests == {"stop": Count(7)}
    assert told.http_requests == {("/score", "4xx"): Count(3)}
    assert told.reading.duplicates == 0


def test_unknown_part():
    """A reason whose count is no number is told as unknown, so that nobody adds without it."""
    told = page(
        'vllm:request_success_total{finished_reason="stop"} 3',
        'vllm:request_success_total{finished_reason="error"} NaN',
    )
    assert told.engines["0"].finished_requests == {"stop": Count(3), "error": None}


def latency(*samples: str):
    told = page(*(f"vllm:e2e_request_latency_seconds{sample}" for sample in samples))
    return told.engines["0"].e2e_request_latency


INF = math.inf
BUCKETS = ['_bucket{le="1"} 3', '_bucket{le="2.0"} 5', '_bucket{le="+Inf"} 6']

HISTOGRAMS = {
    "whole": ([*BUCKETS, "_sum 9", "_count 6"], Histogram((1, 2, INF), (3, 5, 6), 9)),
    "infinity first": (BUCKETS[::-1], Histogram((1, 2, INF), (3, 5, 6))),
    "created": ([*BUCKETS, "_created 17"], Histogram((1, 2, INF), (3, 5, 6), None, 17)),
    "sum is NaN": ([*BUCKETS, "_sum NaN"], Histogram((1, 2, INF), (3, 5, 6))),
    "negative bound": (['_bucket{le="-1"} 3', BUCKETS[2]], Histogram((-1, INF), (3, 6))),
    "one bound told twice": ([*BUCKETS, '_bucket{le="1e0"} 4'], Histogram((1, 2, INF), (3, 5, 6))),
    "two processes": (
        [
            *(each.replace("{", '{pid="1",') for each in BUCKETS),
            *(each.replace("{", '{pid="2",') for each in BUCKETS),
            '_sum{pid="1"} 4',
            '_sum{pid="2"} 5',
        ],
        Histogram((1, 2, INF), (6, 10, 12), 9),
    ),
    "two processes, other bounds": (
        [*(each.replace("{", '{pid="1",') for each in BUCKETS), '_bucket{pid="2",le="+Inf"} 6'],
        None,
    ),
    "no infinity": (BUCKETS[:2], None),
    "falling": ([*BUCKETS[:2], '_bucket{le="+Inf"} 4'], None),
    "falling, other order": ([BUCKETS[1], '_bucket{le="+Inf"} 4', BUCKETS[0]], None),
    "NaN": ([*BUCKETS, '_bucket{le="3"} NaN'], None),
    "infinite": ([*BUCKETS[:2], '_bucket{le="+Inf"} +Inf'], None),
    "negative": ([*BUCKETS, '_bucket{le="0.1"} -1'], None),
    "bound is NaN": ([*BUCKETS, '_bucket{le="NaN"} 1'], None),
    "bound is -Inf": ([*BUCKETS, '_bucket{le="-Inf"} 1'], None),
    "bound is a word": ([*BUCKETS, '_bucket{le="big"} 1'], None),
    "no bound": ([*BUCKETS, "_bucket 1"], None),
    "sum alone": (["_sum 9", "_count 6"], None),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histogram(name):
    """Histograms: bounds are numbers in any order; what is not cumulative is unknown."""
    samples, expected = HISTOGRAMS[name]
    assert latency(*samples) == expected


def test_duplicates_are_counted():
    """A page that tells series twice is read, and says so."""
    told = page(*["vllm:num_requests_running 3"] * 3, *['http_requests_total{handler="a"} 1'] * 2)
    assert told.reading.duplicates == 3


def test_engines_apart():
    told = page(
        'vllm:num_requests_running{engine="0"} 3',
        'vllm:gpu_cache_usage_perc{engine="0"} 0.5',
        'vllm:kv_cache_usage_perc{engine="10"} 0.7',
    )
    assert list(told.engines) == ["0", "10"]
    assert [each.running for each in told.engines.values()] == [3, None]
    assert [each.kv_cache_usage for each in told.engines.values()] == [0.5, 0.7]


def test_too_many_engines():
    body = b"".join(b'vllm:num_requests_running{engine="%d"} 1\n' % n for n in range(4))
    assert len(read_page(body, PageLimits(engines=4)).engines) == 4
    with pytest.raises(UnreadablePage, match="more than 3 engines"):
        read_page(body, PageLimits(engines=3))


def test_bytes_that_are_no_text():
    """A label that is no UTF-8 is told with replacement characters."""
    told = read_page(b'vllm:num_requests_running{engine="\xff"} 1\n')
    assert told.engines["\ufffd"].running == 1
