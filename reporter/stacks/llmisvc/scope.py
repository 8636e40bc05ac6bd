"""The state of an LLMInferenceService as its probes see it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from typing import Final, TypeVar

from reporter.catalogue import resources as r
from reporter.model import objects as o
from reporter.model.resource import Resource
from reporter.probes.scope import SubjectScope
from reporter.served.role import Containers, ServedRole
from reporter.stacks.llmisvc import objects as api
from reporter.stacks.llmisvc import reasons
from reporter.workload.owners import is_false
from reporter.workload.routing import Parent, entries_of, named

NAME: Final = "app.kubernetes.io/name"
COMPONENT: Final = "app.kubernetes.io/component"
ROUTER: Final = "router"
SCHEDULER: Final = "router-scheduler"
TOKENIZER: Final = "tokenizer"
_OF_LLMS: Final = "llminferenceservice-"
_CONTAINERS: Final = Containers(
    fetch=frozenset({"storage-initializer"}),
    serve=frozenset({"main", "modelcar", "modelcar-init", "llm-d-routing-sidecar"}),
)

ObjectT = TypeVar("ObjectT", bound=o.KubeObject)


@dataclass(frozen=True, kw_only=True)
class LlmScope(SubjectScope[api.LLMInferenceService]):
    """An LLMInferenceService and its objects, found by labels because long names are truncated."""

    name_label = NAME

    @cached_property
    def wanted(self) -> api.LlmSpec:
        """Its effective spec, over the configs that it names, in their order."""
        return reduce(api.merged, (*(each.spec for each in self.configs), self.object.spec))

    @property
    def served_names(self) -> frozenset[str]:
        """The names of the model and its adapters."""
        model = self.wanted.model or api.LlmModel()
        adapters = (model.lora.adapters or ()) if model.lora else ()
        return frozenset((model.name or self.name, *(each.name for each in adapters)))

    @cached_property
    def configs(self) -> tuple[api.LLMInferenceServiceConfig, ...]:
        found = (self.config(each.name) for each in self.object.spec.base_refs or ())
        return tuple(each for each in found if each is not None)

    @property
    def lacks_config(self) -> bool:
        """True if a config that it names is not found, so that its effective spec is incomplete."""
        return len(self.configs) < len(self.object.spec.base_refs or ())

    @property
    def config_places(self) -> tuple[str, ...]:
        """Where a config may be: its own namespace, then that of the controller."""
        _, homes = self.settings.place_of(reasons.STACK, (), reasons.HOME)
        return tuple(dict.fromkeys((self.place, *homes)))

    def config(self, name: str) -> api.LLMInferenceServiceConfig | None:
        """Return a config by name; its own namespace takes precedence."""
        found = (self.snapshot[reasons.CONFIGS].get(place, name) for place in self.config_places)
        return next((each for each in found if each is not None), None)

    @cached_property
    def named_configs(self) -> Mapping[str, frozenset[str]]:
        """The configs that it names, or was made with, each with the namespaces where it may be."""
        applied = (self.object.status.applied_configs or ()) if self.observed else ()
        named = (*(self.object.spec.base_refs or ()), *applied)
        places = frozenset((*self.config_places, *(each.namespace or "" for each in applied)))
        return {each.name: places - {""} for each in named if each.name}

    def made(self, resource: Resource[ObjectT]) -> tuple[ObjectT, ...]:
        """Return the objects made for it, by name; of those being deleted only pods."""
        found = self.snapshot[resource].labelled(self.place, NAME, self.name)
        return tuple(
            each
            for each in found
            if each.metadata.label(reasons.PART_OF) == reasons.LLM_PART
            and not (each.deleting and resource is not r.PODS)
        )

    @cached_property
    def pods(self) -> tuple[o.Pod, ...]:
        """The pods that serve, prefill or decode, including all workers of groups."""
        return tuple(each for each in self.made(r.PODS) if component(each).startswith("workload"))

    @cached_property
    def roles(self) -> tuple[ServedRole, ...]:
        """The role that serves or decodes, and the one that prefills, each with its workload.

        If the config that asked for a prefill role is gone, the role's objects show it.
        """
        main, prefill = self.wanted, self.wanted.prefill
        if prefill is None and self.lacks_config:
            parts = _parts_of("-prefill")
            if self._part(r.DEPLOYMENTS, *parts) or self._part(reasons.LEADERWORKERSETS, *parts):
                prefill = api.Workload()
        if prefill is None:
            return (self._role("main", main, suffix=""),)
        return (
            self._role("decode", main, suffix=""),
            self._role("prefill", prefill, suffix="-prefill"),
        )

    def _role(self, name: str, workload: api.Workload, *, suffix: str) -> ServedRole:
        parts = _parts_of(suffix)
        deployment = self._part(r.DEPLOYMENTS, f"workload{suffix}")
        group_set = self._part(reasons.LEADERWORKERSETS, *parts)
        unknown = self.lacks_config and deployment is None and group_set is not None
        multi = unknown or workload.worker is not None
        return ServedRole(
            name=name,
            resource=reasons.LEADERWORKERSETS if multi else r.DEPLOYMENTS,
            workload=group_set if multi else deployment,
            pods=tuple(each for each in self.pods if component(each) in parts),
            containers=_CONTAINERS,
        )

    def _part(self, resource: Resource[ObjectT], *parts: str) -> ObjectT | None:
        return next((each for each in self.made(resource) if component(each) in parts), None)

    @cached_property
    def epp(self) -> o.Deployment | None:
        return self._part(r.DEPLOYMENTS, SCHEDULER)

    @cached_property
    def tokenizer(self) -> o.Deployment | None:
        return self._part(r.DEPLOYMENTS, TOKENIZER)

    @cached_property
    def managed_route(self) -> o.HttpRoute | None:
        return self._part(r.HTTPROUTES, ROUTER)

    @cached_property
    def routes(self) -> tuple[o.HttpRoute, ...]:
        """The routes that lead to it: the user's own, else KServe's."""
        if self.wanted.route is None:
            return ()
        refs = self.wanted.own_routes
        if not refs:
            return (self.managed_route,) if self.managed_route else ()
        table = self.snapshot[r.HTTPROUTES]
        found = (table.get(each.namespace or self.place, each.name) for each in refs)
        return tuple(each for each in found if each is not None)

    @cached_property
    def referred_gateways(self) -> tuple[Parent, ...]:
        named = self.wanted.gateways
        return tuple(Parent("Gateway", each.namespace or self.place, each.name) for each in named)

    @property
    def gateways(self) -> tuple[Parent, ...]:
        """The Gateways that it refers to, and the parents of its routes."""
        return tuple(sorted({*self.referred_gateways, *self.parents}))

    def gateway(self, parent: Parent) -> o.Gateway | None:
        return self.snapshot[r.GATEWAYS].get(parent.namespace, parent.name)

    @cached_property
    def parents(self) -> frozenset[Parent]:
        return frozenset(
            parent for route in self.routes for parent in named(route) if parent.is_gateway
        )

    @cached_property
    def pool(self) -> o.InferencePool | None:
        return self._pool_of(r.INFERENCEPOOLS)

    @cached_property
    def former_pool(self) -> o.InferencePool | None:
        """The same pool under the former group."""
        former = self._pool_of(r.FORMER_POOLS)
        return former.pool if former else None

    @property
    def pool_entries(self) -> Iterator[tuple[Parent, o.ParentStatus]]:
        """The entries that parents have written about the pool, of either group."""
        pools = filter(None, (self.pool, self.former_pool))
        return chain.from_iterable(map(entries_of, pools))

    def _pool_of(self, resource: Resource[ObjectT]) -> ObjectT | None:
        if self.wanted.own_pool:
            return self.snapshot[resource].get(self.place, self.wanted.own_pool)
        return self._part(resource, SCHEDULER)

    @property
    def observed(self) -> bool:
        return self.object.status.observed_generation == self.object.metadata.generation

    def condition(self, type_: str) -> o.Condition | None:
        return self.object.status.condition(type_)

    @property
    def invalid_presets(self) -> o.Condition | None:
        """The condition that says that its configs cannot be used, or None."""
        presets = self.condition("PresetsCombined")
        return presets if is_false(presets) else None

    @cached_property
    def errors(self) -> tuple[o.Condition, ...]:
        """The conditions that quote an error of KServe's last pass."""
        found = [
            each
            for each in self.object.status.conditions or ()
            if is_false(each) and each.type != "Ready" and _is_error(each.reason or "")
        ]
        ready = self.condition("Ready")
        if ready is not None and ready.reason == "NewObservedGenFailure" and self.observed:
            found.append(ready)
        return tuple(found)

    @property
    def refers_to_nothing(self) -> tuple[o.Condition, ...]:
        """The conditions by which KServe reports that a route or Gateway is missing.

        KServe ends its pass there: it neither creates nor checks what the router needs (KServe,
        pkg/controller/v1alpha2/llmisvc/router_validation.go).
        """
        found = map(self.condition, ("GatewaysReady", "HTTPRoutesReady"))
        return tuple(each for each in found if is_false(each) and each.reason == "RefsInvalid")


def _is_error(reason: str) -> bool:
    of_pass = reason.startswith("Reconcile") and reason.endswith("Error")
    return of_pass or reason.endswith("ReconcileError") or reason == "ScalingCRDNotFound"


def component(obj: o.KubeObject) -> str:
    """Return the component label of an object, without its prefix."""
    return (obj.metadata.label(COMPONENT) or "").removeprefix(_OF_LLMS)


def _parts_of(suffix: str) -> tuple[str, ...]:
    """Return the component labels that a role's workload and its pods may have."""
    return tuple(f"{part}{suffix}" for part in ("workload", "workload-leader", "workload-worker"))
