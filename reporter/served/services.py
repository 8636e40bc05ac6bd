"""Services that are meant for a model and select no pod, and routes to Services that do not exist.

Such a Service is found by what it selects no more than its pods are: only its name says whose it
is. So this looks only where nothing else leads to a model's pods, and at names alone: `chat` and
`chat-service` for Deployment `chat`. A Service whose workload has no pods for now, as it is scaled
to zero, is left out: a pod template has the labels that it selects.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.runtime import of_kind
from reporter.diagnosis.fit import selected, some
from reporter.model import objects as o
from reporter.model.finding import Diagnosis, Finding, Sureness
from reporter.model.text import clean
from reporter.probes.scope import SubjectScope
from reporter.served.ways import Ways, refused_way
from reporter.snapshot.decode import selected_by
from reporter.snapshot.index import grouped
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.routing import WRONG_PORT, ParentFault, routes_naming

_ENDING: Final = re.compile(r"-(?:deployment|statefulset|service|svc|server)$")


def judge_services(scope: SubjectScope[o.KubeObject], ways: Ways, name: str) -> Iterator[Finding]:
    """Yield a finding for each Service, or route, that is meant for a workload and misses it."""
    if ways.pools or ways.services:
        return
    reason = of_kind("RouteNotReady", scope.subject.kind)
    place, snapshot = scope.place, scope.snapshot
    index = partial(_selecting_nothing, place)
    for service in snapshot.entry((_selecting_nothing, place), _stem(name), index) or ():
        wanted = service.spec.selector or {}
        has = sorted(f"{clean(k)}={clean(v)}" for k, v in ways.labels.items() if k in wanted)
        own = f", and the pods of {clean(name)} have {some(has) or 'none of these labels'}"
        text = f"selects no pod: it asks for {_written(wanted)}{own}"
        action = f"Correct the selector of Service {clean(service.name)}, or the pods' labels."
        why = Diagnosis("selects-nothing", text, "selects no pod", action, sureness=Sureness.LIKELY)
        fault = ParentFault("selects no pod", text, WRONG_PORT, diagnosis=why)
        ref = r.SERVICES.ref(service)
        yield refused_way(scope, ref, fault, reason=reason, made=service.created)
    if not snapshot.lacks(r.SERVICES, place, name):
        return
    for route in routes_naming(snapshot, place, kind=r.SERVICES.kind, name=name):
        text = f"leads to Service {clean(name)}, which does not exist in {clean(place)}"
        action = f"Create Service {clean(place)}/{clean(name)}, or correct the route."
        why = Diagnosis("service-missing", text, "its Service is missing", action, missing=True)
        fault = ParentFault("its Service is missing", text, WRONG_PORT, diagnosis=why)
        yield refused_way(scope, r.HTTPROUTES.ref(route), fault, reason=reason, made=route.created)


def _written(labels: o.Labels) -> str:
    return selected(o.LabelSelector(match_labels=labels))


def _stem(name: str) -> str:
    return _ENDING.sub("", name)


def _selecting_nothing(namespace: str, snapshot: Snapshot) -> Mapping[str, tuple[o.Service, ...]]:
    """Return the Services that select no pod and no pod template, by the stem of their names."""
    templates = _templates(namespace, snapshot)
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
    if not all(
        snapshot.absence_known(e, service.namespace) for e in (r.DEPLOYMENTS, r.STATEFULSETS)
    ):
        return True
    selector = o.LabelSelector(match_labels=wanted)
    if any(True for _ in snapshot[r.PODS].each_selected(service.namespace, selector)):
        return True
    return not snapshot.absence_known(r.PODS, service.namespace, sought=selected_by(selector))


def _templates(
    namespace: str, snapshot: Snapshot
) -> Mapping[tuple[str, str], tuple[o.Labels, ...]]:
    """Return the labels of the pod templates in a namespace, by each label."""
    of_deployments = (
        each.spec.template for each in snapshot[r.DEPLOYMENTS].in_namespace(namespace)
    )
    of_sets = (each.spec.template for each in snapshot[r.STATEFULSETS].in_namespace(namespace))
    every = (each.metadata.labels or {} for each in chain(of_deployments, of_sets))
    return grouped((label, labels) for labels in every for label in labels.items())
