"""The metrics page of a model pod at one moment of its life."""

from collections.abc import Iterator
from typing import Final

from lab.simulation.exposition import ExposedSeries, Metric, python_text
from lab.simulation.families import ENGINE_FAMILIES, EngineFamily, Labels, LabelScope
from lab.simulation.phases import Download
from lab.simulation.pod_life import Life
from lab.simulation.process import CACHE_CONFIG, http_metrics, kaito_metrics, process_metrics

CONTENT_TYPE: Final = "text/plain; version=1.0.0; charset=utf-8"

_ENGINE: Final[Labels] = (("engine", "0"),)
_MODEL: Final[Labels] = (("model_name", "meta-llama/Llama-3.1-8B-Instruct"),)
_COMMON: Final = {
    LabelScope.ENGINE: _ENGINE + _MODEL,
    LabelScope.ENGINE_ONLY: _ENGINE,
    LabelScope.MODEL: _MODEL,
}


def render(life: Life) -> str:
    """Return the page as text: the download page while weights download, else vLLM's."""
    if isinstance(life.behaviour, Download):
        return python_text([*process_metrics(life), *kaito_metrics(life)])
    return python_text(_metrics(life))


def _metrics(life: Life) -> Iterator[Metric]:
    yield from process_metrics(life)
    for family in ENGINE_FAMILIES:
        series = tuple(_series(family, life))
        yield Metric(family.name, family.kind, family.help, series, family.bounds)
    cache = (ExposedSeries((*_ENGINE, *CACHE_CONFIG), 1.0),)
    yield Metric("vllm:cache_config_info", "gauge", "KV cache settings.", cache)
    yield from http_metrics(life)
    yield from kaito_metrics(life)


def _series(family: EngineFamily, life: Life) -> Iterator[ExposedSeries]:
    engine, common = life.engine, _COMMON[family.scope]
    if family.kind == "histogram":
        yield ExposedSeries(common, engine.histogram(family.name, family.bounds), engine.created)
        return
    values = engine.values()
    for extra in family.extra:
        value = float(values.get((family.name, extra[0][1] if extra else ""), 0.0))
        yield ExposedSeries((*common, *extra), value, engine.created)
