"""What reading one page costs, beside prometheus-client's parser on the same page in the same run."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from reporter.metrics.pages.names import KEPT_LABELS, WANTED
from reporter.metrics.pages.reader import PageReader, PageSamples
from reporter.metrics.pages.reading import read_page

PAGE: Final = Path(__file__).parents[1] / "data" / "pages" / "vllm-v1-metrics.txt"
_AIM: Final = 25.0
_ROUNDS: Final = 40
_PAGES_A_ROUND: Final = 20


@dataclass(frozen=True, slots=True)
class Reading:
    """Processor seconds for one page.

    Attributes:
        size: of the page, bytes.
        parser: prometheus-client's parser, all families.
        samples: the reader, the values of wanted names; labels seen before, as on all but the
            first page of a pod.
        first: the same with labels never seen before.
        page: `read_page`, bytes to typed values.
        equal: whether the values of wanted names equal the parser's.

    """

    size: int
    parser: float
    samples: float
    first: float
    page: float
    equal: bool


def measure(path: Path = PAGE) -> Reading:
    """Measure; rounds take turns, so that a machine that changes its pace hits all alike."""
    body = path.read_bytes()
    text = body.decode()
    reader = _new_reader()
    fresh = [_new_reader() for _ in range(_ROUNDS)]
    rounds = [
        (
            _seconds(lambda: list(text_string_to_metric_families(text)), 1),
            _seconds(lambda: reader.read(body), _PAGES_A_ROUND),
            _seconds(lambda each=each: each.read(body), 1),
            _seconds(lambda: read_page(body), _PAGES_A_ROUND),
        )
        for each in fresh
    ]
    parser, samples, first, page = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    return Reading(len(body), parser, samples, first, page, _equal(reader.read(body), text))


def render(reading: Reading) -> str:
    """Return the numbers as text."""
    lines = [
        f"one page of {reading.size} bytes; values "
        + ("equal to prometheus-client's" if reading.equal else "DIFFER from prometheus-client's"),
        _line("prometheus-client, all families", reading.parser, reading),
        _line("reader, wanted values", reading.samples, reading, aimed=True),
        _line("  with labels not seen before", reading.first, reading),
        _line("read_page, typed values", reading.page, reading, aimed=True),
    ]
    return "\n".join(lines)


def _line(name: str, seconds: float, reading: Reading, *, aimed: bool = False) -> str:
    ratio = reading.parser / seconds
    verdict = f"  >= {_AIM:g}  {'met' if ratio >= _AIM else 'NOT met'}" if aimed else ""
    return (
        f"{name:36} {seconds * 1000:8.3f} ms {1 / seconds:8.0f} pages/s "
        f"{reading.size / seconds / 1e6:8.1f} MB/s {ratio:6.1f} x{verdict}"
    )


def _new_reader() -> PageReader[str]:
    return PageReader({name: name.decode() for name in WANTED}, KEPT_LABELS)


def _seconds(call: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) / times


def _equal(found: PageSamples[str], text: str) -> bool:
    kept = {name.decode() for name in KEPT_LABELS}
    expected = [
        (each.name, sorted((k, v) for k, v in each.labels.items() if k in kept), float(each.value))
        for family in text_string_to_metric_families(text)
        for each in family.samples
        if each.name.encode() in WANTED
    ]
    read = [
        (name, sorted((k.decode(), v.decode()) for k, v in labels.kept.items()), value)
        for name, labels, value in found.samples
    ]
    return sorted(read) == sorted(expected)
