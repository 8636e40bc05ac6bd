"""What LLMInferenceServices should be, by KServe's rules; pure.

What KServe makes of routes, Gateways and pools.

From github.com/kserve/kserve, pkg/controller/v1alpha2/llmisvc/router.go, at aaac4e2. Where that
cannot be told, as where releases differ, the answer is None.

The spec in effect: that of an LLMInferenceService over those of the configs it names.

The last one wins, and the spec wins over all, each field for itself (github.com/kserve/kserve,
pkg/controller/v1alpha2/llmisvc/config_merge.go). KServe's own presets add nothing that is asked
here.

The conditions and counts that KServe would write now, as far as they follow from objects.

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
    """Return GatewaysReady: whether those that the routes lead to are programmed; none is True."""
    answers = []
    for each in gateways:
        programmed = each.status.condition("Programmed")
        current = is_of(programmed, each.metadata.generation)
        answers.append(is_true(programmed) if current or not is_true(programmed) else None)
    return all_of(answers)


def routes_ready(routes: Iterable[HttpRoute]) -> bool | None:
    """Return HTTPRoutesReady: whether all parents have accepted all routes; no route is True."""
    return all_of(_route_ready(each) for each in routes)


def pool_ready(parents: Collection[Parent], pools: Iterable[InferencePool | None]) -> bool | None:
    """Return InferencePoolReady: whether the Gateways of routes accept the pool, of either group.

    Releases up to v0.19 ask for any Gateways instead, of which all accept it. Where the two differ
    it is not known.
    """
    said = [
        (parent_of(each.parent_ref, pool.namespace), is_true(each.condition("Accepted")))
        for pool in pools
        if pool is not None
        for each in pool.status.parents or ()
    ]
    accepting = {parent for parent, accepted in said if accepted}
    now = bool(parents) and accepting.issuperset(parents)
    before = bool(said) and all(accepted for _, accepted in said)
    return now if now is before else None


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all are True; None where that hangs on one that is not known."""
    found = tuple(answers)
    if False in found:
        return False
    return None if None in found else True


def is_of(condition: Condition | None, generation: int) -> bool:
    """Tell whether a condition is that of a generation; one that names none is."""
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
    prefill: api.Workload | None  # the one that prefills; None where the main one does both
    router: api.LlmRouter  # None stands for none
    names: frozenset[str]  # the model's name and those of its adapters

    @property
    def route(self) -> api.RouterRoute | None:
        """The route; None where requests go to the Service only."""
        return self.router.route

    @property
    def own_routes(self) -> tuple[api.NamedPart, ...]:
        """The routes of one's own that it refers to; KServe makes none then."""
        return (self.route.http.refs or ()) if self.route and self.route.http else ()

    @property
    def gateways(self) -> tuple[api.NamedPart, ...]:
        """The Gateways that it refers to; none is the default Gateway."""
        return (self.router.gateway.refs or ()) if self.router.gateway else ()

    @property
    def scheduler(self) -> api.RouterScheduler | None:
        """The scheduler; None where requests go to any pod."""
        return self.router.scheduler

    @property
    def own_pool(self) -> str:
        """The name of somebody else's pool; empty where KServe makes one."""
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
    """Return what a service asks for, over the configs that it names, in their order."""
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


class PassStage(Enum):
    """The stages of a pass of KServe's. An error ends it, and leaves what comes later as it was."""

    WORKLOADS = "WorkloadsReady"
    ROUTER = "RouterReady"


@dataclass(frozen=True, slots=True)
class Worked:
    """A condition that follows from objects.

    Attributes:
        seen: what of the objects says so, such as `LeaderWorkerSet big-kserve-mn is available`;
            empty where there is no more to say.

    """

    type: str  # of the condition, such as `MainWorkloadReady`
    stage: PassStage  # of the pass that writes it, with the condition that sums that stage up
    ready: bool | None  # whether it should be True; None where that is not known
    seen: str = ""


_WORDS: Final = {True: "True", False: "False"}


def derived_status(
    generation: int, worked: Iterable[Worked], counted: Mapping[str, tuple[str, int]]
) -> Document:
    """Return the status that follows from objects; without what is not known.

    `counted` is what stands in `status.workloads`: of each entry its name and how many are ready.
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
    """Yield the conditions that sum up; without a router there is nothing that is not ready."""
    sums = {
        stage.value: all_of(each.ready for each in worked if each.stage is stage)
        for stage in PassStage
    }
    yield from sums.items()
    yield "Ready", all_of(sums.values())
