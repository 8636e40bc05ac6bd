"""What a page shows in each phase of a pod's life, as time passes."""

import pytest

from lab.simulation import Life, Phase, start_up
from tests.unit.lab.simulation.reading_pages import Page, page_of

START = 1_780_000_000.0
SPEED = "kaito_model_download_speed_bytes_per_second"
REMAINING = "kaito_model_download_remaining_seconds"


def in_phase(phase: Phase, **parameters: float) -> Life:
    """Return a life that enters a phase after ten minutes of serving."""
    life = Life(START - 600)
    life.become(phase, START, **parameters)
    return life


def growth(before: Page, after: Page, name: str, **labels: str) -> float:
    """Return by how much a total grew."""
    return after.sum(f"vllm:{name}", **labels) - before.sum(f"vllm:{name}", **labels)


@pytest.mark.parametrize(
    ("phase", "parameters", "seconds", "gauges"),
    [
        (Phase.DOWNLOADING, {"speed": 10e6, "total_bytes": 1e9}, 0, (10e6, 100)),
        (Phase.DOWNLOADING, {"speed": 10e6, "total_bytes": 1e9}, 60, (10e6, 40)),
        (Phase.DOWNLOADING, {"speed": 10e6, "total_bytes": 1e9}, 101, (10e6, 0)),
        (Phase.DOWNLOADING, {"speed": 0, "total_bytes": 1e9}, 10, (0, -1)),
        (Phase.DOWNLOADING, {"speed": 10_000_000, "total_bytes": 100}, 0, (1e7, 0.00001)),
        (Phase.DOWNLOADING_UNKNOWN_TOTAL, {"speed": 5e6}, 900, (5e6, -1)),
        (Phase.DOWNLOAD_STALLED, {}, 300, (0, -1)),
        (Phase.DOWNLOAD_LATCHED, {}, 300, (3100, 0)),
        (Phase.STREAMING, {}, 300, (0, -1)),
        (Phase.CACHED, {}, 300, (0, 0)),
    ],
)
def test_download(phase: Phase, parameters: dict[str, float], seconds: int, *, gauges: tuple):
    """The pair of download gauges says how far the weights are, as KAITO's monitor does."""
    life = in_phase(phase, **parameters)
    life.advance(START + seconds)
    page = page_of(life)
    assert (page.sum(SPEED), page.sum(REMAINING)) == pytest.approx(gauges)
    assert not [name for name in page.names() if name.startswith("vllm:")]


def test_speed_changes():
    """A download that becomes slower keeps what has arrived."""
    life = in_phase(Phase.DOWNLOADING, speed=50e6, total_bytes=10e9)
    life.become(Phase.DOWNLOADING, START + 100, speed=10e6, total_bytes=10e9)
    assert page_of(life).sum(REMAINING) == pytest.approx(500)


def test_loading_freezes_speed():
    """While weights load, the speed stays at its last value; the server of vLLM says 0."""
    life = in_phase(Phase.DOWNLOADING, speed=33e6)
    life.become(Phase.LOADING, START + 60)
    page = page_of(life)
    assert (page.sum(SPEED), page.sum(REMAINING)) == (33e6, 0)
    life.become(Phase.SERVING, START + 90)
    page = page_of(life)
    assert (page.sum(SPEED), page.sum(REMAINING)) == (0, 0)
    assert "vllm:num_requests_running" in page.names()


GROWTH = [
    (Phase.SERVING, {"request_success_total": 750, "num_preemptions_total": 0}),
    (Phase.IDLE, {"request_success_total": 0, "generation_tokens_total": 0}),
    (Phase.SATURATED, {"num_preemptions_total": 120}),
    (Phase.PACKED, {"num_preemptions_total": 0, "request_success_total": 1200}),
    (Phase.PREEMPTING, {"num_preemptions_total": 450}),
    (Phase.CORRUPTING, {"corrupted_requests_total": 30}),
    (Phase.KV_TRANSFER_FAILING, {"nixl_num_failed_transfers_total": 30}),
    (Phase.REJECTING, {"admission_rejections_total": 150}),
    (Phase.ASLEEP, {"generation_tokens_total": 0}),
]


@pytest.mark.parametrize(("phase", "expected"), GROWTH)
def test_growth(phase: Phase, expected: dict[str, float]):
    """Totals grow in five minutes as the phase has it, and none ever falls."""
    life = in_phase(phase)
    before = page_of(life)
    life.advance(START + 300)
    after = page_of(life)
    assert {name: growth(before, after, name) for name in expected} == expected
    assert [
        key
        for key, value in before.moving().items()
        if not _is_gauge(key[0]) and after.moving()[key] < value
    ] == []


def _is_gauge(name: str) -> bool:
    return name.startswith(("vllm:num_requests", "vllm:kv_cache", "vllm:engine"))


GAUGES = [
    (Phase.SATURATED, 300, {"kv_cache_usage_perc": 0.98, "num_requests_waiting": 14}),
    (Phase.PACKED, 300, {"kv_cache_usage_perc": 0.97, "num_requests_waiting": 0}),
    (Phase.BACKLOG_GROWING, 0, {"num_requests_waiting": 8}),
    (Phase.BACKLOG_GROWING, 300, {"num_requests_waiting": 38}),
    (Phase.LONG_PREFILL, 100, {"kv_cache_usage_perc": 0.15, "num_requests_running": 1}),
    (Phase.LONG_PREFILL, 10_000, {"kv_cache_usage_perc": 1}),
    (Phase.SCHEDULER_STUCK, 300, {"num_requests_waiting": 6, "num_requests_running": 0}),
    (Phase.UNHEALTHY, 0, {"engine_healthy": 0}),
    (Phase.SERVING, 0, {"engine_healthy": 1, "engine_sleep_state": 1}),
    (Phase.PAUSED, 0, {"engine_sleep_state": 0}),
]


@pytest.mark.parametrize(("phase", "seconds", "expected"), GAUGES)
def test_gauges(phase: Phase, seconds: int, expected: dict[str, float]):
    """Gauges are as the phase has them."""
    life = in_phase(phase)
    life.advance(START + seconds)
    page = page_of(life)
    found = {name: page.sum(f"vllm:{name}") for name in expected}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("phase", "reason", "count"),
    [(Phase.SATURATED, "capacity", 14), (Phase.SCHEDULER_STUCK, "deferred", 6)],
)
def test_waiting_by_reason(phase: Phase, reason: str, count: int):
    """What waits, waits for a reason."""
    waiting = "vllm:num_requests_waiting_by_reason"
    assert page_of(in_phase(phase)).sum(waiting, reason=reason) == count


@pytest.mark.parametrize(
    ("phase", "moving"),
    [
        (Phase.STALLED, set()),
        (Phase.SCHEDULER_STUCK, set()),
        (Phase.LONG_PREFILL, {"vllm:kv_cache_usage_perc"}),
    ],
)
def test_frozen(phase: Phase, moving: set[str]):
    """A stalled engine shows the same numbers for ever; a long prefill moves one."""
    life = in_phase(phase)
    before = page_of(life).moving()
    life.advance(START + 600)
    after = page_of(life).moving()
    assert {key[0] for key in before if before[key] != after[key]} == moving


def test_errors():
    """Failed requests are counted by the engine, and as HTTP 5xx."""
    life = in_phase(Phase.ERRORING, error_share=0.1, requests=2.0)
    before = page_of(life)
    life.advance(START + 300)
    after = page_of(life)
    assert growth(before, after, "request_success_total", finished_reason="error") == 60
    assert growth(before, after, "request_success_total") == 600
    errors = [page.sum("http_requests_total", status="5xx") for page in (before, after)]
    assert errors[1] - errors[0] == 60


@pytest.mark.parametrize(("in_http", "status_4xx"), [(True, 150), (False, 0)])
def test_guard(*, in_http: bool, status_4xx: int):
    """KAITO's guard counts what it rejects; HTTP may or may not see it."""
    life = in_phase(Phase.REJECTING, rejections_in_http=in_http)
    before = page_of(life)
    life.advance(START + 300)
    after = page_of(life)
    rejected = "kaito_ratelimit_rejected_total"
    assert after.sum(rejected) - before.sum(rejected) == 150
    chat = {"handler": "/v1/chat/completions", "status": "4xx"}
    found = after.sum("http_requests_total", **chat) - before.sum("http_requests_total", **chat)
    assert found == status_4xx


def test_admission_limit():
    """What the engine's own limit rejects is an HTTP 5xx, but no failed request."""
    life = in_phase(Phase.REJECTING)
    before = page_of(life)
    life.advance(START + 300)
    after = page_of(life)
    rejected = {"reason": "max_num_queued_reqs"}
    assert growth(before, after, "admission_rejections_total", **rejected) == 150
    assert growth(before, after, "request_success_total", finished_reason="error") == 0
    errors = [page.sum("http_requests_total", status="5xx") for page in (before, after)]
    assert errors[1] - errors[0] == 150


def test_slow_answers():
    """A tenth of the requests waits 30 s for its first token."""
    life = in_phase(Phase.SLOW_ANSWERS, requests=10.0)
    before = page_of(life)
    life.advance(START + 600)
    after = page_of(life)
    name = "time_to_first_token_seconds"
    assert growth(before, after, f"{name}_count") == 6000
    assert growth(before, after, f"{name}_bucket", le="20.0") == pytest.approx(5400, abs=2)
    assert growth(before, after, f"{name}_bucket", le="40.0") == pytest.approx(6000, abs=2)


def test_one_engine():
    """One engine of a pod can suffer alone."""
    life = Life(START, ("0", "1"))
    life.become(Phase.STALLED, START + 60, engine="1")
    before = page_of(life)
    life.advance(START + 120)
    after = page_of(life)
    assert growth(before, after, "generation_tokens_total", engine="0") > 0
    assert growth(before, after, "generation_tokens_total", engine="1") == 0
    assert after.sum("vllm:num_requests_waiting", engine="1") == 4


def test_restart():
    """A new process begins at 0, and says when it began."""
    life = in_phase(Phase.SERVING)
    life.restart(START + 60)
    page = page_of(life)
    assert page.sum("process_start_time_seconds") == START + 60
    assert page.sum("vllm:prompt_tokens_created") == START + 60
    assert page.sum("vllm:prompt_tokens_total") == 0
    assert page.sum("vllm:num_requests_running") == 9


def test_restarts():
    """A pod that keeps restarting does so on time, however seldom it is looked at."""
    life = in_phase(Phase.SERVING)
    life.restart(START, every=60)
    life.advance(START + 150)
    page = page_of(life)
    assert page.sum("process_start_time_seconds") == START + 120
    assert page.sum("vllm:request_success_total") == pytest.approx(75, abs=2)


@pytest.mark.parametrize(
    ("phase", "is_new"),
    [(Phase.SHUTTING_DOWN, True), (Phase.DOWNLOADING, True), (Phase.HAND_OVER, False)],
)
def test_new_process(*, phase: Phase, is_new: bool):
    """What serves after an end is a new process."""
    life = in_phase(phase)
    life.become(Phase.SERVING, START + 60)
    assert (life.process_started >= START) is is_new


def test_walk():
    """A pod goes through its start, and serves in the end."""
    life = Life(START)
    life.walk(start_up(speed=100e6, total_bytes=10e9), START)
    seen = []
    for second in (0, 99, 101, 139, 141, 145, 203, 205):
        life.advance(START + second)
        seen.append(type(life.behaviour).__name__)
    assert seen == ["Download"] * 4 + ["Unreachable"] + ["Load"] * 3
    assert life.next_change is None
    page = page_of(life)
    assert page.sum("vllm:num_requests_waiting") == 0
    assert page.sum("vllm:prompt_tokens_total") > 2048 * 200
    assert page.sum("process_start_time_seconds") == START
