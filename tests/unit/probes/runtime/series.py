"""Engines over time, from files: one line for each scrape."""

import csv
from functools import cache
from pathlib import Path

from reporter.metrics.samples.sample import Counter
from tests.unit.probes.runtime.scraped import serving

SERIES = Path(__file__).parents[3] / "data" / "series"


def series(name: str):
    """The page of a pod at each time that a file has a line for."""
    rows = _rows(name)
    return lambda at: _page(at, rows[at])


def last_time(name: str) -> int:
    """The time of the last line of a file."""
    return int(max(_rows(name)))


@cache
def _rows(name):
    lines = (SERIES / f"{name}.csv").read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {
        float(row.pop("seconds")): {key: float(value) for key, value in row.items()} for row in rows
    }


def _page(at, row):
    counters = {
        counter: constant(row[name]) for counter in Counter if (name := counter.name.lower()) in row
    }
    gauges = {name: row[name] for name in ("running", "kv_usage")}
    return serving(at, counters, waiting=row["waiting"], capacity=row["waiting"], **gauges)


def constant(value: float):
    return lambda _: value
