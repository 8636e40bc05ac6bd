"""The list of metrics in an InferenceSet's scaling annotation, as the scaler reads it."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from reporter.model.text import clean, cut
from reporter.yaml_reader.limits import BeyondLimits, Limits, Unreadable
from reporter.yaml_reader.reading import read_yaml

_LIMITS: Final = Limits(size=16_384, depth=10, nodes=2_000, aliases=0)
_MAX_FAULTS: Final = 10
_TYPES: Final = ("gauge", "histogram")
_SOURCES: Final = ("", "modelpod", "epp")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_]")

_Entry: TypeAlias = Mapping[str, object]


@lru_cache(maxsize=4096)
def metrics_faults(text: str, *, scale_to_zero: bool) -> tuple[str, ...]:
    """Return what the scaler refuses in its `metrics` annotation, at most ten of it.

    A text that is very long, deeply nested or uses aliases is not judged: any tenant may write
    one, and it is read in each pass that judges an InferenceSet.

    Args:
        text: a YAML list, empty where the annotation is not set.
        scale_to_zero: the least number of replicas is 0, so that thresholds may be left out.

    """
    try:
        document = read_yaml(text, limits=_LIMITS)
    except BeyondLimits:
        return ()
    except Unreadable:
        return ("metrics is not valid YAML",)
    if document is None or document == []:
        return ("metrics is empty",)
    if not isinstance(document, list):
        return ("metrics is not a list",)
    return tuple(_faults(document, scale_to_zero=scale_to_zero))[:_MAX_FAULTS]


def _faults(document: list[object], *, scale_to_zero: bool) -> Iterator[str]:
    variables: dict[str, str] = {}
    for index, item in enumerate(document):
        if not isinstance(item, dict):
            yield f"metrics[{index}] is not a mapping"
            continue
        entry = {str(key).lower(): value for key, value in item.items()}
        name = entry.get("name")
        if name is None or isinstance(name, (list, dict)) or not str(name):
            yield f"metrics[{index}] has no name"
            continue
        title = f"metric {_short(name)}"
        variable = _FOREIGN.sub("_", str(name))
        if variable in variables:
            yield f"{title} collides with {variables[variable]}"
        variables.setdefault(variable, _short(name))
        yield from _entry_faults(title, entry, scale_to_zero=scale_to_zero)


def _entry_faults(title: str, entry: _Entry, *, scale_to_zero: bool) -> Iterator[str]:
    if entry.get("type") not in _TYPES:
        yield f"{title}: type is neither gauge nor histogram"
    if (entry.get("source") or "") not in _SOURCES:
        yield f"{title}: source {_short(entry.get('source'))} is unknown"
    yield from _threshold_faults(title, entry, scale_to_zero=scale_to_zero)
    window = entry.get("metriccachewindow")
    if window is None:
        return
    if entry.get("type") == "gauge":
        yield f"{title}: metriccachewindow is for histograms only"
    elif not isinstance(window, int) or isinstance(window, bool) or window <= 0:
        yield f"{title}: metriccachewindow {_short(window)} is not a positive number of seconds"


def _threshold_faults(title: str, entry: _Entry, *, scale_to_zero: bool) -> Iterator[str]:
    numbers: dict[str, float] = {}
    for key in ("upthreshold", "downthreshold"):
        value = entry.get(key)
        if value is None:
            if not scale_to_zero:
                yield f"{title}: {key} is missing"
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers[key] = value
        else:
            yield f"{title}: {key} {_short(value)} is not a finite number"
    up, down = numbers.get("upthreshold"), numbers.get("downthreshold")
    if up is not None and up <= 0:
        yield f"{title}: upthreshold {_short(up)} is not above 0"
    if up is not None and down is not None and down > up:
        yield f"{title}: downthreshold {_short(down)} is above upthreshold {_short(up)}"


def _short(value: object) -> str:
    return cut(clean(str(value)), 80)
