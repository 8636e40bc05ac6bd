"""A short run of `make fuzz`, the same each time."""

import random
from itertools import islice

import pytest

from tests.fuzz import pages
from tests.fuzz.mutation import mutations


@pytest.mark.parametrize("seed", range(4))
def test_pages(seed):
    """Nothing but the documented error comes out, and nothing that rules must not be given."""
    for data in islice(mutations(pages.SEEDS, pages.TOKENS, random.Random(seed)), 500):
        pages.check(data)


@pytest.mark.parametrize("seed", range(2))
def test_small_pages(seed):
    """The same for pages of a line or two, where more of the changes matter."""
    small = [each for each in pages.SEEDS if len(each) < 1_000]
    for data in islice(mutations(small, pages.TOKENS, random.Random(seed)), 5_000):
        pages.check(data)


NAME = b"vllm:num_requests_running"
SLOW = {
    "blanks": NAME + b"{" + b" " * 60_000,
    "blanks behind a label": NAME + b"{a" + b" " * 60_000 + b"x",
    "blanks behind the value": NAME + b" 1" + b" " * 60_000 + b"x",
    "backslashes": NAME + b'{a="' + b"\\" * 60_000,
    "escaped quotes": NAME + b'{a="' + b'\\"' * 30_000,
    "quotes": NAME + b"{" + b'"' * 60_000,
    "commas": NAME + b"{" + b"," * 60_000,
    "ends of labels": NAME + b'{a="' + b'"} ' * 20_000 + b"1",
    "digits": NAME + b" " + b"9" * 60_000 + b"x",
    "labels": NAME + b"{" + b'a="b",' * 10_000 + b"} 1",
    "names": b"vllm:" * 12_000,
    "carriage returns": b"\r" * 60_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_slow(name):
    """Time is bounded for each byte: lines made to be slow cost no more than others."""
    pages.check((SLOW[name][: pages._LIMITS.line_bytes] + b"\n") * 60)
