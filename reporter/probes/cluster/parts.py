"""Probes for the shared control plane: whether its Deployments are available, whether the required
CustomResourceDefinitions are served, and whether the mesh defines the provider that policies of
older charts rely on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from reporter.catalogue import reasons
from reporter.catalogue.needs import API_KEY_PROVIDER
from reporter.catalogue.reasons import CLUSTER_GATEWAY_AUTH, CLUSTER_READY
from reporter.catalogue.resources import AUTHORIZATIONPOLICIES, CONFIGMAPS, DEPLOYMENTS
from reporter.catalogue.shared_parts import SHARED_REQUIRED
from reporter.model.finding import Finding, ReadyEvidence
from reporter.model.objects import Deployment
from reporter.model.resource import PartKey
from reporter.model.stack import Need, RequiredKind
from reporter.model.subject import CLUSTER, Layer, ObjectRef, crd_ref
from reporter.model.text import clean
from reporter.probes.scope import ComponentScope, Scope, of_workload
from reporter.setting_types import PartMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Discovery, Served, Snapshot
from reporter.workload import components as c
from reporter.workload.components import may_be_needed
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.owners import declared_workloads, first_there, is_workload_available
from reporter.workload.replica_faults import MISSING, SCALED_TO_ZERO, WorkloadFault
from reporter.workload.routing import lacks_api_key_provider, mesh_configs, required_provider


def probe_component(scope: ComponentScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment that is down or degraded, or missing but needed.

    Every component is judged, even a second one with the same reason.
    """
    component, snapshot = scope.component, scope.snapshot
    found = component.found(snapshot, scope.earlier.there)
    if found:
        yield from _judge_found(snapshot, component, found)
        return
    if not component.is_missing(snapshot):
        return
    by = c.still_needed_by(component.key, component.needs, snapshot, seen=scope.earlier)
    was = scope.earlier.there.get(component.key)
    if was is None and component.is_at_work(snapshot):
        return
    if by or was or component.mode is PartMode.ON:
        yield _missing(snapshot, component, by=by, was=was)


def is_expected(scope: Scope, component: c.ControlPlaneComponent) -> bool:
    return bool(
        component.mode is PartMode.ON
        or component.found(scope.snapshot)
        or component.key in scope.earlier.there
        or c.still_needed_by(component.key, component.needs, scope.snapshot, seen=scope.earlier)
    )


def is_component_available(scope: Scope, component: c.ControlPlaneComponent) -> bool:
    snapshot = scope.snapshot
    found = component.found(snapshot, scope.earlier.there)
    if not found and component.key not in scope.earlier.there:
        return component.is_at_work(snapshot)
    available = any(is_available(each) for each in found)
    return available and not any(_judge_found(snapshot, component, found))


def _judge_found(
    snapshot: Snapshot, component: c.ControlPlaneComponent, found: tuple[Deployment, ...]
) -> Iterator[Finding]:
    available = any(is_available(each) for each in found)
    more, looked = "", ", ".join(component.namespaces)
    if others := component.elsewhere(snapshot, found):
        there = ", ".join(others)
        more = f" (another one of its name, which does not count, is in namespace {there})"
    elif any(map(component.is_elsewhere, found)):
        more = f" (found by its image or label; looked for as {component.deployment} in {looked})"
    for deployment in found:
        fault = judge_deployment(deployment, snapshot)
        if fault is None or (available and deployment.wanted == 0):
            continue  # a revision that was scaled to zero after another one took over
        yield _finding(
            snapshot,
            component,
            fault,
            related=DEPLOYMENTS.ref(deployment),
            created=deployment.created,
            more=more,
            governs=component.row.governs and not available,
            sole_place=component.sole_place(snapshot, deployment.namespace)
            if component.is_elsewhere(deployment)
            else "",
        )


def _missing(
    snapshot: Snapshot, component: c.ControlPlaneComponent, *, by: str, was: ObjectRef | None
) -> Finding:
    """Return the finding about a missing component, with what needs it and where it was."""
    namespace = was.namespace if was else component.home(snapshot)
    looked = component.namespaces
    more = f" (looked in {', '.join(looked)})" if len(looked) > 1 else ""
    more += f"{c.NEEDED_BY}{by}" if by else ""
    more += ", and it was there before" if was and not by else ""
    return _finding(
        snapshot,
        component,
        MISSING,
        related=was or DEPLOYMENTS.ref_named(namespace, component.deployment),
        more=more,
        # While statuses are up to date, their writer may run where the reporter cannot see it, so a
        # component that was never seen must not suppress anything.
        governs=component.row.governs and (was is not None or not component.keeps_up(snapshot)),
        sole_place=component.sole_place(snapshot, was.namespace if was else ""),
        no_older_than=c.needed_since(component.needs, snapshot) if by and was is None else None,
    )


def _finding(
    snapshot: Snapshot,
    component: c.ControlPlaneComponent,
    fault: WorkloadFault,
    *,
    related: ObjectRef,
    created: datetime | None = None,
    more: str = "",
    governs: bool,
    sole_place: str = "",
    no_older_than: datetime | None = None,
) -> Finding:
    return Finding(
        reason=component.reason,
        subject=CLUSTER,
        involved=c.namespace_ref(snapshot, related.namespace),
        related=related,
        message=clean(f"{related} is {fault.state}: {fault.detail}{more}"),
        cause=fault.cause,
        # Report the fault that governs: its message lists what it suppresses.
        severity=fault.severity + governs,
        created=created,
        governs=governs,
        down=fault.down,
        by_spec=fault == SCALED_TO_ZERO,
        sole_place=sole_place,
        no_older_than=no_older_than,
        **of_workload(fault),
    )


def probe_cluster_ready(scope: Scope) -> Iterator[ReadyEvidence]:
    """Yield the evidence if every needed Deployment is available and every CRD served.

    Users' declarations count too, unless Ready need not wait for them. There is no evidence if no
    component exists or is needed, or if it cannot be read whether one is needed.
    """
    every = c.components(scope.settings)
    configured = tuple(each for each in every if is_expected(scope, each))
    if any(may_be_needed(each.needs, scope.snapshot) for each in every if each not in configured):
        return
    declared = tuple(
        each
        for each in declared_workloads(scope.settings, Layer.CLUSTER)
        if each.component.blocks_ready
    )
    if not configured and not declared:
        return
    if not all(is_component_available(scope, each) for each in configured):
        return
    workloads = [each.found(scope.snapshot) for each in declared]
    if not all(each is not None and is_workload_available(each) for each in workloads):
        return
    discovery = scope.snapshot.discovery
    users = (each.component for each in scope.settings.catalogue.declared)
    declared_crds = [
        discovery.state(each.crd.name)
        for each in users
        if each.crd is not None and each.blocks_ready
    ]
    if any(missed_crds(scope)) or any(each is not Served.SERVED for each in declared_crds):
        return
    served = {e.name for e in required_crds(scope.settings) if e.served(discovery) is Served.SERVED}
    available = len(configured) + len(declared)
    release = c.namespace_ref(scope.snapshot, scope.settings.release_namespace)
    yield ReadyEvidence(
        reason=CLUSTER_READY,
        subject=CLUSTER,
        involved=release,
        related=release,
        message=f"The cluster layer is healthy: {available} component(s) available, "
        f"{len(served) + len(declared_crds)} of their CustomResourceDefinition(s) served",
    )


VANISHED: Final = "is not served any more"
"""Part of the message for a CRD that existed before; our recorded Event shows it after a restart.
"""


@dataclass(frozen=True, slots=True)
class RequiredCrd:
    """A kind that must be served, of a shared part or the part that its stack is."""

    kind: RequiredKind
    part: str
    mode: PartMode

    @property
    def name(self) -> str:
        return self.kind.crd

    @property
    def needs(self) -> tuple[Need, ...]:
        return self.kind.needs

    @property
    def key(self) -> PartKey:
        return reasons.CLUSTER_CRD_MISSING, self.name

    def served(self, discovery: Discovery) -> Served:
        """Return the best state, by discovery, of it and its alternatives."""
        states = {discovery.state(each) for each in (self.name, *self.kind.instead)}
        return next(e for e in (Served.SERVED, Served.UNKNOWN, Served.ABSENT) if e in states)

    def needed(self, scope: Scope) -> str:
        """Return the name of an object that needs it, or an empty string."""
        running = (each for _, each in self._running(scope.snapshot, scope.settings))
        return self.used(scope) or next((f"{DEPLOYMENTS.ref(each)}" for each in running), "")

    def sole_place(self, scope: Scope) -> str:
        """Return the only namespace that needs it; empty if several do or it is expected anyway."""
        if self.mode is PartMode.ON or self.key in scope.earlier.there:
            return ""
        found = dict.fromkeys(c.places(self.needs, scope.snapshot))
        for component, running in self._running(scope.snapshot, scope.settings):
            if not component.is_elsewhere(running):
                return ""
            found[running.namespace] = None
        return "".join(found) if len(found) == 1 else ""

    def _running(
        self, snapshot: Snapshot, settings: EvaluationSettings
    ) -> Iterator[tuple[c.ControlPlaneComponent, Deployment]]:
        of = (each for each in c.components(settings) if each.part in self.kind.of)
        return ((component, each) for component in of for each in component.found(snapshot))

    def used(self, scope: Scope) -> str:
        """Return what uses it, other than the Deployments it comes with, or an empty string."""
        return c.still_needed_by(self.key, self.needs, scope.snapshot, seen=scope.earlier)


@lru_cache(maxsize=8)
def required_crds(settings: EvaluationSettings) -> tuple[RequiredCrd, ...]:
    """Return the CRDs of the parts that are not switched off; a CRD may belong to several."""
    every = (
        *((each, "") for each in SHARED_REQUIRED),
        *((each, stack.name) for stack in settings.known_stacks for each in stack.required),
    )
    found = []
    for kind, stack in every:
        part = kind.part or stack
        mode = settings.component(part, kind.settings, stack=stack if kind.with_stack else "")
        if kind.only_needed and mode is PartMode.ON:
            mode = PartMode.AUTO
        if mode is not PartMode.OFF:
            found.append(RequiredCrd(kind, part, mode))
    return tuple(found)


def missed_crds(scope: Scope) -> Iterator[tuple[RequiredCrd, str]]:
    """Yield the CRDs that have to be served and are not known to be, each once.

    Each comes with the name of an object that needs it; that is empty if it is only expected
    because its part is `on` or because it was served before.
    """
    yielded: set[str] = set()
    for crd in required_crds(scope.settings):
        if crd.name in yielded or crd.served(scope.snapshot.discovery) is Served.SERVED:
            continue
        by = crd.needed(scope)
        if by or crd.mode is PartMode.ON or crd.key in scope.earlier.there:
            yielded.add(crd.name)
            yield crd, by


def probe_crds(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each required CRD that is absent; failed discovery does not count."""
    for crd, by in missed_crds(scope):
        if crd.served(scope.snapshot.discovery) is not Served.ABSENT:
            continue
        ref = crd_ref(crd.name)
        state = VANISHED if crd.key in scope.earlier.there else "is not served"
        needed = f"{c.NEEDED_BY}{by}" if by else ""
        yield Finding(
            reason=reasons.CLUSTER_CRD_MISSING,
            subject=CLUSTER,
            involved=ref,
            related=ref,
            message=clean(
                f"{ref} {state}{needed}: install or repair the chart that owns it "
                f"({crd.kind.owner}); where it is not wanted, set --components {crd.part}=off"
            ),
            cause=f"{crd.name} missing",
            governs=True,
            unneeded=crd.key not in scope.earlier.there and not crd.used(scope),
            sole_place=crd.sole_place(scope),
        )


_SEVERITY: Final = 5
"""Less than that of a Deployment that does not run."""


def probe_mesh_provider(scope: Scope) -> Iterator[Finding]:
    """Yield a finding if policies need the provider of API keys and no mesh defines it.

    Current charts create neither the policies nor the provider, so a missing provider alone is
    normal.
    """
    if not lacks_api_key_provider(scope.snapshot, scope.settings):
        return
    needed = any(
        required_provider(policy) == API_KEY_PROVIDER
        for namespace in c.managed_namespaces(scope.snapshot)
        for policy in scope.snapshot[AUTHORIZATIONPOLICIES].in_namespace(namespace.name)
    )
    if not needed:
        return
    config = mesh_configs(scope.snapshot, scope.settings)[0]
    home = first_there(scope.settings.gateway_auth_namespace, scope.snapshot)
    yield Finding(
        reason=CLUSTER_GATEWAY_AUTH,
        subject=CLUSTER,
        involved=c.namespace_ref(scope.snapshot, home),
        related=CONFIGMAPS.ref(config),
        message=clean(
            f"ConfigMap {config.namespace}/{config.name} does not define the extension provider "
            f"{API_KEY_PROVIDER}, which AuthorizationPolicies of workload namespaces name"
        ),
        cause=f"provider {API_KEY_PROVIDER} missing",
        severity=_SEVERITY,
    )
