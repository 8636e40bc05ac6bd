"""Ever other texts, each as large as a tenant may store, in what the program remembers from pass to pass."""

import tracemalloc

from reporter.diagnosis.containers import _by_last_words
from reporter.model.objects import PodTemplate, TemplateContainer
from reporter.model.objects.base import Annotations
from reporter.model.objects.demands import ResourceRequests, amount
from reporter.model.objects.pods import Container, PodSpec, TemplateSpec
from reporter.model.text import clean
from reporter.resolution.mutes import read_mute
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.probes.scaling import metrics_faults
from reporter.workload.components import _ends_of
from reporter.workload.engines import engines_of
from tests.attacks.attack import Outcome, attacks
from tests.unit.probes.building import NOW

_LONG = "x" * 100_000
_COUNT = 100
_MOST = 2**20
"""Bytes that may stay of the 10 MB that were asked about."""


def _template(number):
    container = TemplateContainer(name="m", image=f"vllm:{number}", args=(f"{number}{_LONG}",))
    engines_of(PodTemplate(spec=TemplateSpec(containers=(container,))))


def _devices(number):
    asks = ResourceRequests(limits={f"a.b/{number}{_LONG}": 1})
    PodSpec(containers=(Container(name="m", resources=asks),))


def _mute(number):
    names = ",".join(f"{number}-{each}" for each in range(1_000))
    read_mute(Annotations(mute=names), NOW, BUILT_IN, hints=None)


@attacks(
    {
        "arguments of containers": _template,
        "images of containers": lambda number: _ends_of(f"a/{number}/{_LONG}"),
        "names of muted reasons": _mute,
        "metrics of a scaler": lambda number: metrics_faults(f"- {number}{_LONG}", scale_to_zero=False),
        "devices of pods": _devices,
        "quantities": lambda number: amount(f"{number}{_LONG}"),
        "last words of containers": lambda number: _by_last_words(f"{number}{_LONG[:20_000]}"),
        "messages": lambda number: clean(f"{number}{_LONG}"),
    }
)  # fmt: skip
def _(_folder, ask):
    ask(-1)
    tracemalloc.start()
    try:
        for number in range(_COUNT):
            ask(number)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return Outcome(held=kept < _MOST, figure=f"{kept >> 10} KiB stay of {_COUNT} texts")
