"""What is no page, and how much of a page may be bad."""

import pytest

from reporter.metrics.pages.reader import PageLimits, UnreadablePage
from tests.unit.metrics.pages.reading import DOWNLOAD, PADDING, RUST, VLLM, ours, read

GOOD = b'vllm:x{a="b"} 1\n'
BAD = b"vllm:x one\n"

UNREADABLE = {
    "empty": (b"", "empty"),
    "blank": (b" \r\n\t\n", "empty"),
    "comments only": (b"# HELP a b\n# EOF\n", "no samples"),
    "byte-order mark only": (b"\xef\xbb\xbf", "no samples"),
    "HTML": (b"<!doctype html>\n<html><body>502</body></html>\n", "no samples: looks like HTML"),
    "JSON": (b'{"kind": "Status", "code": 503}\n', "no samples: looks like JSON"),
    "JSON, indented": (b'{\n  "kind": "Status"\n}\n', "no samples: looks like JSON"),
    "JSON list": (b'[{"a": 1}]', "no samples: looks like JSON"),
    "text": (b"upstream connect error\n", "no samples"),
    "one bad line alone": (BAD, "no samples"),
    "NUL": (GOOD + b"\0\n" + PADDING, "holds a NUL byte"),
    "NUL in a comment": (GOOD + b"# \0\n" + PADDING, "holds a NUL byte"),
    "UTF-16": ('vllm:x{a="b"} 1\n' * 9).encode("utf-16")
    and (('vllm:x{a="b"} 1\n' * 9).encode("utf-16"), "holds a NUL byte"),
    "over 20 bad lines": (GOOD + BAD * 21 + PADDING * 9, "too many lines are not in the format"),
    "over 1 % bad": (GOOD * 98 + BAD, "too many lines are not in the format"),
    "HTML behind a sample": (GOOD + b"<p>502</p>\n" * 2, "too many lines are not in the format"),
    "wanted by none, mostly bad": (b"a 1\n" + b"a one\n" * 9, "too many lines are not"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable(name):
    """Each failure has one short cause, and no numbers that jitter."""
    body, cause = UNREADABLE[name]
    with pytest.raises(UnreadablePage, match=cause):
        read(body, "vllm:x")


READABLE = {
    "20 bad lines": GOOD + BAD * 20 + PADDING * 9,
    "1 % bad": GOOD * 99 + BAD,
    "byte-order mark": b"\xef\xbb\xbf" + GOOD,
    "carriage returns": GOOD.replace(b"\n", b"\r\n") * 3,
    "quoted names": GOOD + b'{"my.metric",a="b"} 1\n' * 9,
}


@pytest.mark.parametrize("name", READABLE)
def test_readable(name):
    found = read(READABLE[name], "vllm:x")
    assert found.samples
    assert {value for _, _, value in found.samples} == {1}
    assert found.bad == READABLE[name].count(BAD)


@pytest.mark.parametrize("body", [b"other 1\n", b'other{a="b"} 1', b'{"my.metric"} 1\n'])
def test_nothing_wanted(body):
    assert read(body, "vllm:x").samples == []


LIMITS = {"lines": PageLimits(lines=3), "series": PageLimits(series=3)}


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
def test_limits(limit, odd):
    """A page with more lines or wanted series than allowed is refused, not cut."""
    body = GOOD.replace(b"} 1", b"} 1 5") if odd else GOOD
    assert len(read(body * 3, "vllm:x", limits=LIMITS[limit]).samples) == 3
    with pytest.raises(UnreadablePage, match=f"more than 3 {limit}"):
        read(body * 4, "vllm:x", limits=LIMITS[limit])


def test_unwanted_series():
    assert read(GOOD + PADDING, "vllm:x", limits=LIMITS["series"]).samples


def test_order():
    """Samples come in the page's order, whichever way they are read."""
    body = b'vllm:x{a="1"} 1\nvllm:x 2\nvllm:x{a="3"} 3 4\nvllm:x{a="4"} 4\n'
    assert [value for _, _, value in read(body, "vllm:x").samples] == [1, 2, 3, 4]


@pytest.mark.parametrize("body", [VLLM, RUST, DOWNLOAD])
def test_no_newline_at_the_end(body):
    names = ("http_requests_total", "kaito_model_download_remaining_seconds")
    assert ours(body.rstrip(), *names) == ours(body, *names) != []
