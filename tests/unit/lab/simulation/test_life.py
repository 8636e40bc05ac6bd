"""What a page shows in each phase of a pod's life, as time passes."""

import pytest

from lab.simulation import Life, Phase, render
from tests.unit.lab.simulation.reading_pages import Page

START = 1_780_000_000.0
SPEED = "kaito_model_download_speed_bytes_per_second"
REMAINING = "kaito_model_download_remaining_seconds"


def in_phase(phase: Phase, **parameters: float) -> Life:
    """Return a life that enters a phase after ten minutes of serving."""
    life = Life(START - 600)
    life.become(phase, START, **parameters)
    return life


def page_of(life: Life) -> Page:
    """Return the page of a life as it is now."""
    return Page(render(life))


@pytest.mark.parametrize(
    ("parameters", "seconds", "gauges"),
    [
        ({"speed": 10e6, "total_bytes": 1e9}, 0, (10e6, 100)),
        ({"speed": 10e6, "total_bytes": 1e9}, 60, (10e6, 40)),
        ({"speed": 10e6, "total_bytes": 1e9}, 101, (10e6, 0)),
        ({"speed": 0, "total_bytes": 1e9}, 10, (0, -1)),
        ({"speed": 10_000_000, "total_bytes": 100}, 0, (1e7, 0.00001)),
    ],
)
def test_download(parameters: dict[str, float], seconds: int, *, gauges: tuple[float, float]):
    """The pair of download gauges says how far the weights are, as KAITO's monitor does."""
    life = in_phase(Phase.DOWNLOADING, **parameters)
    life.advance(START + seconds)
    page = page_of(life)
    assert (page.sum(SPEED), page.sum(REMAINING)) == pytest.approx(gauges)
    assert not [name for name in page.names() if name.startswith("vllm:")]


def test_a_download_that_becomes_slower_keeps_what_has_arrived():
    life = in_phase(Phase.DOWNLOADING, speed=50e6, total_bytes=10e9)
    life.become(Phase.DOWNLOADING, START + 100, speed=10e6, total_bytes=10e9)
    assert page_of(life).sum(REMAINING) == pytest.approx(500)


@pytest.mark.parametrize(
    ("phase", "grown", "gauges"),
    [
        (
            Phase.SERVING,
            {"request_success_total": 750, "num_preemptions_total": 0},
            {"num_requests_running": 9, "engine_healthy": 1, "engine_sleep_state": 1},
        ),
        (Phase.IDLE, {"request_success_total": 0, "generation_tokens_total": 0}, {"num_requests_running": 0}),
        (
            Phase.SATURATED,
            {"num_preemptions_total": 120, "request_success_total": 1200},
            {"kv_cache_usage_perc": 0.98, "num_requests_waiting": 14},
        ),
    ],
)  # fmt: skip
def test_five_minutes_in_a_phase(phase: Phase, grown: dict[str, float], gauges: dict[str, float]):
    """Totals grow as the phase has it, and none ever falls."""
    life = in_phase(phase)
    before = page_of(life)
    life.advance(START + 300)
    after = page_of(life)
    names = {name: f"vllm:{name}" for name in (*grown, *gauges)}
    assert {name: after.sum(names[name]) - before.sum(names[name]) for name in grown} == grown
    assert {name: after.sum(names[name]) for name in gauges} == gauges
    told = ("vllm:num_requests", "vllm:kv_cache", "vllm:engine")
    totals = {key: value for key, value in before.moving().items() if not key[0].startswith(told)}
    assert [key for key, value in totals.items() if after.moving()[key] < value] == []


@pytest.mark.parametrize("phase", [Phase.SHUTTING_DOWN, Phase.DOWNLOADING])
def test_what_serves_after_an_end_is_a_new_process(phase: Phase):
    life = in_phase(phase)
    life.become(Phase.SERVING, START + 60)
    page = page_of(life)
    assert page.sum("process_start_time_seconds") >= START
    assert page.sum("vllm:prompt_tokens_created") >= START
    assert page.sum("vllm:prompt_tokens_total") == 0
    assert page.sum("vllm:num_requests_running") == 9
    assert (page.sum(SPEED), page.sum(REMAINING)) == (0, 0)


def test_what_refused_for_a_while_is_the_same_process():
    life = in_phase(Phase.LOADING_REFUSED)
    life.become(Phase.SERVING, START + 60)
    assert page_of(life).sum("process_start_time_seconds") == START - 600
