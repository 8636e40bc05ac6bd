"""What all ModelServices tell together: their operator's settings, and who is in whose way.

Asked once for a snapshot. What is returned is the same object as long as it is equal, so that an
answer of an earlier pass that rests on it can be used again.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Final

from reporter.catalogue.resources import DEPLOYMENTS, DESTINATIONRULES, HTTPROUTES
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.names import NONE, OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import Children, recover
from reporter.stacks.otterscale.objects import ModelService
from reporter.stacks.otterscale.operator_flags import NOTHING, Given, told_by
from reporter.stacks.otterscale.reasons import MODELSERVICES
from reporter.stacks.otterscale.settings import OtterscaleSettings

RECONCILE_ERROR: Final = "ReconcileError"
"""Reason of Ready where the operator ended in an error."""

_Place = tuple[str, str]

_UNTOLD: Final = OperatorSettings(provider=NONE, default_gateway_name="")
"""What is assumed of the operator where none of its objects tells: nothing that would be missed."""


def operator_of(snapshot: Snapshot, given: Given = NOTHING) -> OperatorSettings:
    recovered = snapshot.once(_recovered, _recovered)
    return _same(replace(recovered, **given)) if given else recovered  # type: ignore[arg-type]  # `given_of` makes each of its field's type


def told_by_operator(snapshot: Snapshot, settings: OtterscaleSettings) -> Given:
    """Return what the arguments of the operator's own Deployment tell of its settings."""
    name = settings.otterscale_deployment
    places = settings.otterscale_namespace if name else ()
    there = (snapshot[DEPLOYMENTS].get(each, name) for each in places)
    found = next((each for each in there if each is not None), None)
    if found is None:
        return NOTHING
    containers = found.spec.template.spec.containers or ()
    return told_by(chain.from_iterable(each.args or () for each in containers))


def children_of(service: ModelService, snapshot: Snapshot) -> Children:
    place, name = service.namespace, service.name
    deployments = snapshot[DEPLOYMENTS]
    return Children(
        service=service,
        decode=deployments.get(place, names.decode_deployment(name)),
        prefill=deployments.get(place, names.prefill_deployment(name)),
        epp=deployments.get(place, names.epp(name)),
        route=snapshot[HTTPROUTES].get(place, names.http_route(name)),
        destination_rule=snapshot[DESTINATIONRULES].get(place, names.epp(name)),
    )


def with_same_picker(service: ModelService, snapshot: Snapshot) -> tuple[ModelService, ...]:
    found = _by(snapshot, _picker_place).get(_picker_place(service), ())
    return _without(service, found)


def overwriting(service: ModelService, snapshot: Snapshot) -> tuple[ModelService, ...]:
    """Return those whose endpoint picker is called like this one: they delete its InferencePool."""
    found = _by(snapshot, _picker_place).get((service.namespace, service.name), ())
    return _without(service, found)


def with_same_cluster_role(service: ModelService, snapshot: Snapshot) -> tuple[ModelService, ...]:
    found = _by(snapshot, _cluster_role).get(_cluster_role(service), ())
    return _without(service, found)


def _picker_place(service: ModelService) -> _Place:
    return service.namespace, names.epp(service.name)


def _cluster_role(service: ModelService) -> _Place:
    return "", names.epp_cluster_role(service.namespace, service.name)


def _without(service: ModelService, found: tuple[ModelService, ...]) -> tuple[ModelService, ...]:
    own = service.namespace, service.name
    return tuple(each for each in found if (each.namespace, each.name) != own)


def _by(
    snapshot: Snapshot, key: Callable[[ModelService], _Place]
) -> Mapping[_Place, tuple[ModelService, ...]]:
    def index(snapshot: Snapshot) -> Mapping[_Place, tuple[ModelService, ...]]:
        groups: dict[_Place, list[ModelService]] = defaultdict(list)
        for service in snapshot[MODELSERVICES]:
            if not service.deleting:
                groups[key(service)].append(service)
        return {place: tuple(group) for place, group in groups.items()}

    return snapshot.once(key, index)


def _recovered(snapshot: Snapshot) -> OperatorSettings:
    """Recover the settings from what the operator has finished, where it has finished anything.

    What it is behind with, or ended in an error at, may have been made with other settings: one
    that hangs would have the objects of all others missed.
    """
    there = tuple(snapshot[MODELSERVICES])
    finished = tuple(each for each in there if _is_finished(each))
    services = [children_of(each, snapshot) for each in finished or there]
    return _same(recover(services).over(_UNTOLD))


def _is_finished(service: ModelService) -> bool:
    behind = service.status.observed_generation < service.metadata.generation
    ready = service.status.condition("Ready")
    failed = ready is None or (ready.status == "False" and ready.reason == RECONCILE_ERROR)
    return not (service.deleting or behind or failed)


@lru_cache(maxsize=64)
def _same(settings: OperatorSettings) -> OperatorSettings:
    return settings
