"""The grammar of a line of the Prometheus text format, UTF-8 names included."""

import math

import pytest

from reporter.metrics.pages.reader import PageLimits
from tests.unit.metrics.pages.reading import PADDING, read

GOOD = {
    "no labels": (b"vllm:x 1", {}, 1),
    "a tab": (b"vllm:x\t1", {}, 1),
    "empty braces": (b"vllm:x{} 1", {}, 1),
    "empty braces, blanks": (b"vllm:x { \t} 1", {}, 1),
    "a label": (b'vllm:x{a="b"} 1', {"a": "b"}, 1),
    "no blank before the value": (b'vllm:x{a="b"}1', {"a": "b"}, 1),
    "blanks everywhere": (b' vllm:x\t{ a = "b" ,\tc\t=\t"d" } \t 1 ', {"a": "b", "c": "d"}, 1),
    "trailing comma": (b'vllm:x{a="b",} 1', {"a": "b"}, 1),
    "trailing comma, blanks": (b'vllm:x{a="b" , } 1', {"a": "b"}, 1),
    "empty value of a label": (b'vllm:x{a=""} 1', {"a": ""}, 1),
    "closing brace in quotes": (b'vllm:x{a="/v1/{id}"} 1', {"a": "/v1/{id}"}, 1),
    "what ends a line, in quotes": (b'vllm:x{a="b} 2",c="} 3"} 1', {"a": "b} 2", "c": "} 3"}, 1),
    "comma, equals, hash, blank": (b'vllm:x{a="b,c=d # e"} 1', {"a": "b,c=d # e"}, 1),
    "escapes": (rb'vllm:x{a="\\ \" \n"} 1', {"a": '\\ " \n'}, 1),
    "even backslashes end it": (rb'vllm:x{a="b\\",c="d"} 1', {"a": "b\\", "c": "d"}, 1),
    "odd backslashes do not": (rb'vllm:x{a="b\\\"} 2"} 1', {"a": 'b\\"} 2'}, 1),
    "unknown escape": (rb'vllm:x{a="\d\t"} 1', {"a": r"\d\t"}, 1),
    "quoted label name": (b'vllm:x{"a.b"="c"} 1', {"a.b": "c"}, 1),
    "escape in a quoted label name": (rb'vllm:x{"a\"b"="c"} 1', {'a"b': "c"}, 1),
    "timestamp": (b'vllm:x{a="b"} 1 1786499942318', {"a": "b"}, 1),
    "negative timestamp": (b"vllm:x 1 -5", {}, 1),
    "timestamp of OpenMetrics": (b"vllm:x 1 1786499942.318", {}, 1),
    "exemplar": (b'vllm:x{a="b"} 1 # {trace="} 9"} 0.5 1786499942.3', {"a": "b"}, 1),
    "exemplar after a timestamp": (b'vllm:x{a="b"} 1 17 # {} 0.5', {"a": "b"}, 1),
    "exemplar without labels before": (b'vllm:x 1 # {trace="x"} 0.5', {}, 1),
    "a bad exemplar": (b'vllm:x{a="b"} 1 # {"', {"a": "b"}, 1),
    "carriage return": (b'vllm:x{a="b"} 1\r', {"a": "b"}, 1),
    "carriage return, no labels": (b"vllm:x 1\r", {}, 1),
    "exponent": (b"vllm:x 1.7865e+09", {}, 1.7865e9),
    "exponent without sign": (b"vllm:x -1E3", {}, -1000),
    "no digit behind the point": (b"vllm:x 5.", {}, 5),
    "no digit before the point": (b"vllm:x +.5", {}, 0.5),
    "infinite": (b"vllm:x +Inf", {}, math.inf),
    "infinite, small": (b"vllm:x -inf", {}, -math.inf),
    "infinite, no sign": (b'vllm:x{a="b"} INF', {"a": "b"}, math.inf),
    "too large for a float": (b"vllm:x 1e999", {}, math.inf),
    "bytes that are no UTF-8": (b'vllm:x{a="\xff"} 1', {"a": b"\xff"}, 1),
    "line breaks of Unicode": ('vllm:x{a="\v\f\x1c\x85\u2028"} 1'.encode(), {"a": "\v\f\x1c\x85\u2028"}, 1),
}  # fmt: skip

BAD = {
    "no value": b'vllm:x{a="b"}',
    "no value, a blank": b'vllm:x{a="b"} ',
    "name alone": b"vllm:x",
    "name and blank": b"vllm:x ",
    "no closing brace": b'vllm:x{a="b" 1',
    "open quote": b'vllm:x{a="b} 1',
    "no quotes": b"vllm:x{a=b} 1",
    "raw quote": b'vllm:x{a="my "best" model"} 1',
    "raw quote at the end": b'vllm:x{a="b""} 1',
    "two commas": b'vllm:x{a="b",,c="d"} 1',
    "a comma alone": b"vllm:x{,} 1",
    "no comma": b'vllm:x{a="b" c="d"} 1',
    "colon in a label name": b'vllm:x{a:b="c"} 1',
    "digit first in a label name": b'vllm:x{1a="c"} 1',
    "duplicate label": b'vllm:x{a="b",a="c"} 1',
    "second name": b'vllm:x{"vllm:y"} 1',
    "bare label": b"vllm:x{a} 1",
    "underscore": b"vllm:x 1_000",
    "underscore, labels": b'vllm:x{a="b"} 1_000',
    "hexadecimal": b"vllm:x 0x1p3",
    "in full": b"vllm:x infinity",
    "digits that are no ASCII": "vllm:x ٣".encode(),
    "words": b"vllm:x one",
    "sign alone": b"vllm:x -",
    "signed NaN": b"vllm:x -nan",
    "text behind the value": b"vllm:x 1 one",
    "text behind the timestamp": b"vllm:x 1 2 3",
    "exemplar without a blank": b"vllm:x 1# {}",
    "carriage return inside": b'vllm:x{a="b"}\r1',
    "two carriage returns": b"vllm:x 1\r\r",
    "a form feed for a blank": b"vllm:x\f1",
    "a quote first": b'"vllm:x" 1',
    "a digit first": b"1vllm:x 1",
    "HTML": b"<p>vllm:x 1</p>",
}

SKIPPED = {
    "blank": b"",
    "blanks": b" \t ",
    "carriage return": b"\r",
    "comment": b"# vllm:x 1",
    "comment after blanks": b"  # vllm:x 1",
    "comment without blank": b"#vllm:x 1",
    "HELP with quotes and braces": b'# HELP vllm:x "{a="b"} 1',
    "HELP without text": b"# HELP vllm:x",
    "end of OpenMetrics": b"# EOF",
    "quoted name": b'{"vllm:x",a="b"} 1',
    "quoted name after blanks": b' {"my.metric"} 1',
    "longer name": b"vllm:x_by_reason 1",
    "longer name, labels": b'vllm:x_by_reason{a="b"} 1',
    "shorter name": b'vllm:{a="b"} 1',
    "other case": b'vllm:X{a="b"} 1',
}


def labelled(labels) -> dict:
    return {
        name.encode(): value if isinstance(value, bytes) else value.encode()
        for name, value in labels.items()
    }


@pytest.mark.parametrize("name", GOOD)
def test_good(name):
    """A line that the format allows is read, wherever it stands."""
    line, labels, value = GOOD[name]
    bodies = {
        "first": line + b"\n" + PADDING,
        "middle": PADDING + line + b"\n" + PADDING,
        "last": PADDING + line + b"\n",
        "last, no newline": PADDING + line,
        "alone": line,
    }
    pages = {place: read(body, "vllm:x") for place, body in bodies.items()}
    found = {
        place: ([(labels.kept, value) for _, labels, value in page.samples], page.bad)
        for place, page in pages.items()
    }
    assert found == dict.fromkeys(bodies, ([(labelled(labels), value)], 0))


def test_nan():
    found = read(b'vllm:x NaN\nvllm:x{a="b"} nan\nvllm:x nAn', "vllm:x")
    assert [math.isnan(value) for _, _, value in found.samples] == [True] * 3


@pytest.mark.parametrize("name", BAD)
def test_bad(name):
    """A line that is not of the format is dropped and counted, and its neighbours stay."""
    good = b'vllm:x{a="good"} 7\n'
    line = BAD[name] + b"\n"
    for body in (line + good, good + line):
        found = read(body + PADDING, "vllm:x")
        assert [value for _, _, value in found.samples] == [7]
        assert found.bad == 1


@pytest.mark.parametrize("name", SKIPPED)
def test_skipped(name):
    """What is no sample of a wanted name is passed by without a word."""
    found = read(b"vllm:x 7\n" + SKIPPED[name] + b"\n" + PADDING, "vllm:x")
    assert [value for _, _, value in found.samples] == [7]
    assert found.bad == found.oversized == 0


LIMITS = PageLimits(line_bytes=200, labels=2, value_bytes=10)

OVERSIZED = {
    "long line": b'vllm:x{a="b"} 1' + b" " * 200,
    "long comment": b"# " + b"x" * 200,
    "long line of another name": b'other{a="' + b"b" * 200 + b'"} 1',
    "labels": b'vllm:x{a="b",c="d",e="f"} 1',
    "long value": b'vllm:x{a="12345678901"} 1',
}


@pytest.mark.parametrize("name", OVERSIZED)
def test_oversized(name):
    """A line over a limit is dropped and counted; it does not make the page unreadable."""
    body = b'vllm:x{a="1234567890",b=""} 7\n' + OVERSIZED[name] + b"\n"
    found = read(body, "vllm:x", limits=LIMITS)
    assert [value for _, _, value in found.samples] == [7]
    assert (found.bad, found.oversized, found.lines) == (0, 1, 2)


def test_longest_line():
    line = b'vllm:x{a="b"} 1'
    longest = line + b" " * (LIMITS.line_bytes - len(line))
    assert len(read(longest, "vllm:x", limits=LIMITS).samples) == 1
    assert len(read(longest + b"\n" + line, "vllm:x", limits=LIMITS).samples) == 2
