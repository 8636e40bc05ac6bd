"""The simulated pages have the shape of the sample pages."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab.simulation import Feature, FrontEnd, Life, Phase, ServerFlags, render
from tests.unit.lab.simulation.reading_pages import Page, families, label_sets

SAMPLES = Path(__file__).parent / "samples"
START = 1_780_000_000.0
EVERYTHING = frozenset(Feature)


def life(*engines: str) -> Life:
    """Return a life that has served for an hour, with failed requests among others."""
    lived = Life(START, engines)
    lived.become(Phase.ERRORING, START)
    lived.advance(START + 3600)
    return lived


@pytest.mark.parametrize(
    ("sample", "engines", "server"),
    [
        pytest.param(
            "vllm-v1-metrics.txt",
            ("0", "1"),
            ServerFlags(
                features=EVERYTHING, adapters=(("sql{v2}", "a,b"),), kaito=False, tool_calls=True
            ),
            id="python",
        ),
        pytest.param(
            "vllm-rust-frontend-metrics.txt",
            ("1",),
            ServerFlags(
                front_end=FrontEnd.RUST, features=EVERYTHING, adapters=(("sql", ""),), kaito=False
            ),
            id="rust",
        ),
    ],
)
def test_shape_of_sample(sample: str, engines: tuple[str, ...], server: ServerFlags):
    """Families, types and label sets are those of the sample, neither more nor fewer."""
    expected = label_sets(families((SAMPLES / sample).read_text()))
    assert label_sets(families(render(life(*engines), server))) == expected


def test_shape_of_download_sample():
    """The download page has the sample's families and nothing of vLLM."""
    lived = life("0")
    lived.become(Phase.DOWNLOADING, START + 3600)
    expected = label_sets(families((SAMPLES / "kaito-download-metrics.txt").read_text()))
    assert label_sets(families(render(lived, ServerFlags()))) == expected


@pytest.mark.parametrize(
    ("front_end", "line"),
    [
        (
            FrontEnd.PYTHON,
            'vllm:request_success_total{engine="1",finished_reason="stop",model_name="a/b"} 6480.0',
        ),
        (
            FrontEnd.PYTHON,
            'vllm:e2e_request_latency_seconds_bucket{engine="1",le="+Inf",model_name="a/b"} 9000.0',
        ),
        (FrontEnd.PYTHON, 'vllm:prompt_tokens_created{engine="1",model_name="a/b"} 1.78e+09'),
        (FrontEnd.MULTIPROCESS, 'vllm:num_requests_running{engine="1",model_name="a/b"} 9.0'),
        (
            FrontEnd.RUST,
            'vllm:request_success_total{model_name="a/b",engine="1",finished_reason="stop"} 6480',
        ),
        (
            FrontEnd.RUST,
            'vllm:e2e_request_latency_seconds_bucket{le="+Inf",model_name="a/b",engine="1"} 9000',
        ),
        (FrontEnd.V0, 'vllm:gpu_cache_usage_perc{model_name="a/b"} 0.21'),
    ],
)
def test_lines(front_end: FrontEnd, line: str):
    """Lines are written as each front end does, to the byte."""
    page = render(life("1"), ServerFlags(model_name="a/b", front_end=front_end))
    assert line in page.split("\n")


@pytest.mark.parametrize(
    ("front_end", "missing"),
    [
        (FrontEnd.MULTIPROCESS, ("process_start_time_seconds", "python_info", "_created{")),
        (FrontEnd.RUST, ("process_start_time_seconds", "_created", "engine_sleep_state")),
        (FrontEnd.V0, ("engine=", "_created", "kv_cache_usage_perc", "waiting_by_reason")),
    ],
)
def test_absent(front_end: FrontEnd, missing: tuple[str, ...]):
    """What a front end does not tell is not on its page."""
    page = render(life("0"), ServerFlags(front_end=front_end))
    assert [each for each in missing if each in page] == []


def test_rust_counts_when_touched():
    """The Rust front end has no series for outcomes that never occurred; Python has all five."""
    reasons = {
        front_end: {
            each.labels["finished_reason"]
            for each in Page(render(life("0"), ServerFlags(front_end=front_end))).samples
            if each.name == "vllm:request_success_total"
        }
        for front_end in (FrontEnd.RUST, FrontEnd.PYTHON)
    }
    assert reasons == {
        FrontEnd.RUST: {"stop", "length", "error"},
        FrontEnd.PYTHON: {"stop", "length", "error", "abort", "repetition"},
    }


def test_multiprocess_values():
    """Several processes show what one would, in another order."""
    one, several = (
        Page(render(life("0", "1"), ServerFlags(front_end=each)))
        for each in (FrontEnd.PYTHON, FrontEnd.MULTIPROCESS)
    )
    assert several.moving() == one.moving()


@pytest.mark.parametrize("engines", [("0",), ("3",), ("0", "1", "2", "3")])
def test_identities(engines: tuple[str, ...]):
    """Totals that say the same thing in two ways agree, for each engine."""
    page = Page(render(life(*engines), ServerFlags(features=EVERYTHING)))
    for engine in engines:

        def total(name: str, rank: str = engine) -> float:
            return page.sum(f"vllm:{name}", engine=rank)

        assert total("request_success_total") == total("e2e_request_latency_seconds_count") > 0
        assert total("prompt_tokens_by_source_total") == total("prompt_tokens_total")
        assert total("num_requests_waiting_by_reason") == total("num_requests_waiting")
        assert total("generation_tokens_total") == total(
            "time_to_first_token_seconds_count"
        ) + total("inter_token_latency_seconds_count")


def test_cumulative():
    """Buckets never fall with a rising bound, and the last one is the count."""
    for family in families(render(life("0"), ServerFlags(features=EVERYTHING))):
        rows: dict[str, list[float]] = {}
        for each in family.samples:
            if each.name.endswith("_bucket"):
                key = str({name: value for name, value in each.labels.items() if name != "le"})
                rows.setdefault(key, []).append(each.value)
        counts = [each.value for each in family.samples if each.name.endswith("_count")]
        if family.type == "histogram":
            assert [row[-1] for row in rows.values()] == counts
            assert all(row == sorted(row) for row in rows.values())


def test_awkward_model_name():
    """Python escapes what would tear a line; the Rust front end does not."""
    name = 'a"b\\c\nd{e},f=g'
    page = render(life("0"), ServerFlags(model_name=name))
    models = {
        each.labels["model_name"]
        for family in text_string_to_metric_families(page)
        for each in family.samples
        if "model_name" in each.labels
    }
    assert models == {name}
    assert 'model_name="a"b"' in render(
        life("0"), ServerFlags(model_name='a"b', front_end=FrontEnd.RUST)
    )


def test_without_stats():
    """With statistics off, what is not vLLM's stays."""
    names = Page(render(life("0"), ServerFlags(stats=False))).names()
    assert "process_start_time_seconds" in names
    assert "http_requests_total" in names
    assert [name for name in names if name.startswith("vllm:")] == []
