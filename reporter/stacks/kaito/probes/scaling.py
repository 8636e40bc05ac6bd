"""Annotations that KAITO's scaler refuses, and its ScaledObjects that KEDA rejects."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from reporter.catalogue.resources import SCALEDOBJECTS
from reporter.model.finding import Finding
from reporter.model.subject import CLUSTER
from reporter.model.text import clean, cut, remembered
from reporter.probes.scope import Scope
from reporter.served.scaledobjects import rejection
from reporter.stacks.kaito.objects import InferenceSet
from reporter.stacks.kaito.probes.scope import InferenceSetScope
from reporter.stacks.kaito.reasons import CLUSTER_KEDA_SCALER, INFERENCESETS, MODEL_SCALING
from reporter.workload.components import components, managed_namespaces, namespace_ref
from reporter.yaml_reader.limits import BeyondLimits, Limits, Unreadable
from reporter.yaml_reader.reading import read_yaml

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_INT32_MAX: Final = 2**31 - 1


def probe_scaling(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield one finding that lists all values with which scaling can never work.

    If the scaler itself is missing, only its cluster reason reports that.
    """
    if scope.object.scaling.auto_provision != "true":
        return
    faults = tuple(_faults(scope.object))
    if not faults:
        return
    yield scope.finding(
        reason=MODEL_SCALING,
        related=INFERENCESETS.ref(scope.object),
        cause=faults[0],
        text="; ".join(faults),
        severity=len(faults),
        created=scope.object.created,
        exempt=True,
    )


def _faults(inferenceset: InferenceSet) -> Iterator[str]:
    scaling, minimum = inferenceset.scaling, _minimum(inferenceset)
    yield from _range_faults(inferenceset, minimum)
    yield from metrics_faults(scaling.metrics or "", scale_to_zero=minimum == 0)
    for name, value in (
        ("evaluationwindow", scaling.evaluation_window),
        ("scaleupcooldown", scaling.scale_up_cooldown),
        ("scaledowncooldown", scaling.scale_down_cooldown),
    ):
        number = _integer(value or "")
        if value and (number is None or not 0 <= number <= _INT32_MAX):
            yield f"{name} {_quoted(value)} is not a number of seconds"
    policy = scaling.combine_policy or "AND"
    if policy.upper() != "AND":
        yield f"combinepolicy {_quoted(policy)} is not AND"


def _minimum(inferenceset: InferenceSet) -> int:
    """Return the least number of replicas; the scaler uses 1 if it does not understand the value.

    An explicit 0 asks for scaling to zero, which newer scalers support.
    """
    minimum = _integer(inferenceset.scaling.min_replicas or "")
    return 1 if minimum is None or minimum < 0 else minimum


def _range_faults(inferenceset: InferenceSet, minimum: int) -> Iterator[str]:
    text = inferenceset.scaling.max_replicas
    limit = inferenceset.spec.node_count_limit or 0
    if text is None:
        if limit <= 0:
            yield "max-replicas and spec.nodeCountLimit are not set"
            return
        maximum, name = limit, f"spec.nodeCountLimit {limit}"  # a replica has at least one node
    else:
        number = _integer(text)
        if number is None:
            yield f"max-replicas {_quoted(text)} is not an integer"
            return
        if number <= min(1, minimum):
            yield f"max-replicas {number} is not above {min(1, minimum)}"
        maximum, name = number, f"max-replicas {number}"
    if maximum < minimum:
        yield f"{name} is below min-replicas {minimum}"
    if maximum < inferenceset.wanted:
        yield f"{name} is below spec.replicas {inferenceset.wanted}"


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) else None


def _quoted(text: str) -> str:
    return f'"{cut(clean(text), 60)}"'


_LIMITS: Final = Limits(size=16_384, depth=10, nodes=2_000, aliases=0)
_MAX_FAULTS: Final = 10
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_]")

_Entry: TypeAlias = Mapping[str, object]


@remembered(4096, characters=2048)
def metrics_faults(text: str, *, scale_to_zero: bool) -> tuple[str, ...]:
    """Return the faults for which the scaler refuses its `metrics` annotation, at most ten.

    A text that is very long, deeply nested or uses aliases is not judged: any tenant may write
    one, and it is read in each pass that judges an InferenceSet.

    Args:
        text: a YAML list; empty if the annotation is not set.
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
    return tuple(_metric_faults(document, scale_to_zero=scale_to_zero))[:_MAX_FAULTS]


def _metric_faults(document: list[object], *, scale_to_zero: bool) -> Iterator[str]:
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
    if entry.get("type") not in ("gauge", "histogram"):
        yield f"{title}: type is neither gauge nor histogram"
    if (entry.get("source") or "") not in ("", "modelpod", "epp"):
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


_SEVERITY: Final = 5
"""Lower than for a scaler that does not run."""


def probe_scaled_objects(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each ScaledObject of an InferenceSet that KEDA rejected.

    The scaler names a ScaledObject after its InferenceSet. ScaledObjects of others, and those that
    are paused, inactive or in fallback, are ignored.
    """
    scalers = (each for each in components(scope.settings) if each.reason == CLUSTER_KEDA_SCALER)
    component = next(scalers, None)
    if component is None:
        return
    snapshot = scope.snapshot
    for namespace in managed_namespaces(snapshot):
        for scaled in snapshot[SCALEDOBJECTS].in_namespace(namespace.name):
            rejected = rejection(scaled, snapshot)
            owner = snapshot[INFERENCESETS].get(scaled.namespace, scaled.name)
            if rejected is None or owner is None or owner.deleting:
                continue
            ready, why = rejected
            title = f"ScaledObject {scaled.namespace}/{scaled.name}"
            yield Finding(
                reason=CLUSTER_KEDA_SCALER,
                subject=CLUSTER,
                involved=namespace_ref(snapshot, component.home(snapshot)),
                related=SCALEDOBJECTS.ref(scaled),
                message=clean(f"{title} was rejected by KEDA: {why}"),
                cause=f"{title} rejected",
                severity=_SEVERITY,
                transition=ready.last_transition_time,
                created=scaled.created,
            )
