"""The services that a Gateway's requests pass before routing, and what happens without them.

An EnvoyFilter sends requests to a service (`ext_proc`, like the body-based router, or `ext_authz`),
or an AuthorizationPolicy with the action CUSTOM does, through a provider of the mesh configuration.
Each says whether requests pass without an answer. Only the Gateways that one of them selects are
affected.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.catalogue.needs import GATEWAY_NAME
from reporter.catalogue.reasons import CLUSTER_GATEWAY_AUTH
from reporter.model.finding import Entrance
from reporter.model.objects import AskedService, AuthorizationPolicy, EnvoyFilter, LabelSelector
from reporter.model.subject import ObjectRef
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.routing import mesh_services, required_provider

_NAME: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
CLUSTER: Final = re.compile(rf"outbound\|\d+\|[^|]*\|({_NAME})\.({_NAME})\.svc(?:\..*)?")
"""Istio's name of the Envoy cluster for a Service's port."""

TARGET: Final = re.compile(
    rf"(?:[a-z0-9+.-]+:/+)?({_NAME})\.({_NAME})(\.svc(?:\.[^:/]+)?)?(:\d+)?(?:/.*)?"
)
"""A target or address: `[<scheme>://]<service>.<namespace>[.svc[.<domain>]][:<port>][/<path>]`."""


class Loss(IntEnum):
    """What happens to requests without a part: `SLOWED` pass without its work, `STOPPED` fail."""

    SLOWED = 1
    UNCLEAR = 2
    STOPPED = 3


_Asking: TypeAlias = Mapping[Entrance, tuple[AskedService, ...]]

_EVERY: Final = ""
"""In place of a Gateway's name: all Gateways of a namespace."""

_UNKNOWN: Final = AskedService(host="")
"""The service of a provider while the mesh configuration cannot be read."""


def losses(
    snapshot: Snapshot, settings: EvaluationSettings, *, reason: str, down: Collection[ObjectRef]
) -> Callable[[Entrance], Loss | None] | None:
    """Return a function for the loss of a Gateway while some Deployments of a part are down.

    It returns None for a Gateway that sends them no requests. Return None if the filters or
    policies cannot be read, so that the loss of no Gateway is known.
    """
    by_policy = reason == CLUSTER_GATEWAY_AUTH
    kinds = (r.ENVOYFILTERS, r.AUTHORIZATIONPOLICIES) if by_policy else (r.ENVOYFILTERS,)
    if not all(snapshot.known(each) for each in kinds):
        return None
    asking = snapshot.once(("asked", settings.istio_namespace), lambda of: _asking(of, settings))
    at: dict[Entrance, Loss] = {}
    for key, every in asking.items():
        found = [loss for e in every if (loss := _loss(e, down, snapshot, by_policy=by_policy))]
        if found:
            at[key] = max(found)
    everywhere = [(root, _EVERY) for root in settings.istio_namespace]

    def lost(entrance: Entrance) -> Loss | None:
        ways = (entrance, (entrance[0], _EVERY), *everywhere)
        return max((at[each] for each in ways if each in at), default=None)

    return lost


def _loss(
    asked: AskedService, down: Iterable[ObjectRef], snapshot: Snapshot, *, by_policy: bool
) -> Loss | None:
    if asked == _UNKNOWN:
        return Loss.UNCLEAR if by_policy else None
    if not any(_is_run_by(asked.host, each, snapshot) for each in down):
        return None
    return Loss.SLOWED if asked.fails_open else Loss.STOPPED


def _asking(snapshot: Snapshot, settings: EvaluationSettings) -> _Asking:
    """Return the services to which the filters and policies of each Gateway send requests."""
    found: dict[Entrance, dict[AskedService, None]] = defaultdict(dict)
    for envoy_filter in snapshot[r.ENVOYFILTERS]:
        for gateway in () if envoy_filter.deleting else _named(envoy_filter):
            found[envoy_filter.namespace, gateway].update(dict.fromkeys(envoy_filter.spec.asked))
    services = mesh_services(snapshot, settings)
    for policy in snapshot[r.AUTHORIZATIONPOLICIES]:
        provider = required_provider(policy)
        asked = services.get(provider, ()) if services is not None else (_UNKNOWN,)
        for gateway in _named(policy) if provider and asked else ():
            found[policy.namespace, gateway].update(dict.fromkeys(asked))
    return {key: tuple(each) for key, each in found.items()}


def _named(obj: EnvoyFilter | AuthorizationPolicy) -> Iterator[str]:
    """Yield the Gateways that an object of Istio selects; other labels select no Gateways."""
    for target in obj.spec.target_refs or ():
        if target.kind == r.GATEWAYS.kind:
            yield target.name
    if obj.spec.target_refs:
        return
    if isinstance(obj, EnvoyFilter):
        selector = obj.spec.workload_selector
        labels = selector.labels if selector else None
    else:
        labels = obj.spec.selector.match_labels if obj.spec.selector else None
    if not labels:
        yield _EVERY
    elif GATEWAY_NAME in labels:
        yield labels[GATEWAY_NAME]


def _is_run_by(host: str, deployment: ObjectRef, snapshot: Snapshot) -> bool:
    """Tell whether a host is a Service of a Deployment, by its name or by its selector."""
    found = CLUSTER.fullmatch(host) or TARGET.fullmatch(host)
    if found is None or found[2] != deployment.namespace:
        return False
    if found[1] == deployment.name:
        return True
    service = snapshot[r.SERVICES].get(found[2], found[1])
    runs = snapshot[r.DEPLOYMENTS].get(deployment.namespace, deployment.name)
    if service is None or runs is None or not service.spec.selector:
        return False
    labels = runs.spec.template.metadata.labels
    return LabelSelector(match_labels=service.spec.selector).matches(labels)
