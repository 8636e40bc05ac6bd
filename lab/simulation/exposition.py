"""Metrics in the text format of vLLM's Python server."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client.utils import floatToGoString

from lab.simulation.engine import HistogramValue
from lab.simulation.families import Bounds, Kind, Labels

_LE: Final = "\x00"
"""Placeholder for the value of `le`, so that the labels are formatted once for all buckets."""


@dataclass(frozen=True, slots=True)
class ExposedSeries:
    """One label set of a metric, and its value.

    Attributes:
        created: when it started to count, in Unix seconds; None to leave it out.
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
    """Return the page: floats, sorted labels, `_created`."""
    return "".join(line for metric in metrics for line in _python_lines(metric))


def _python_lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n"
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
