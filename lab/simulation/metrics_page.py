"""The page of metrics that a model pod serves at one moment of its life."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from lab.simulation.engine import EngineTotals
from lab.simulation.exposition import (
    ExposedSeries,
    Metric,
    multiprocess_text,
    python_text,
    rust_text,
)
from lab.simulation.families import (
    ENGINE_FAMILIES,
    PYTHON_TOKEN_BOUNDS,
    RUST_TOKEN_BOUNDS,
    V0_NAMES,
    Feature,
    FrontEndFamily,
    Labels,
    LabelScope,
)
from lab.simulation.phases import Download
from lab.simulation.pod_life import Life
from lab.simulation.process import (
    CACHE_CONFIG,
    http_metrics,
    kaito_metrics,
    process_metrics,
    tool_call_metrics,
)


class FrontEnd(StrEnum):
    """Which server of vLLM writes the page, and how."""

    PYTHON = "python"
    MULTIPROCESS = "multiprocess"
    """Several API processes, the default with several engines."""

    RUST = "rust"
    V0 = "v0"
    """Before vLLM 0.8: other names, no label `engine`, no `_created`."""


_TEXT: Final = "text/plain; version=1.0.0; charset=utf-8"
CONTENT_TYPES: Final = {
    FrontEnd.PYTHON: _TEXT,
    FrontEnd.MULTIPROCESS: _TEXT,
    FrontEnd.RUST: "application/openmetrics-text; version=1.0.0; charset=utf-8",
    FrontEnd.V0: "text/plain; version=0.0.4; charset=utf-8",
}
_WRITERS: Final = {
    FrontEnd.PYTHON: python_text,
    FrontEnd.MULTIPROCESS: multiprocess_text,
    FrontEnd.RUST: rust_text,
    FrontEnd.V0: multiprocess_text,
}

USUAL_FEATURES: Final = frozenset(
    {Feature.WAITING_BY_REASON, Feature.NAN_CHECK, Feature.FAULT_TOLERANCE}
    | {Feature.ADMISSION_LIMITS, Feature.NIXL}
)
"""What the simulated faults need to be seen."""


@dataclass(frozen=True, slots=True)
class ServerFlags:
    """How a pod's server was started.

    Attributes:
        adapters: running and waiting LoRA adapters, one entry per combination that occurred.
        kaito: whether KAITO wraps it and adds its metrics.
        stats: false as with `--disable-log-stats`: no `vllm:` metric.
        tool_calls: whether a tool parser is on.
    """

    model_name: str = "meta-llama/Llama-3.1-8B-Instruct"
    front_end: FrontEnd = FrontEnd.PYTHON
    features: frozenset[Feature] = USUAL_FEATURES
    adapters: tuple[tuple[str, str], ...] = ()
    kaito: bool = True
    stats: bool = True
    tool_calls: bool = False


def render(life: Life, server: ServerFlags) -> str:
    """Return the page as text: the download page while weights download, else vLLM's."""
    if isinstance(life.behaviour, Download):
        return python_text([*process_metrics(life), *kaito_metrics(life)])
    return _WRITERS[server.front_end](_metrics(life, server))


def _metrics(life: Life, server: ServerFlags) -> Iterator[Metric]:
    if server.front_end is FrontEnd.PYTHON:
        yield from process_metrics(life)
    if server.stats:
        yield from _engine_metrics(life, server)
    yield from http_metrics(life, rust=server.front_end is FrontEnd.RUST)
    if server.kaito:
        yield from kaito_metrics(life)
    if server.stats and server.tool_calls and server.front_end is not FrontEnd.RUST:
        yield from tool_call_metrics(life, server.model_name)


def _engine_metrics(life: Life, server: ServerFlags) -> Iterator[Metric]:
    for family in ENGINE_FAMILIES:
        if _is_served(family, server):
            yield _metric(_as_written(family, server.front_end), family.name, life, server=server)
    if server.adapters:
        yield _adapters(life, server)
    if server.front_end in {FrontEnd.PYTHON, FrontEnd.MULTIPROCESS}:
        series = (ExposedSeries((("engine", rank), *CACHE_CONFIG), 1.0) for rank in life.engines)
        yield Metric("vllm:cache_config_info", "gauge", "KV cache settings.", tuple(series))


def _is_served(family: FrontEndFamily, server: ServerFlags) -> bool:
    match server.front_end:
        case FrontEnd.RUST:
            exists = family.rust
        case FrontEnd.V0:
            exists = family.feature is None and family.name != "vllm:engine_sleep_state"
        case _:
            exists = True
    return exists and (family.feature is None or family.feature in server.features)


def _as_written(family: FrontEndFamily, front_end: FrontEnd) -> FrontEndFamily:
    if front_end is FrontEnd.V0:
        return replace(family, name=V0_NAMES.get(family.name, family.name))
    if front_end is FrontEnd.RUST and family.bounds is PYTHON_TOKEN_BOUNDS:
        return replace(family, bounds=RUST_TOKEN_BOUNDS)
    return family


def _metric(family: FrontEndFamily, key: str, life: Life, *, server: ServerFlags) -> Metric:
    """Return the metric of `family`; engines know it as `key`."""
    series: list[ExposedSeries] = []
    if family.scope is LabelScope.MODEL:
        created = life.process_started
        for extra in family.extra:
            value = sum(engine.total(key, _value_of(extra)) for engine in life.engines.values())
            series.append(
                ExposedSeries((("model_name", server.model_name), *extra), value, created)
            )
    else:
        for rank, engine in life.engines.items():
            series.extend(_engine_series(family, key, _common(family, rank, server), engine=engine))
    if server.front_end is FrontEnd.RUST and family.name == "vllm:request_success_total":
        # The Rust front end makes these when they are first counted.
        series = [each for each in series if each.value]
    return Metric(family.name, family.kind, family.help, tuple(series), family.bounds)


def _engine_series(
    family: FrontEndFamily, key: str, common: Labels, *, engine: EngineTotals
) -> Iterator[ExposedSeries]:
    if family.kind == "histogram":
        yield ExposedSeries(common, engine.histogram(key, family.bounds), engine.created)
        return
    values = engine.values()
    for extra in family.extra:
        value = float(values.get((key, _value_of(extra)), 0.0))
        yield ExposedSeries((*common, *extra), value, engine.created)


def _value_of(extra: Labels) -> str:
    return extra[0][1] if extra else ""


def _common(family: FrontEndFamily, rank: str, server: ServerFlags) -> Labels:
    if family.scope is LabelScope.ENGINE_ONLY:
        return (("engine", rank),)
    model: Labels = (("model_name", server.model_name),)
    return model if server.front_end is FrontEnd.V0 else (("engine", rank), *model)


def _adapters(life: Life, server: ServerFlags) -> Metric:
    limit: Labels = () if server.front_end is FrontEnd.RUST else (("max_lora", "4"),)
    series = tuple(
        ExposedSeries(
            (*limit, ("running_lora_adapters", running), ("waiting_lora_adapters", waiting)),
            life.process_started + seconds,
        )
        for seconds, (running, waiting) in enumerate(server.adapters)
    )
    return Metric("vllm:lora_requests_info", "gauge", "LoRA adapters; Unix time.", series)
