"""Reading pages in tests, by the reader and by prometheus-client."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from reporter.metrics.pages.reader import DEFAULT_LIMITS, PageLimits, PageReader
from reporter.metrics.pages.reading import read_page

PAGES = Path(__file__).parents[3] / "data" / "pages"
VLLM = (PAGES / "vllm-v1-metrics.txt").read_bytes()
SGLANG = (PAGES / "sglang-metrics.txt").read_bytes()
RUST = (PAGES / "vllm-rust-frontend-metrics.txt").read_bytes()
DOWNLOAD = (PAGES / "kaito-download-metrics.txt").read_bytes()

PADDING = b"other_metric 1\n" * 500
"""Enough good lines for a bad one not to make the page unreadable."""

Series = tuple[str, frozenset[tuple[str, str]], str]


class _Everything(frozenset):
    """All label names."""

    def __contains__(self, _: object) -> bool:
        return True


def read(body: bytes, *wanted: str, limits: PageLimits = DEFAULT_LIMITS):
    """Read a page, keeping all labels."""
    names = {name.encode(): name for name in wanted}
    return PageReader(names, _Everything(), limits).read(body)


def ours(body: bytes, *wanted: str) -> list[Series]:
    """Return what the reader makes of a page, in its order; values as text, so that NaN equals."""
    return [
        (
            name,
            frozenset((key.decode(), text.decode()) for key, text in labels.kept.items()),
            repr(value),
        )
        for name, labels, value in read(body, *wanted).samples
    ]


def theirs(body: bytes, *wanted: str, parse=text_string_to_metric_families) -> list[Series]:
    """Return what prometheus-client makes of it."""
    return [
        (sample.name, frozenset(sample.labels.items()), repr(float(sample.value)))
        for family in parse(body.decode())
        for sample in family.samples
        if sample.name in wanted
    ]


def all_names(body: bytes) -> set[str]:
    """Return the names of all samples of a page."""
    return {
        line.replace("{", " ").split()[0]
        for line in body.decode().splitlines()
        if not line.startswith("#")
    }


def page(*lines: str):
    """Read a page of these lines and enough others."""
    return read_page("\n".join(lines).encode() + b"\n" + PADDING)
