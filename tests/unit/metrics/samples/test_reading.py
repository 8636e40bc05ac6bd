"""From a page to a sample: what the rules read of it."""

from math import inf

from reporter.metrics.pages.reading import Count, read_page
from reporter.metrics.samples.sample import Buckets, Counter, Failure, Latency, Scrape, sample_of
from reporter.model.instant import Instant
from tests.unit.probes.runtime.scraped import START, TARGET

ENGINE = """
vllm:num_requests_running{engine="0"} 2
vllm:num_requests_waiting{engine="0"} 5
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 4
vllm:num_requests_waiting_by_reason{engine="0",reason="deferred"} 1
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:engine_sleep_state{engine="0",sleep_state="awake"} 1
vllm:engine_sleep_state{engine="0",sleep_state="discard_all"} 0
vllm:request_success_total{engine="0",finished_reason="stop"} 10
vllm:request_success_total{engine="0",finished_reason="error"} 3
vllm:time_to_first_token_seconds_bucket{engine="0",le="1.0"} 1
vllm:time_to_first_token_seconds_bucket{engine="0",le="20.0"} 2
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 4
vllm:time_to_first_token_seconds_count{engine="0"} 4
vllm:time_to_first_token_seconds_sum{engine="0"} 90
"""


def sample(text, objectives=None, at: Instant = START):
    scrape = Scrape(at=at, page=read_page(text.lstrip().encode()))
    return sample_of(TARGET, scrape, {Latency.TTFT: 10} if objectives is None else objectives)


def engine(text, **options):
    return sample(text, **options).engines["0"]


def test_engine():
    found = engine(ENGINE)
    gauges = (found.running, found.waiting, found.capacity, found.deferred, found.kv_usage)
    assert gauges == (2, 5, 4, 1, 0.25)
    assert found.awake is True
    assert found.healthy is None
    assert found.counters == {Counter.FINISHED: Count(13), Counter.FAILED: Count(3)}


def test_of_a_histogram_the_next_bound_is_kept():
    assert engine(ENGINE).latencies == {Latency.TTFT: Buckets((20.0, inf), (2.0, 4.0))}
    assert engine(ENGINE, objectives={Latency.TTFT: 1}).latencies[Latency.TTFT].bounds == (1, inf)
    assert not engine(ENGINE, objectives={Latency.TTFT: 21}).latencies
    assert not engine(ENGINE, objectives={Latency.ITL: 1}).latencies


def test_asleep_and_paused():
    asleep = ENGINE.replace('"awake"} 1', '"awake"} 0')
    assert engine(asleep).awake is False
    assert engine(asleep.replace('"discard_all"} 0', '"discard_all"} 1')).awake is False


HTTP = """
vllm:num_requests_running{engine="0"} 2
http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 7
http_requests_created{handler="/v1/completions",method="POST",status="2xx"} 1700000000
"""
ERRORS = """
http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 2
http_requests_created{handler="/v1/completions",method="POST",status="5xx"} 1700000900
"""


def test_first_error_of_a_process_is_an_increase():
    """Its series begins with it; before, there was none, which is 0 in the same process."""
    assert sample(HTTP).pod.counters[Counter.HTTP_ERRORS] == Count(0)
    assert sample(HTTP + ERRORS.lstrip()).pod.counters[Counter.HTTP_ERRORS] == Count(2)
    assert sample(HTTP + ERRORS.lstrip()).pod.counters[Counter.HTTP_REQUESTS] == Count(9)
    assert Counter.HTTP_ERRORS not in sample(ENGINE).pod.counters


def test_a_router_is_no_engine():
    text = 'vllm:num_requests_running{server="http://a"} 2\nvllm:num_requests_running{server="http://b"} 2\n'
    found = sample(text)
    assert not found.known
    assert not found.engines


def test_no_page():
    found = sample_of(TARGET, Scrape(at=START, failure=Failure.STATUS, detail="503"), {})
    assert (found.failure, found.detail, found.known) == (Failure.STATUS, "503", False)


def failures(*lines):
    named = (line.split() for line in lines)
    text = "".join(f'vllm:{name}{{engine="0"}} {value}\n' for name, value in named)
    return engine(text).counters.get(Counter.TRANSFER_FAILURES)


def test_failed_notices_of_nixl_count_once():
    """Since vLLM 0.31 failed transfers hold them; on older releases the larger number counts."""
    found = failures(
        "nixl_num_failed_transfers_total 7",
        "nixl_num_failed_notifications_total 4",
        "nixl_num_kv_expired_reqs_total 1",
    )
    assert found == Count(8)
    assert failures("nixl_num_failed_notifications_total 4") == Count(4)


def test_failures_of_other_connectors_count():
    """Mooncake sends from prefill and loads on decode; 3FS and UMBP are stores."""
    found = failures(
        "mooncake_num_failed_transfers_total 1",
        "mooncake_num_failed_recvs_total 2",
        "mooncake_num_kv_expired_reqs_total 4",
        "hf3fs_num_failed_save_total 8",
        "hf3fs_num_failed_load_total 16",
        "umbp_transfer_failed_total 32",
    )
    assert found == Count(63)
    assert failures("kv_offload_allocation_failure_total 9", "num_requests_running 1") is None


def test_first_failure_of_a_shared_store_is_an_increase():
    """Its series begins with it; before, there was none, which is 0 where operations are counted."""
    operation = 'vllm:mooncake_store_operation_total{engine="0",operation="get",status="%s"} %d\n'
    before, failed = operation % ("ok", 5), operation % ("partial_failure", 2)
    assert engine(before).counters[Counter.TRANSFER_FAILURES] == Count(0)
    again = engine(before + failed + operation % ("error", 1))
    assert again.counters[Counter.TRANSFER_FAILURES] == Count(3)


def test_stages_of_requests_whose_kv_cache_comes_from_elsewhere():
    stage = 'vllm:num_requests_kv_fetch_by_stage{engine="0",stage="%s"} %d\n'
    found = engine(ENGINE + stage % ("in_progress", 3) + stage % ("waiting_to_start", 2))
    assert (found.fetching, found.unfetched) == (3, 2)
    assert (engine(ENGINE).fetching, engine(ENGINE).unfetched) == (None, None)
