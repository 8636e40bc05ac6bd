"""The reader and prometheus-client make the same of samples, generated and recorded pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_of

from reporter.metrics.pages.names import WANTED
from reporter.metrics.pages.reading import read_page
from tests.engine.recording import RECORDED, load
from tests.hypothesis_profiles import examples
from tests.unit.metrics.pages.reading import DOWNLOAD, RUST, VLLM, all_names, ours, theirs

NAMES = tuple(name.decode() for name in WANTED)


@pytest.mark.parametrize("body", [VLLM, DOWNLOAD], ids=["vllm", "download"])
def test_samples(body):
    assert sorted(ours(body, *NAMES)) == sorted(theirs(body, *NAMES)) != []
    everything = all_names(body)
    assert sorted(ours(body, *everything)) == sorted(theirs(body, *everything)) != []


def test_rust_sample():
    """For the page of the Rust front end, against the parser of OpenMetrics."""
    for names in (NAMES, all_names(RUST)):
        expected = theirs(RUST, *names, parse=openmetrics_of)
        assert sorted(ours(RUST, *names)) == sorted(expected) != []


WANTED_NAMES = ("vllm:x", "vllm:x_total", "vllm:x_by_reason", "y")
OTHER_NAMES = ("vllm", "vllm:", "vllm:x_bucket", "x", "z:z")

blanks = st.text(" \t", max_size=2)
gap = st.sampled_from([" ", "  ", "\t", "\t\t"])
escaped = st.sampled_from([r"\\", r"\"", r"\n", r"\d", r"\\\"", r"\\n"])
literal = st.text(
    st.characters(exclude_characters='"\\\n\r\0', exclude_categories=["Cs"]), max_size=8
)
tricky = st.sampled_from(["} 1", "{", ",", "=", " # ", "# {", "a=b", "\v", "\x1c", "\u2028", "é"])
texts = st.lists(st.one_of(literal, escaped, tricky), max_size=4).map("".join)
label_names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: not name.startswith("__")
)
quoted_names = st.sampled_from(['"a.b"', '"ü"', '"c d"', r'"e\"f"', '"g"'])

floats = st.floats().map(repr).map(lambda text: text.replace("inf", "Inf").replace("nan", "NaN"))
values = st.one_of(
    floats,
    st.integers().map(str),
    st.sampled_from(["NaN", "nan", "+Inf", "-Inf", "Inf", "1e+06", "5.", ".5", "+1", "1E400"]),
)
timestamps = st.one_of(
    st.just(""), st.integers(-(10**6), 10**13).map(str), st.just("1786499942.318")
)
exemplars = st.sampled_from(["", ' # {trace_id="abc"} 0.5', " # {} 1 1786499942.3"])


@st.composite
def label_sets(draw):
    names = draw(st.lists(st.one_of(label_names, quoted_names), max_size=4, unique=True))
    if {"g", '"g"'} <= set(names):
        names.remove("g")
    labels = [
        f'{draw(blanks)}{name}{draw(blanks)}={draw(blanks)}"{draw(texts)}"{draw(blanks)}'
        for name in names
    ]
    comma = draw(st.sampled_from(["", ","])) if labels else ""
    return "{" + ",".join(labels) + comma + draw(blanks) + "}"


@st.composite
def sample_lines(draw):
    name = draw(st.sampled_from(WANTED_NAMES + OTHER_NAMES))
    labels = draw(st.one_of(st.just(""), label_sets()))
    between = draw(blanks) if labels else ""
    timestamp = draw(timestamps)
    # prometheus-client splits at blanks or else at tabs, so one page has one kind behind the value
    return "".join(
        [
            draw(blanks) if labels else "",
            name,
            between,
            labels,
            draw(gap),
            draw(values),
            f" {timestamp}" if timestamp else "",
            draw(exemplars) if labels or not timestamp else "",
            draw(st.sampled_from(["", " ", "\r"])),
        ]
    )


other_lines = st.sampled_from(
    [
        "",
        "  ",
        "# a comment",
        "#",
        '# HELP vllm:x "quotes" {braces} \\n',
        "# TYPE vllm:x gauge",
        "# TYPE y counter",
        "# TYPE vllm:x_total counter",
        "# UNIT y seconds",
        '{"my.metric",a="b"} 1',
        '{"my.metric"} 1',
        '# TYPE "my.metric" gauge',
    ]
)


@st.composite
def pages(draw):
    lines = draw(st.lists(st.one_of(sample_lines(), sample_lines(), other_lines), max_size=12))
    return "\n".join(["anchor 1", *lines]) + draw(st.sampled_from(["", "\n"]))


def renamed(series):
    """A counter declared without `_total` gets it from prometheus-client; a reader by names not."""
    return sorted((name.replace("y_total", "y"), *rest) for name, *rest in series)


@examples(4)
@given(pages())
def test_generated(page):
    expected = theirs(page.encode(), *WANTED_NAMES, "y_total")
    assert renamed(ours(page.encode(), *WANTED_NAMES)) == renamed(expected)


EVERY = 8


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_pages(path):
    """The wanted names, and all; no line is bad, and the page is one of vLLM."""
    pages = list(load(path).values())
    for body in pages[::EVERY]:
        for names in (NAMES, all_names(body)):
            assert sorted(ours(body, *names)) == sorted(theirs(body, *names)) != []
        page = read_page(body)
        assert (page.vllm, page.reading.bad, list(page.engines)) == (True, 0, ["0"])


def test_there_are_recorded_pages():
    """Else nothing is held to them."""
    assert RECORDED
