"""What a pass costs that one tenant fills: twice the objects in one namespace are to take twice the time."""

import gc
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from lab.sandbox.objects import Object
from reporter.catalogue.resources import HTTPROUTES
from reporter.evaluation import evaluate_again
from reporter.probes.reuse import Answered
from reporter.stacks.settings import FullDaemonSettings
from tests.bench.cluster import build
from tests.bench.evaluation import decode_pages, discovery_of, median, pages_of, snapshot_of

_SETS: Final = 300


@dataclass(frozen=True, slots=True)
class Filled:
    """Seconds of processor time while one namespace holds that many InferenceSets, whose routes have names of their own.

    Attributes:
        whole: asking all probes.
        one_route: asking again after one of the routes changed.

    """

    sets: int
    whole: float
    one_route: float


def measure(sets: int = _SETS) -> tuple[Filled, Filled]:
    """Measure with some sets, and with twice as many."""
    return _filled(sets), _filled(2 * sets)


def render(found: tuple[Filled, Filled]) -> str:
    """Return the numbers as text."""
    few, many = found
    return "\n".join(
        [f"one namespace with {few.sets} and with {many.sets} InferenceSets, ms of processor time"]
        + [
            f"{name:44} {before * 1e3:8.1f} {after * 1e3:8.1f}   x{after / before:.2f}"
            for name, before, after in (
                ("asking all probes", few.whole, many.whole),
                ("asking again after one route changed", few.one_route, many.one_route),
            )
        ]
    )


def _filled(sets: int) -> Filled:
    pages = pages_of(_named_otherwise(build(sets, per_namespace=sets)))
    objects = {resource: decode_pages(resource, each) for resource, each in pages.items()}
    served, settings = discovery_of(objects), FullDaemonSettings()
    before = snapshot_of(objects, served)
    _, answered = evaluate_again(before, settings, Answered())
    key, route = next(iter(objects[HTTPROUTES].items()))
    metadata = msgspec.structs.replace(route.metadata, annotations={"changed": "yes"})
    changed = {key: msgspec.structs.replace(route, metadata=metadata)}
    after = snapshot_of({**objects, HTTPROUTES: {**objects[HTTPROUTES], **changed}}, served)
    gc.collect()
    gc.freeze()  # what the daemon does too, once everything is listed
    began = time.process_time()
    evaluate_again(after, settings, answered)
    once = time.process_time() - began
    whole = median(lambda: evaluate_again(before, settings, Answered()))
    gc.unfreeze()
    return Filled(sets, whole, once)


def _named_otherwise(documents: Iterable[Object]) -> Iterable[Object]:
    """Yield the same, but routes are found by the pools that they lead to alone."""
    for each in documents:
        if each["kind"] == "HTTPRoute":
            each["metadata"]["name"] = f"way-{each['metadata']['name']}"
            each["metadata"].pop("labels", None)
        yield each
