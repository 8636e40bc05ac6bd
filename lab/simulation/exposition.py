"""Metrics as text, in the three styles that vLLM's servers write."""

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client.utils import floatToGoString

from lab.simulation.engine import HistogramValue
from lab.simulation.families import Bounds, Kind, Labels

_RUST_ORDER: Final = ("le", "model_name", "engine", "method", "status", "handler")
"""Labels of the Rust front end that come first; others follow, sorted."""

_LE: Final = "\x00"
"""Stands for the value of `le` until the labels are written once for all buckets."""


@dataclass(frozen=True, slots=True)
class ExposedSeries:
    """One label set of a metric, and its value.

    Attributes:
        created: Unix seconds since when it counts; None is not told.
    """

    labels: Labels
    value: float | HistogramValue
    created: float | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A family with its values; a summary's value is a histogram without buckets."""

    name: str
    kind: Kind
    help: str
    series: tuple[ExposedSeries, ...]
    bounds: Bounds = ()


def python_text(metrics: Iterable[Metric]) -> str:
    """Return the page of the Python front end: floats, sorted labels, `_created`."""
    return "".join(line for metric in metrics for line in _python_lines(metric))


def multiprocess_text(metrics: Iterable[Metric]) -> str:
    """Return the page of several API processes: no `_created`, `_sum` first, in any order."""
    shuffled = sorted(metrics, key=lambda metric: hashlib.sha256(metric.name.encode()).digest())
    return "".join(line for metric in shuffled for line in _multiprocess_lines(metric))


def rust_text(metrics: Iterable[Metric]) -> str:
    """Return the page of the Rust front end: OpenMetrics, `le` first, values not escaped."""
    return "".join(line for metric in metrics for line in _rust_lines(metric)) + "# EOF\n"


def _python_lines(metric: Metric) -> Iterator[str]:
    yield from _head(metric.name, metric)
    for each in metric.series:
        labels = _sorted_labels(each.labels)
        if isinstance(each.value, HistogramValue):
            yield from _buckets(metric, each, each.value)
            yield f"{metric.name}_count{labels} {_number(each.value.count)}\n"
            yield f"{metric.name}_sum{labels} {_number(each.value.sum)}\n"
        else:
            yield f"{metric.name}{labels} {_number(each.value)}\n"
    if metric.kind != "gauge" and metric.series and metric.series[0].created is not None:
        created = f"{metric.name}_created"
        if metric.kind == "counter":
            created = f"{metric.name.removesuffix('_total')}_created"
        yield f"# HELP {created} {metric.help}\n# TYPE {created} gauge\n"
        for each in metric.series:
            yield f"{created}{_sorted_labels(each.labels)} {_number(each.created or 0.0)}\n"


def _multiprocess_lines(metric: Metric) -> Iterator[str]:
    yield from _head(metric.name, metric)
    for each in metric.series:
        labels = _sorted_labels(each.labels)
        if isinstance(each.value, HistogramValue):
            yield f"{metric.name}_sum{labels} {_number(each.value.sum)}\n"
            yield from _buckets(metric, each, each.value)
            yield f"{metric.name}_count{labels} {_number(each.value.count)}\n"
        else:
            yield f"{metric.name}{labels} {_number(each.value)}\n"


def _rust_lines(metric: Metric) -> Iterator[str]:
    yield from _head(metric.name.removesuffix("_total"), metric)
    for each in metric.series:
        labels = _rust_labels(each.labels)
        if isinstance(each.value, HistogramValue):
            yield f"{metric.name}_sum{labels} {each.value.sum!r}\n"
            yield f"{metric.name}_count{labels} {each.value.count}\n"
            bucket = _rust_labels((("le", _LE), *each.labels))
            for bound, reached in _reached(metric.bounds, each.value):
                yield f"{metric.name}_bucket{bucket.replace(_LE, bound)} {reached}\n"
        else:
            whole = math.isfinite(each.value) and each.value.is_integer()
            yield f"{metric.name}{labels} {int(each.value) if whole else each.value!r}\n"


def _head(type_name: str, metric: Metric) -> Iterator[str]:
    # A histogram's name may end in `_total`, which only counters lose.
    name = type_name if metric.kind == "counter" else metric.name
    yield f"# HELP {name} {metric.help}\n# TYPE {name} {metric.kind}\n"


def _buckets(metric: Metric, series: ExposedSeries, value: HistogramValue) -> Iterator[str]:
    if metric.kind == "histogram":
        labels = _sorted_labels((*series.labels, ("le", _LE)))
        for bound, reached in _reached(metric.bounds, value):
            count = _number(reached)
            yield f"{metric.name}_bucket{labels.replace(_LE, bound)} {count}\n"


def _reached(bounds: Bounds, value: HistogramValue) -> Iterator[tuple[str, int]]:
    for bound, reached in zip(bounds, value.cumulative, strict=True):
        yield _number(bound), reached
    yield "+Inf", value.count


def _number(value: float) -> str:
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]


def _sorted_labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _rust_labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{value}"' for name, value in sorted(labels, key=_rust_place))
    return f"{{{pairs}}}" if pairs else ""


def _rust_place(label: tuple[str, str]) -> tuple[int, str]:
    name, _ = label
    first = name in _RUST_ORDER
    return (_RUST_ORDER.index(name) if first else len(_RUST_ORDER), name)
