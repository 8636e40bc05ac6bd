"""Each misbehaviour, as a plain client sees it."""

import gzip
from collections.abc import AsyncIterator, Callable

import pytest

from lab.simulation import Misbehaviour, ModelPod
from tests.unit.lab.simulation.plain_client import Received, get
from tests.unit.lab.simulation.reading_pages import Page

M = Misbehaviour
MIB = 1024 * 1024


@pytest.fixture(name="pod")
async def _pod() -> AsyncIterator[ModelPod]:
    async with ModelPod() as pod:
        yield pod


def short(received: Received) -> bool:
    """Whether less came than was announced."""
    return len(received.body) < int(received.header("Content-Length") or 0)


SEEN: dict[Misbehaviour, tuple[str, Callable[[Received], bool]]] = {
    M.HANG: ("waiting", lambda got: not got.head),
    M.HANG_MIDWAY: ("waiting", short),
    M.RESET_AT_ONCE: ("reset", lambda got: not got.head),
    M.RESET_MIDWAY: ("reset", short),
    M.CLOSE_AT_ONCE: ("closed", lambda got: not got.head),
    M.SLOW_DRIP: ("waiting", lambda got: 0 < len(got.body) < 5),
    M.ENDLESS_BODY: ("enough", lambda got: len(got.body) > 15 * MIB),
    M.HUGE_PAGE: ("closed", lambda got: len(got.body) > 12 * MIB and not short(got)),
    M.LONG_LINE: ("closed", lambda got: max(map(len, got.body.split(b"\n"))) > MIB),
    M.LONG_HEADER: ("closed", lambda got: len(got.head) > MIB),
    M.GZIP_BOMB: ("closed", lambda got: len(got.body) < MIB // 8 and len(gzip.decompress(got.body)) == 64 * MIB),
    M.TRUNCATED: ("closed", short),
    M.TRUNCATED_CHUNKED: ("closed", lambda got: not got.body.endswith(b"0\r\n\r\n")),
    M.NUL: ("closed", lambda got: got.body.count(b"\x00") == 1),
    M.BAD_LINES: ("closed", lambda got: got.body.count(b"1_0\n") == 1000),
    M.EMPTY: ("closed", lambda got: (got.status, got.body) == (200, b"")),
    M.NOT_HTTP: ("closed", lambda got: not got.head.startswith("HTTP")),
    M.HTML: ("closed", lambda got: got.header("Content-Type") == "text/html"),
    M.UNAVAILABLE: ("closed", lambda got: got.status == 503),
    M.NOT_FOUND: ("closed", lambda got: got.status == 404),
    M.REDIRECT: ("closed", lambda got: got.header("Location") == "http://192.0.2.1/"),
}  # fmt: skip


def test_complete():
    """Every misbehaviour is looked at."""
    assert set(SEEN) == set(Misbehaviour)


@pytest.mark.parametrize("kind", list(Misbehaviour))
async def test_seen(pod: ModelPod, kind: Misbehaviour):
    """A client sees what the misbehaviour says, and a right page when it is over."""
    pod.misbehave(kind, location="http://192.0.2.1/")
    ended, looks_so = SEEN[kind]
    # A drip has less than the patience between two bytes; all else that waits sends nothing.
    patience = 0.15 if ended == "waiting" else 5.0
    first = 0.15 if kind == M.HANG else 5.0
    got = await get(pod, patience=patience, first=first, limit=16 * MIB)
    assert got.ended == ended
    assert looks_so(got)
    pod.misbehave(None)
    assert Page((await get(pod)).body.decode()).sum("vllm:num_requests_running") == 9
