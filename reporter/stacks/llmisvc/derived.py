"""The effective spec and the wanted status of LLMInferenceServices, by KServe's rules; pure.

Routes, Gateways and pools are judged as in github.com/kserve/kserve,
pkg/controller/v1alpha2/llmisvc/router.go, at aaac4e2. An unknown answer, for example because
releases differ, is None.

The effective spec is that of an LLMInferenceService over those of the configs it names. The last
config wins, and the spec wins over all, field by field (github.com/kserve/kserve,
pkg/controller/v1alpha2/llmisvc/config_merge.go). KServe's own presets add nothing that is read
here.

The conditions and counts are those that KServe would write now, as far as they follow from objects.
From github.com/kserve/kserve, pkg/controller/v1alpha2/llmisvc: a Deployment's workload is ready if
it is Available (workload_single_node.go), a LeaderWorkerSet's likewise, and the scheduler's if it
has an available replica (scheduler.go); WorkloadsReady, RouterReady and Ready sum up
(pkg/apis/serving/v1alpha2/llm_inference_service_lifecycle.go).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Final, TypeVar

from reporter.model.finding import Document
from reporter.model.objects import Condition, Gateway, HttpRoute, InferencePool, ParentStatus, Part
from reporter.stacks.llmisvc import objects as api
from reporter.workload.owners import is_false, is_true
from reporter.workload.routing import Parent, parent_of


def gateways_ready(gateways: Iterable[Gateway]) -> bool | None:
    """Return GatewaysReady: whether the Gateways of the routes are programmed; True without any."""
    answers = []
    for each in gateways:
        programmed = each.status.condition("Programmed")
        current = is_of(programmed, each.metadata.generation)
        answers.append(is_true(programmed) if current or not is_true(programmed) else None)
    return all_of(answers)


def routes_ready(routes: Iterable[HttpRoute]) -> bool | None:
    """Return HTTPRoutesReady: whether all parents accept all routes; True without routes."""
    return all_of(_route_ready(each) for each in routes)


def pool_ready(parents: Collection[Parent], pools: Iterable[InferencePool | None]) -> bool | None:
    """Return InferencePoolReady: whether the Gateways of routes accept the pool, of either group.

    Releases up to v0.19 require any Gateways instead, which must all accept it. If the two rules
    differ, the answer is None.
    """
    entries = [
        (parent_of(each.parent_ref, pool.namespace), is_true(each.condition("Accepted")))
        for pool in pools
        if pool is not None
        for each in pool.status.parents or ()
    ]
    accepting = {parent for parent, accepted in entries if accepted}
    now = bool(parents) and accepting.issuperset(parents)
    before = bool(entries) and all(accepted for _, accepted in entries)
    return now if now is before else None


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Return False if any answer is False, None if any other is unknown, else True."""
    found = tuple(answers)
    if False in found:
        return False
    return None if None in found else True


def is_of(condition: Condition | None, generation: int) -> bool:
    """Return True if a condition is about a generation; one without a generation counts."""
    seen = condition.observed_generation if condition else None
    return not isinstance(seen, int) or seen >= generation


def _route_ready(route: HttpRoute) -> bool | None:
    entries = [each for each in route.status.parents or () if each.condition("Accepted")]
    there = {parent_of(each.parent_ref, route.namespace) for each in entries}
    asked = {parent_of(each, route.namespace) for each in route.spec.parent_refs or ()}
    if not asked <= there:
        return False
    return all_of(answer for each in entries for answer in _entry_ready(each, route))


def _entry_ready(entry: ParentStatus, route: HttpRoute) -> Iterator[bool | None]:
    for name in ("Accepted", "ResolvedRefs"):
        condition = entry.condition(name)
        if condition is None:
            yield None
        elif is_false(condition) or not is_of(condition, route.metadata.generation):
            yield False
        else:
            yield is_true(condition)


PartT = TypeVar("PartT", bound=Part)


@dataclass(frozen=True, slots=True)
class AskedFor:
    main: api.Workload
    prefill: api.Workload | None  # the prefill workload; None if the main one does both
    router: api.LlmRouter  # empty if the spec has none
    names: frozenset[str]  # the names of the model and its adapters

    @property
    def route(self) -> api.RouterRoute | None:
        """The route; None if requests go to the Service only."""
        return self.router.route

    @property
    def own_routes(self) -> tuple[api.NamedPart, ...]:
        """The user's own routes that it refers to; KServe creates none then."""
        return (self.route.http.refs or ()) if self.route and self.route.http else ()

    @property
    def gateways(self) -> tuple[api.NamedPart, ...]:
        """The Gateways that it refers to; empty for the default Gateway."""
        return (self.router.gateway.refs or ()) if self.router.gateway else ()

    @property
    def scheduler(self) -> api.RouterScheduler | None:
        """The scheduler; None if requests go to any pod."""
        return self.router.scheduler

    @property
    def own_pool(self) -> str:
        """The name of the user's own pool; empty if KServe creates one."""
        pool = self.scheduler.pool if self.scheduler else None
        return pool.ref.name if pool and pool.ref else ""

    @property
    def workloads(self) -> tuple[api.Workload, ...]:
        return (self.main,) if self.prefill is None else (self.main, self.prefill)

    @property
    def scaling(self) -> tuple[api.Scaling, ...]:
        return tuple(each.scaling for each in self.workloads if each.scaling)


def wanted(
    service: api.LLMInferenceService, configs: Iterable[api.LLMInferenceServiceConfig]
) -> AskedFor:
    """Return the effective spec of a service: over the configs that it names, in their order."""
    spec: api.LlmSpec = reduce(_over, (*(each.spec for each in configs), service.spec))
    model = spec.model or api.LlmModel()
    adapters = (model.lora.adapters or ()) if model.lora else ()
    names = (model.name or service.name, *(each.name for each in adapters))
    return AskedFor(
        main=api.Workload(replicas=spec.replicas, scaling=spec.scaling, worker=spec.worker),
        prefill=spec.prefill,
        router=spec.router or api.LlmRouter(),
        names=frozenset(names),
    )


def _over(below: PartT, above: PartT) -> PartT:
    """Return one part merged over another, field by field, down to single values."""
    merged = {
        name: _value_over(getattr(below, name), getattr(above, name))
        for name in above.__struct_fields__
    }
    return type(above)(**merged)


def _value_over(below: object, above: object) -> object:
    if isinstance(above, Part) and isinstance(below, type(above)):
        return _over(below, above)
    return below if above is None or above == "" else above


class PassStage(Enum):
    """The stages of KServe's pass. An error ends it, and later conditions stay as they were."""

    WORKLOADS = "WorkloadsReady"
    ROUTER = "RouterReady"


@dataclass(frozen=True, slots=True)
class Worked:
    """A condition that follows from objects.

    Attributes:
        seen: the evidence, such as `LeaderWorkerSet big-kserve-mn is available`; may be empty.

    """

    type: str  # of the condition, such as `MainWorkloadReady`
    stage: PassStage  # of the pass that writes it
    ready: bool | None  # whether it should be True; None if unknown
    seen: str = ""


_WORDS: Final = {True: "True", False: "False"}


def derived_status(
    generation: int, worked: Iterable[Worked], counted: Mapping[str, tuple[str, int]]
) -> Document:
    """Return the status that follows from objects, without unknown conditions.

    `counted` has the name and the ready replicas of each entry of `status.workloads`.
    """
    found = {each.type: each.ready for each in worked} | dict(_sums(tuple(worked)))
    conditions = [
        {"type": type_, "status": _WORDS[ready]}
        for type_, ready in found.items()
        if ready is not None
    ]
    entries = {
        entry: {"name": name, "readyReplicas": ready} for entry, (name, ready) in counted.items()
    }
    return {"observedGeneration": generation, "conditions": conditions, "workloads": entries}


def _sums(worked: tuple[Worked, ...]) -> Iterator[tuple[str, bool | None]]:
    """Yield the conditions that sum up; without a router, RouterReady is True."""
    sums = {
        stage.value: all_of(each.ready for each in worked if each.stage is stage)
        for stage in PassStage
    }
    yield from sums.items()
    yield "Ready", all_of(sums.values())
