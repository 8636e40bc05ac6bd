"""The state of a ModelService as its probes see it, and what all ModelServices show together: their
operator's settings, and conflicts of names.

The shared parts are computed once per snapshot. Equal results are the same object, so that answers
of an earlier pass that depend on them can be reused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model import objects as o
from reporter.probes.scope import SubjectScope
from reporter.settings import EvaluationSettings
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.names import Given, OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import Children, Manifest, recover, wanted
from reporter.stacks.otterscale.objects import FAIL_OPEN, ModelService
from reporter.stacks.otterscale.operator_flags import given_by
from reporter.stacks.otterscale.reasons import (
    MODELSERVICES,
    OPERATOR_HOME,
    OPERATOR_NAMES,
    STACK,
)
from reporter.workload.pod import counts, is_ready

_NOT_SHOWN: Final = OperatorSettings(provider=names.NONE, default_gateway_name="")
"""The settings assumed if no object shows them: no object counts as missing because of them."""

Key: TypeAlias = Callable[[ModelService], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RoleView:
    role: str
    wanted: int  # pods that the ModelService asks for
    name: str
    deployment: o.Deployment | None  # None if it does not exist
    pods: tuple[o.Pod, ...]

    @property
    def replicas(self) -> tuple[o.Pod, ...]:
        return tuple(each for each in self.pods if counts(each))

    @property
    def ready(self) -> int:
        return sum(map(is_ready, self.replicas))

    @property
    def count(self) -> str:
        """How many of the wanted pods are Ready, for messages."""
        return f"{self.ready}/{self.wanted} {self.role} pods ready"


@dataclass(frozen=True, kw_only=True)
class ModelServiceScope(SubjectScope[ModelService]):
    """A ModelService with its objects; None for an object that does not exist."""

    name_label = names.MODEL

    @cached_property
    def given(self) -> Given:
        """The operator's settings in its own arguments. They override what its objects show."""
        return _given_by_operator(self.snapshot, self.settings)

    @cached_property
    def operator(self) -> OperatorSettings:
        """The operator's settings: the given ones, else as far as its objects show them."""
        recovered = self.snapshot.once(_recovered, _recovered)
        return _same(recovered.over(self.given)) if self.given else recovered

    @cached_property
    def wanted(self) -> tuple[Manifest, ...]:
        return wanted(self.object, self.operator)

    @cached_property
    def children(self) -> Children:
        return _children_of(self.object, self.snapshot)

    @cached_property
    def roles(self) -> tuple[RoleView, ...]:
        spec = self.object.spec
        asked = [(names.DECODE, spec.decode.replicas, self.children.decode)]
        if spec.prefill is not None:
            asked.append((names.PREFILL, spec.prefill.replicas, self.children.prefill))
        labelled = self.snapshot[r.PODS].labelled(self.place, names.MODEL, self.name)
        serving = [each for each in labelled if each.metadata.label(names.SERVING) == "true"]
        return tuple(
            RoleView(
                role=role,
                wanted=wanted,
                name=f"{self.name}-{role}",
                deployment=deployment,
                pods=tuple(each for each in serving if each.metadata.label(names.ROLE) == role),
            )
            for role, wanted, deployment in asked
        )

    @property
    def epp(self) -> o.Deployment | None:
        return self.children.epp

    @property
    def epp_service(self) -> o.Service | None:
        return self.snapshot[r.SERVICES].get(self.place, self.epp_name)

    @property
    def pool(self) -> o.InferencePool | None:
        return self.snapshot[r.INFERENCEPOOLS].get(self.place, self.name)

    @property
    def route(self) -> o.HttpRoute | None:
        return self.children.route

    @property
    def epp_name(self) -> str:
        """The name that most objects of the endpoint picker share."""
        return names.epp(self.name)

    @property
    def pods(self) -> tuple[o.Pod, ...]:
        return tuple(pod for role in self.roles for pod in role.pods)

    @property
    def fails_open(self) -> bool:
        """True if requests get through without an endpoint picker.

        The gateway obeys the existing pool, which may differ from the ModelService.
        """
        reference = self.pool.spec.endpoint_picker_ref if self.pool else None
        mode = (reference and reference.failure_mode) or self.object.picker.failure_mode
        return mode == FAIL_OPEN

    @property
    def without_picker(self) -> str:
        """What happens to requests while there is no endpoint picker."""
        if self.fails_open:
            return "failureMode is FailOpen: the gateway spreads requests without it"
        return "failureMode is FailClose: requests fail"

    def others(self, key: Key, own: tuple[str, str]) -> tuple[ModelService, ...]:
        """Return the other ModelServices whose key is `own`, without those being deleted."""

        def index(snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[ModelService, ...]]:
            return grouped(
                (key(each), each) for each in snapshot[MODELSERVICES] if not each.deleting
            )

        found = self.snapshot.once(key, index).get(own, ())
        itself = self.place, self.name
        return tuple(each for each in found if (each.namespace, each.name) != itself)


def picker_place(service: ModelService) -> tuple[str, str]:
    return service.namespace, names.epp(service.name)


def cluster_role(service: ModelService) -> tuple[str, str]:
    return "", f"{service.namespace}-{names.epp(service.name)}"


def _children_of(service: ModelService, snapshot: Snapshot) -> Children:
    place, name, epp = service.namespace, service.name, names.epp(service.name)
    deployments = snapshot[r.DEPLOYMENTS]
    return Children(
        service=service,
        decode=deployments.get(place, f"{name}-{names.DECODE}"),
        prefill=deployments.get(place, f"{name}-{names.PREFILL}"),
        epp=deployments.get(place, epp),
        route=snapshot[r.HTTPROUTES].get(place, name),
        destination_rule=snapshot[r.DESTINATIONRULES].get(place, epp),
    )


def _given_by_operator(snapshot: Snapshot, settings: EvaluationSettings) -> Given:
    """Return the settings in the arguments of the operator's own Deployment."""
    named, places = settings.place_of(STACK, OPERATOR_NAMES, OPERATOR_HOME)
    there = (snapshot[r.DEPLOYMENTS].get(place, name) for place in places for name in named)
    found = next((each for each in there if each is not None), None)
    containers = (found.spec.template.spec.containers if found else None) or ()
    return given_by(chain.from_iterable(each.args or () for each in containers))


def _recovered(snapshot: Snapshot) -> OperatorSettings:
    """Recover the settings from the ModelServices that the operator has finished, if there are any.

    The others may have been made with other settings: if one of them hangs, the objects of all the
    rest would count as missing.
    """
    there = tuple(snapshot[MODELSERVICES])
    finished = tuple(
        each
        for each in there
        if not (each.deleting or each.is_behind or each.reconcile_error)
        and each.status.condition("Ready") is not None
    )
    services = [_children_of(each, snapshot) for each in finished or there]
    return _same(_NOT_SHOWN.over(recover(services)))


@lru_cache(maxsize=64)
def _same(settings: OperatorSettings) -> OperatorSettings:
    return settings
