"""What a Gateway's requests pass before they are routed, and what becomes of them without it.

An EnvoyFilter sends them to a service (`ext_proc` as the body-based router, `ext_authz`), or an
AuthorizationPolicy with the action CUSTOM does, by a provider of the mesh configuration. Each says
whether requests pass without an answer. Only Gateways that one of them names are hit.
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
"""How Istio names the Envoy cluster of a Service's port."""

TARGET: Final = re.compile(
    rf"(?:[a-z0-9+.-]+:/+)?({_NAME})\.({_NAME})(\.svc(?:\.[^:/]+)?)?(:\d+)?(?:/.*)?"
)
"""A target or address: `[<scheme>://]<service>.<namespace>[.svc[.<domain>]][:<port>][/<path>]`."""


class Loss(IntEnum):
    """What becomes of requests without a part: `SLOWED` lose what it does, `STOPPED` fail."""

    SLOWED = 1
    UNCLEAR = 2
    STOPPED = 3


_Asking: TypeAlias = Mapping[Entrance, tuple[AskedService, ...]]

_EVERY: Final = ""
"""In place of a Gateway's name: all of a namespace."""

_UNTOLD: Final = AskedService(host="")
"""What a provider asks while the mesh configuration cannot be read."""


def losses(
    snapshot: Snapshot, settings: EvaluationSettings, *, reason: str, down: Collection[ObjectRef]
) -> Callable[[Entrance], Loss | None] | None:
    """Return how to tell what a Gateway loses while some Deployments of a part are down.

    One that sends them nothing loses nothing. None where what sends them something cannot be read,
    so that nobody can tell of any Gateway.
    """
    by_policy = reason == CLUSTER_GATEWAY_AUTH
    kinds = (r.ENVOYFILTERS, r.AUTHORIZATIONPOLICIES) if by_policy else (r.ENVOYFILTERS,)
    if not all(snapshot.known(each) for each in kinds):
        return None
    asking = snapshot.once(
        ("asked", settings.istio_namespace), lambda seen: _asking(seen, settings)
    )
    at: dict[Entrance, Loss] = {}
    for key, every in asking.items():
        found = [
            loss for each in every if (loss := _loss(each, down, snapshot, by_policy=by_policy))
        ]
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
    if asked == _UNTOLD:
        return Loss.UNCLEAR if by_policy else None
    if not any(_is_run_by(asked.host, each, snapshot) for each in down):
        return None
    return Loss.SLOWED if asked.fails_open else Loss.STOPPED


def _asking(snapshot: Snapshot, settings: EvaluationSettings) -> _Asking:
    """Return what the filters and policies of each Gateway send its requests to."""
    found: dict[Entrance, dict[AskedService, None]] = defaultdict(dict)
    for envoy_filter in snapshot[r.ENVOYFILTERS]:
        for gateway in () if envoy_filter.deleting else _named(envoy_filter):
            found[envoy_filter.namespace, gateway].update(dict.fromkeys(envoy_filter.spec.asked))
    services = mesh_services(snapshot, settings)
    for policy in snapshot[r.AUTHORIZATIONPOLICIES]:
        provider = required_provider(policy)
        asked = services.get(provider, ()) if services is not None else (_UNTOLD,)
        for gateway in _named(policy) if provider and asked else ():
            found[policy.namespace, gateway].update(dict.fromkeys(asked))
    return {key: tuple(each) for key, each in found.items()}


def _named(obj: EnvoyFilter | AuthorizationPolicy) -> Iterator[str]:
    """Yield the Gateways that an object of Istio selects; other labels select none of ours."""
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
    """Tell whether a host is a Service of a Deployment: by what it selects, else by its name."""
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
