"""The list of metrics in an InferenceSet's scaling annotation, as the scaler reads it."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

import yaml

from reporter.model.text import clean, cut
from reporter.model.yaml_text import UNREADABLE

_MAX_CHARACTERS: Final = 16_384
_MAX_DEPTH: Final = 10
_MAX_EVENTS: Final = 2_000
_MAX_FAULTS: Final = 10
_TYPES: Final = ("gauge", "histogram")
_SOURCES: Final = ("", "modelpod", "epp")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_]")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$")

_Entry: TypeAlias = Mapping[str, object]


class _Loader(yaml.SafeLoader):
    """A safe loader that reads `1e3` as a number, as the scaler does; PyYAML takes it for text."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


@lru_cache(maxsize=4096)
def metrics_faults(text: str, *, scale_to_zero: bool) -> tuple[str, ...]:
    """Return what the scaler refuses in its `metrics` annotation, at most ten of it.

    A text that is very long, deeply nested or uses aliases is not judged: reading it could take
    any time.

    Args:
        text: a YAML list, empty where the annotation is not set.
        scale_to_zero: the least number of replicas is 0, so that thresholds may be left out.

    """
    try:
        if not _is_readable(text):
            return ()
        document: object = yaml.load(text, _Loader)  # noqa: S506 - derived from the safe loader
    except UNREADABLE:
        return ("metrics is not valid YAML",)
    if document is None or document == []:
        return ("metrics is empty",)
    if not isinstance(document, list):
        return ("metrics is not a list",)
    return tuple(_faults(document, scale_to_zero=scale_to_zero))[:_MAX_FAULTS]


def _is_readable(text: str) -> bool:
    """Tell whether a text can be read in little time and memory."""
    if len(text) > _MAX_CHARACTERS:
        return False
    depth = 0
    for count, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _MAX_DEPTH or count > _MAX_EVENTS:
            return False
    return True


def _faults(document: list[object], *, scale_to_zero: bool) -> Iterator[str]:
    variables: dict[str, str] = {}
    for index, item in enumerate(document):
        if not isinstance(item, dict):
            yield f"metrics[{index}] is not a mapping"
            continue
        entry = {_text(key).lower(): value for key, value in item.items()}
        name = entry.get("name")
        if name is None or isinstance(name, (list, dict)) or not _text(name):
            yield f"metrics[{index}] has no name"
            continue
        title = f"metric {_short(name)}"
        variable = _FOREIGN.sub("_", _text(name))
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
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and _is_finite(value):
            numbers[key] = value
        else:
            yield f"{title}: {key} {_short(value)} is not a finite number"
    up, down = numbers.get("upthreshold"), numbers.get("downthreshold")
    if up is not None and up <= 0:
        yield f"{title}: upthreshold {_short(up)} is not above 0"
    if up is not None and down is not None and down > up:
        yield f"{title}: downthreshold {_short(down)} is above upthreshold {_short(up)}"


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _short(value: object) -> str:
    return cut(clean(_text(value)), 80)


def _text(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return "(too long)"
