"""Reading pages in tests, by the reader and by prometheus-client."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from reporter.metrics.pages import names
from reporter.metrics.pages.reader import DEFAULT_LIMITS, PageLimits, PageReader
from reporter.metrics.pages.reading import EngineSeries, Page, read_page

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


class Told:
    """What a page tells of an engine or of the pod, by the names of families in lower case."""

    def __init__(self, series: EngineSeries) -> None:
        self.series = series

    def __getattr__(self, name: str):
        return value(self.series, getattr(names, name.upper()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Told) and all(
            value(self.series, each) == value(other.series, each) for each in names.FAMILIES
        )

    __hash__ = None


class ToldPage(Told):
    def __init__(self, page: Page) -> None:
        super().__init__(page.pod)
        self.vllm, self.router, self.reading = page.vllm, page.router, page.reading
        self.http_requests = page.http_requests
        self.engines = {name: Told(each) for name, each in page.engines.items()}


def value(series: EngineSeries, family: names.Family):
    if family.kind is names.Kind.HISTOGRAM:
        return series.histogram(family)
    told = series.gauges if family.kind is names.Kind.GAUGE else series.counters
    return told(family) if family.labels else told(family).get("")


def told(body: bytes, limits: PageLimits = DEFAULT_LIMITS) -> ToldPage:
    return ToldPage(read_page(body, limits))


def page(*lines: str) -> ToldPage:
    """Read a page of these lines and enough others."""
    return told("\n".join(lines).encode() + b"\n" + PADDING)
