"""The spec in effect: that of an LLMInferenceService over those of the configs it names.

The last one wins, and the spec wins over all, each field for itself (github.com/kserve/kserve,
pkg/controller/v1alpha2/llmisvc/config_merge.go). KServe's own presets add nothing that is asked here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from reporter.model.objects import Part
from reporter.stacks.llmisvc.objects import (
    LLMInferenceService,
    LLMInferenceServiceConfig,
    LlmModel,
    LlmRouter,
    LlmSpec,
    NamedPart,
    RouterRoute,
    RouterScheduler,
    Scaling,
    Workload,
)

PartT = TypeVar("PartT", bound=Part)


@dataclass(frozen=True, slots=True)
class AskedFor:
    """What an LLMInferenceService asks for.

    Attributes:
        main: the workload that serves, or decodes.
        prefill: the one that prefills; None where the main one does both.
        router: None stands for none.
        names: the model's name and those of its adapters.

    """

    main: Workload
    prefill: Workload | None
    router: LlmRouter
    names: frozenset[str]

    @property
    def route(self) -> RouterRoute | None:
        """The route; None where requests go to the Service only."""
        return self.router.route

    @property
    def own_routes(self) -> tuple[NamedPart, ...]:
        """The routes of one's own that it refers to; KServe makes none then."""
        return (self.route.http.refs or ()) if self.route and self.route.http else ()

    @property
    def gateways(self) -> tuple[NamedPart, ...]:
        """The Gateways that it refers to; none is the default Gateway."""
        return (self.router.gateway.refs or ()) if self.router.gateway else ()

    @property
    def scheduler(self) -> RouterScheduler | None:
        """The scheduler; None where requests go to any pod."""
        return self.router.scheduler

    @property
    def own_pool(self) -> str:
        """The name of somebody else's pool; empty where KServe makes one."""
        pool = self.scheduler.pool if self.scheduler else None
        return pool.ref.name if pool and pool.ref else ""

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The main one, and the one that prefills."""
        return (self.main,) if self.prefill is None else (self.main, self.prefill)

    @property
    def scaling(self) -> tuple[Scaling, ...]:
        """How its workloads are scaled, where they are."""
        return tuple(each.scaling for each in self.workloads if each.scaling)


def wanted(service: LLMInferenceService, configs: Iterable[LLMInferenceServiceConfig]) -> AskedFor:
    """Return what a service asks for, over the configs that it names, in their order."""
    spec: LlmSpec = reduce(_over, (*(each.spec for each in configs), service.spec))
    model = spec.model or LlmModel()
    adapters = (model.lora.adapters or ()) if model.lora else ()
    names = (model.name or service.name, *(each.name for each in adapters))
    return AskedFor(
        main=Workload(replicas=spec.replicas, scaling=spec.scaling, worker=spec.worker),
        prefill=spec.prefill,
        router=spec.router or LlmRouter(),
        names=frozenset(names),
    )


def _over(below: PartT, above: PartT) -> PartT:
    """Return one part over another: what it says counts, field by field, down to single values."""
    merged = {
        name: _value_over(getattr(below, name), getattr(above, name))
        for name in above.__struct_fields__
    }
    return type(above)(**merged)


def _value_over(below: object, above: object) -> object:
    if isinstance(above, Part) and isinstance(below, type(above)):
        return _over(below, above)
    return below if above is None or above == "" else above
