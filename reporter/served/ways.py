"""The paths of requests to a model's pods: Services, InferencePools and pickers, routes.

They are found by the selectors that match the pods, whoever created them; and, where none does,
Services that are meant for them by their names.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from typing import Final, TypeAlias, TypeVar, Unpack

from reporter.catalogue import resources as r
from reporter.catalogue.needs import is_of_istio
from reporter.catalogue.runtime import of_kind
from reporter.diagnosis.fit import selected, some
from reporter.model import objects as o
from reporter.model.finding import Diagnosis, Finding, Sureness
from reporter.model.subject import ObjectRef
from reporter.model.text import clean
from reporter.probes.scope import FaultFields, SubjectScope, of_workload
from reporter.snapshot.decode import selected_by
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.workload import endpoint_pickers, routing
from reporter.workload.deployment import deployment_behind, is_available, judge_deployment
from reporter.workload.gateway_controllers import Dark, unprogrammed
from reporter.workload.replica_faults import WorkloadFault

SelectsT = TypeVar("SelectsT", bound=o.KubeObject)
_Selecting: TypeAlias = Mapping[tuple[str, str], tuple[SelectsT, ...]]

_BACKEND: Final = "Backend"
"""The kind of Envoy Gateway and kgateway that stands for a Service, whose name it mostly has; what
it leads to is not read."""

_MOST: Final = 8
"""The most pools, Services and foreign routes (of each) examined for one model."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """The paths to pods with these labels in a namespace; `listens` are their servers' ports."""

    snapshot: Snapshot
    place: str
    labels: o.Labels
    listens: frozenset[int] = frozenset()

    @cached_property
    def pools(self) -> tuple[o.InferencePool, ...]:
        """The InferencePools, of either API group, that select the pods."""
        near = ((each, each.spec.selector) for each in self._near(_pools))
        matching = (each for each, of in near if of and of.matches(self.labels))
        return tuple(islice(matching, _MOST))

    def ref_of_pool(self, pool: o.InferencePool) -> ObjectRef:
        is_former = self.snapshot[r.INFERENCEPOOLS].get(self.place, pool.name) is None
        return (r.FORMER_POOLS if is_former else r.INFERENCEPOOLS).ref(pool)

    @cached_property
    def services(self) -> tuple[o.Service, ...]:
        near = ((each, each.spec.selector or {}) for each in self._near(_services))
        found = (each for each, of in near if of.items() <= self.labels.items())
        return tuple(islice(found, _MOST))

    def _near(
        self, index_of: Callable[[str, Snapshot], _Selecting[SelectsT]]
    ) -> Iterator[SelectsT]:
        """Yield the selecting objects that are indexed under one of the pods' labels."""
        index = self.snapshot.once((index_of, self.place), partial(index_of, self.place))
        return (each for label in sorted(self.labels.items()) for each in index.get(label, ()))

    @cached_property
    def routes(self) -> tuple[o.HttpRoute, ...]:
        """The HTTPRoutes of the namespace to its pools and Services; else foreign ones to a pool.

        Of the foreign routes only the working ones count, if any works.
        """
        pools = self.naming(r.INFERENCEPOOLS.kind, self.pools)
        own = (
            *pools,
            *self.naming(r.SERVICES.kind, self.services),
            *self.naming(_BACKEND, self.services),
        )
        found = {each.name: each for each in own if each.namespace == self.place}
        if found:
            return tuple(found.values())
        return tuple(each for each in pools if routing.is_reachable((each,))) or pools[:_MOST]

    def naming(
        self, kind: str, backends: Iterable[o.InferencePool | o.Service]
    ) -> tuple[o.HttpRoute, ...]:
        return tuple(
            route
            for each in backends
            for route in routing.routes_naming(self.snapshot, self.place, kind=kind, name=each.name)
        )

    def picker(self, pool: o.InferencePool) -> o.Deployment | None:
        named = pool.spec.endpoint_picker_ref
        return deployment_behind(self.snapshot, self.place, named.name) if named else None

    @property
    def is_picked(self) -> bool:
        """True if a pool picks pods; without pools, if a Service can have endpoints."""
        if self.pools:
            return any(map(self._picks, self.pools))
        without = [each for each, _ in self.misled if each.targets_names]
        return not self.services or len(without) < len(self.services)

    @cached_property
    def misled(self) -> tuple[tuple[o.Service, routing.ParentFault], ...]:
        """The Services whose ports lead to none of the pods' ports, each with its fault."""
        return tuple(
            (each, fault)
            for each in self.services
            for fault in routing.wrong_target(each, self.snapshot, self.listens)
        )

    def _picks(self, pool: o.InferencePool) -> bool:
        picker = self.picker(pool)
        missing = endpoint_pickers.missing_picker_service(pool, self.snapshot)
        return endpoint_pickers.fails_open(pool) or not (
            missing or (picker and not is_available(picker))
        )


def judge_pickers(scope: SubjectScope[o.KubeObject], ways: Ways) -> Iterator[Finding]:
    """Yield a finding for each pool whose endpoint picker is missing or down."""
    reason = of_kind("EPPNotReady", scope.subject.kind)
    for pool in ways.pools:
        reference = pool.spec.endpoint_picker_ref
        if reference is None:
            continue
        if endpoint_pickers.missing_picker_service(pool, scope.snapshot):
            yield scope.finding(
                reason=reason,
                related=ways.ref_of_pool(pool),
                cause=f"Service {reference.name} missing",
                text=f"InferencePool {pool.name} names Service {reference.name} for its endpoint "
                "picker, which does not exist",
                created=pool.created,
                by_spec=True,
            )
            continue
        for flaw in endpoint_pickers.flaws(pool, scope.snapshot):
            yield refused_way(scope, ways.ref_of_pool(pool), flaw, reason=reason, made=pool.created)
        if (picker := ways.picker(pool)) is None:
            continue
        if not is_available(picker):
            pool_of = f", of InferencePool {pool.name}"
            yield deployment_down(scope, picker, reason=reason, what="endpoint picker", of=pool_of)
        elif differs := endpoint_pickers.speaks_otherwise(
            ways.routes,
            pool,
            picker=picker,
            snapshot=scope.snapshot,
            roots=scope.settings.istio_namespace,
        ):
            yield scope.finding(
                reason=reason,
                related=differs.at_fault,
                cause=differs.cause,
                text=differs.text,
                created=picker.created,
                by_spec=True,
            )


def judge_routes(scope: SubjectScope[o.KubeObject], ways: Ways) -> Iterator[Finding]:
    """Yield a finding for each route, pool and Service that does not lead to its pods, and for each
    Gateway of the routes that is not programmed.
    """
    reason = of_kind("RouteNotReady", scope.subject.kind)
    for pool in ways.pools:
        ports = routing.wrong_port(pool, scope.snapshot, ways.listens)
        for fault in (*ports, *routing.pool_faults(pool, scope.snapshot)):
            ref = ways.ref_of_pool(pool)
            yield refused_way(scope, ref, fault, reason=reason, made=pool.created)
    for service, fault in ways.misled:
        alone = not ways.pools and len(ways.misled) == len(ways.services)
        if alone or ways.naming(r.SERVICES.kind, (service,)):
            ref = r.SERVICES.ref(service)
            yield refused_way(scope, ref, fault, reason=reason, made=service.created)
    found = (unprogrammed(each, scope.snapshot) for each in ways.routes)
    dark = {(each.gateway.namespace, each.gateway.name): each for each in found if each}
    yield from (dark_gateway(scope, each, reason=reason) for each in dark.values())
    for route in ways.routes:
        for fault in routing.route_faults(route, scope.snapshot):
            if not (dark and fault.cause == routing.UNSEEN):
                ref = r.HTTPROUTES.ref(route)
                yield refused_way(scope, ref, fault, reason=reason, made=route.created)


def dark_gateway(scope: SubjectScope[o.KubeObject], dark: Dark, *, reason: str) -> Finding:
    """Return the finding about a route's Gateway that is not programmed."""
    name = f"Gateway {dark.gateway.namespace}/{dark.gateway.name}"
    programmed = dark.gateway.status.condition("Programmed", "False")
    return scope.finding(
        reason=reason,
        related=dark.related,
        cause=f"{name} is not programmed",
        text=f"HTTPRoute {dark.route.name}: {name} is not programmed, {dark.why}",
        transition=programmed.last_transition_time if programmed else None,
        created=dark.gateway.created,
        independent=not is_of_istio(dark.gateway, scope.snapshot),
    )


_NOT_AVAILABLE: Final = WorkloadFault("not available", "", passing=True)
"""The fault of a Deployment that shows in its replica count only, while its pods progress."""


def deployment_down(
    scope: SubjectScope[o.KubeObject],
    deployment: o.Deployment,
    *,
    what: str,
    of: str = "",
    effect: str = "",
    **fields: Unpack[FaultFields],
) -> Finding:
    """Return the finding about an unavailable Deployment in the path of requests.

    `fields` replace those of its fault. `effect` says what becomes of requests.
    """
    fault = judge_deployment(deployment, scope.snapshot) or _NOT_AVAILABLE
    why = f": {fault.detail}" if fault.detail else ""
    own: FaultFields = {
        "related": r.DEPLOYMENTS.ref(deployment),
        "created": deployment.created,
        "independent": True,
        **of_workload(fault),
        **fields,
    }
    text = f"{what} is down{why} (Deployment {deployment.name}{of}){effect}"
    return scope.finding(cause=fault.cause, text=text, **own)


def refused_way(
    scope: SubjectScope[o.KubeObject],
    related: ObjectRef,
    fault: routing.ParentFault,
    *,
    reason: str,
    made: datetime | None = None,
) -> Finding:
    """Return the finding about a route, pool or Service that does not reach the model."""
    place = "" if related.namespace == scope.place else f"{related.namespace}/"
    return scope.finding(
        reason=reason,
        related=related,
        cause=fault.cause,
        text=f"{related.kind} {place}{related.name}: {fault.text}",
        severity=fault.severity,
        transition=fault.transition,
        no_older_than=made,
        diagnosis=fault.diagnosis,
    )


NO_SERVICE: Final = 21
"""Severity of an endpoint picker without its Service, on the scale of `workload/routing.py`."""


def worst_way(
    scope: SubjectScope[o.KubeObject],
    related: ObjectRef,
    created: datetime | None,
    *,
    reason: str,
    faults: Iterable[routing.ParentFault],
) -> Iterator[Finding]:
    """Yield one finding for all faults of one object: the worst, and the number of the others."""
    ranked = sorted(faults, key=lambda each: (-each.severity, each.text))
    if not ranked:
        return
    worst, *others = ranked
    more = f" (and {len(others)} more)" if others else ""
    yield scope.finding(
        reason=reason,
        related=related,
        cause=worst.cause,
        text=f"{related.kind} {related.name}: {worst.text}{more}",
        severity=worst.severity,
        transition=worst.transition,
        diagnosis=worst.diagnosis,
        created=created,
        by_spec=worst.severity in {routing.GATEWAY_GONE, NO_SERVICE},
    )


def _pools(namespace: str, snapshot: Snapshot) -> _Selecting[o.InferencePool]:
    present = snapshot[r.INFERENCEPOOLS].in_namespace(namespace)
    names = {each.name for each in present}
    former = (each.pool for each in snapshot[r.FORMER_POOLS].in_namespace(namespace))
    every = (*present, *(each for each in former if each.name not in names))
    return _by_label(
        (each.spec.selector.match_labels if each.spec.selector else None, each) for each in every
    )


def _services(namespace: str, snapshot: Snapshot) -> _Selecting[o.Service]:
    every = snapshot[r.SERVICES].in_namespace(namespace)
    return _by_label((each.spec.selector, each) for each in every)


def _by_label(selecting: Iterable[tuple[o.Labels | None, SelectsT]]) -> _Selecting[SelectsT]:
    """Index objects by the selector label with the longest value, most likely a unique name."""
    return grouped(
        (max(wanted.items(), key=lambda label: (len(label[1]), label)), each)
        for wanted, each in selecting
        if wanted and not each.deleting
    )


_ENDING: Final = re.compile(r"-(?:deployment|statefulset|service|svc|server)$")
"""What the name of a Service may have after that of its workload."""


def judge_services(scope: SubjectScope[o.KubeObject], ways: Ways, name: str) -> Iterator[Finding]:
    """Yield a finding for each Service, or route, that is meant for a workload and misses it.

    Such a Service is found by what it selects no more than its pods are: only its name says whose
    it is. So this looks only where nothing else leads to a model's pods, and at names alone: `chat`
    and `chat-service` for Deployment `chat`. A Service whose workload has no pods for now, as it is
    scaled to zero, is left out: a pod template has the labels that it selects.
    """
    if ways.pools or ways.services:
        return
    reason = of_kind("RouteNotReady", scope.subject.kind)
    place, snapshot = scope.place, scope.snapshot
    index = partial(_selecting_nothing, place)
    for service in snapshot.entry((_selecting_nothing, place), _stem(name), index) or ():
        wanted = service.spec.selector or {}
        has = sorted(f"{clean(k)}={clean(v)}" for k, v in ways.labels.items() if k in wanted)
        own = f", and the pods of {clean(name)} have {some(has) or 'none of these labels'}"
        text = f"selects no pod: it asks for {selected(o.LabelSelector(match_labels=wanted))}{own}"
        action = f"Correct the selector of Service {clean(service.name)}, or the pods' labels."
        why = Diagnosis("selects-nothing", text, "selects no pod", action, sureness=Sureness.LIKELY)
        fault = routing.ParentFault("selects no pod", text, routing.WRONG_PORT, diagnosis=why)
        ref = r.SERVICES.ref(service)
        yield refused_way(scope, ref, fault, reason=reason, made=service.created)
    if not snapshot.lacks(r.SERVICES, place, name):
        return
    for route in routing.routes_naming(snapshot, place, kind=r.SERVICES.kind, name=name):
        text = f"leads to Service {clean(name)}, which does not exist in {clean(place)}"
        action = f"Create Service {clean(place)}/{clean(name)}, or correct the route."
        why = Diagnosis("service-missing", text, "its Service is missing", action, missing=True)
        fault = routing.ParentFault(
            "its Service is missing", text, routing.WRONG_PORT, diagnosis=why
        )
        yield refused_way(scope, r.HTTPROUTES.ref(route), fault, reason=reason, made=route.created)


def _stem(name: str) -> str:
    return _ENDING.sub("", name)


def _selecting_nothing(namespace: str, snapshot: Snapshot) -> Mapping[str, tuple[o.Service, ...]]:
    """Return the Services that select no pod and no pod template, by the stem of their names."""
    made_by: tuple[o.Deployment | o.StatefulSet, ...] = (
        *snapshot[r.DEPLOYMENTS].in_namespace(namespace),
        *snapshot[r.STATEFULSETS].in_namespace(namespace),
    )
    every = (each.spec.template.metadata.labels or {} for each in made_by)
    templates = grouped((label, labels) for labels in every for label in labels.items())
    return grouped(
        (_stem(each.name), each)
        for each in snapshot[r.SERVICES].in_namespace(namespace)
        if each.spec.selector and not each.deleting and not _selects(each, templates, snapshot)
    )


def _selects(
    service: o.Service,
    templates: Mapping[tuple[str, str], tuple[o.Labels, ...]],
    snapshot: Snapshot,
) -> bool:
    """True if a Service selects a pod or a template, or if that cannot be known."""
    wanted = service.spec.selector or {}
    rarest = min(wanted.items(), key=lambda label: (len(templates.get(label, ())), label))
    if any(wanted.items() <= each.items() for each in templates.get(rarest, ())):
        return True
    made_by = (r.DEPLOYMENTS, r.STATEFULSETS)
    if not all(snapshot.absence_known(each, service.namespace) for each in made_by):
        return True
    selector = o.LabelSelector(match_labels=wanted)
    if any(True for _ in snapshot[r.PODS].each_selected(service.namespace, selector)):
        return True
    return not snapshot.absence_known(r.PODS, service.namespace, sought=selected_by(selector))
