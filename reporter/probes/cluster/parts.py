"""Whether the Deployments of the shared control plane are available, and the
CustomResourceDefinitions that the stack needs are served; and whether the mesh defines the provider
that policies made by older charts rely on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from reporter.catalogue import reasons
from reporter.catalogue.needs import API_KEY_PROVIDER
from reporter.catalogue.reasons import CLUSTER_GATEWAY_AUTH, CLUSTER_READY
from reporter.catalogue.resources import AUTHORIZATIONPOLICIES, CONFIGMAPS, DEPLOYMENTS, NAMESPACES
from reporter.catalogue.shared_parts import SHARED_REQUIRED
from reporter.model.finding import Finding, ReadyEvidence
from reporter.model.objects import Deployment
from reporter.model.resource import PartKey
from reporter.model.stack import Need
from reporter.model.subject import CLUSTER, Layer, ObjectRef, crd_ref
from reporter.model.text import clean
from reporter.probes.scope import ComponentScope, Scope, of_workload
from reporter.setting_types import PartMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Discovery, Served, Snapshot
from reporter.workload.components import (
    NEEDED_BY,
    ControlPlaneComponent,
    components,
    managed_namespaces,
    may_be_needed,
    namespace_ref,
    needed_since,
    sole_place,
    still_needed_by,
)
from reporter.workload.deployment import is_available, judge_deployment
from reporter.workload.owners import declared_workloads, is_workload_available
from reporter.workload.routing import lacks_api_key_provider, mesh_configs, required_provider
from reporter.workload.standing import MISSING, SCALED_TO_ZERO, WorkloadFault


def probe_component(scope: ComponentScope) -> Iterator[Finding]:
    """Yield a finding for each Deployment that is down or degraded, or missing where it is needed.

    Every component is judged, also a second one of the same reason.
    """
    component, snapshot = scope.component, scope.snapshot
    found = component.found(snapshot, scope.earlier.there)
    if found:
        yield from _judge_found(snapshot, component, found)
        return
    if not component.is_missing(snapshot):
        return
    by = still_needed_by(component.key, component.needs, snapshot, seen=scope.earlier)
    was = scope.earlier.there.get(component.key)
    if was is None and component.is_at_work(snapshot):
        return
    if by or was or component.mode is PartMode.ON:
        yield _missing(snapshot, component, by=by, was=was)


def is_expected(scope: Scope, component: ControlPlaneComponent) -> bool:
    """Tell whether a component is there, or has to be."""
    return bool(
        component.mode is PartMode.ON
        or component.found(scope.snapshot)
        or component.key in scope.earlier.there
        or still_needed_by(component.key, component.needs, scope.snapshot, seen=scope.earlier)
    )


def is_component_available(scope: Scope, component: ControlPlaneComponent) -> bool:
    """Tell whether a component is there, available and without fault."""
    snapshot = scope.snapshot
    found = component.found(snapshot, scope.earlier.there)
    if not found and component.key not in scope.earlier.there:
        return component.is_at_work(snapshot)
    available = any(is_available(each) for each in found)
    return available and not any(_judge_found(snapshot, component, found))


def _judge_found(
    snapshot: Snapshot, component: ControlPlaneComponent, found: tuple[Deployment, ...]
) -> Iterator[Finding]:
    available = any(is_available(each) for each in found)
    more, places = "", ", ".join(component.namespaces)
    if others := component.elsewhere(snapshot, found):
        more = (
            f" (another one of its name, which does not count, is in namespace {', '.join(others)})"
        )
    elif any(map(component.is_elsewhere, found)):
        more = f" (found by its image or label; looked for as {component.deployment} in {places})"
    for deployment in found:
        fault = judge_deployment(deployment, snapshot)
        if fault is None or (available and deployment.wanted == 0):
            continue  # a revision that was scaled to zero next to one that took over is nothing
        yield _finding(
            snapshot,
            component,
            fault,
            related=DEPLOYMENTS.ref(deployment),
            created=deployment.created,
            more=more,
            governs=component.row.governs and not available,
        )


def _missing(
    snapshot: Snapshot, component: ControlPlaneComponent, *, by: str, was: ObjectRef | None
) -> Finding:
    """Return the finding of one that is not there, with what needs it and where it was."""
    namespace = was.namespace if was else component.home(snapshot)
    more = (
        f" (looked in {', '.join(component.namespaces)})" if len(component.namespaces) > 1 else ""
    )
    more += f"{NEEDED_BY}{by}" if by else ""
    more += ", and it was there before" if was and not by else ""
    return _finding(
        snapshot,
        component,
        MISSING,
        related=was or DEPLOYMENTS.ref_named(namespace, component.deployment),
        more=more,
        # While statuses keep up, whoever writes them may work out of sight: no cause hides behind
        # that.
        governs=component.row.governs and (was is not None or not component.keeps_up(snapshot)),
        sole_place=component.sole_place(snapshot) if was is None else "",
        no_older_than=needed_since(component.needs, snapshot) if by and was is None else None,
    )


def _finding(
    snapshot: Snapshot,
    component: ControlPlaneComponent,
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
        involved=namespace_ref(snapshot, related.namespace),
        related=related,
        message=clean(f"{related} is {fault.standing}: {fault.detail}{more}"),
        cause=fault.cause,
        # The one that governs is the one to tell: its message carries what it suppresses.
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

    What users declare counts with them, unless they said that Ready need not wait for it. Where no
    component is there or needed, there is nothing that could be seen to work; where it cannot be
    read whether one is needed, nobody can say so.
    """
    every = components(scope.settings)
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
    served = {
        each.name
        for each in required_crds(scope.settings)
        if each.served(discovery) is Served.SERVED
    }
    available = len(configured) + len(declared)
    release = namespace_ref(scope.snapshot, scope.settings.release_namespace)
    yield ReadyEvidence(
        reason=CLUSTER_READY,
        subject=CLUSTER,
        involved=release,
        related=release,
        message=f"The cluster layer is healthy: {available} component(s) available, "
        f"{len(served) + len(declared_crds)} of their CustomResourceDefinition(s) served",
    )


VANISHED: Final = "is not served any more"
"""How the message of one that was there begins: our Event on record tells so after a restart."""


@dataclass(frozen=True, slots=True)
class RequiredCrd:
    """A CustomResourceDefinition by name, and in whose chart it is.

    One of those `instead` is as good, as where a kind has moved to another group. It follows a
    shared part, and its needs show that it has to be there. No Deployment of the parts that it is
    `of` can run without it.
    """

    name: str
    owner: str
    instead: tuple[str, ...] = ()
    part: str = ""
    mode: PartMode = PartMode.ON
    needs: tuple[Need, ...] = ()
    of: tuple[str, ...] = ()

    @property
    def key(self) -> PartKey:
        return reasons.CLUSTER_CRD_MISSING, self.name

    def served(self, discovery: Discovery) -> Served:
        """Return what discovery says of it, or of the best of those that are as good."""
        states = {discovery.state(each) for each in (self.name, *self.instead)}
        return next(
            each for each in (Served.SERVED, Served.UNKNOWN, Served.ABSENT) if each in states
        )

    def needed(self, scope: Scope) -> str:
        """Return what needs it, by name; empty where nothing is known to."""
        return self.used(scope) or self._running(scope.snapshot, scope.settings)

    def sole_place(self, scope: Scope) -> str:
        """Return the namespace of all that needs it; empty if others do, or it is wanted anyway."""
        snapshot, seen = scope.snapshot, scope.earlier.there
        if self.mode is PartMode.ON or self.key in seen or self._running(snapshot, scope.settings):
            return ""
        return sole_place(self.needs, snapshot)

    def _running(self, snapshot: Snapshot, settings: EvaluationSettings) -> str:
        of = (each for each in components(settings) if each.part in self.of)
        running = (each for component in of for each in component.found(snapshot))
        return next((f"{DEPLOYMENTS.ref(each)}" for each in running), "")

    def used(self, scope: Scope) -> str:
        """Return what uses it apart from the Deployments that it comes with; maybe nothing."""
        return still_needed_by(self.key, self.needs, scope.snapshot, seen=scope.earlier)


@lru_cache(maxsize=8)
def required_crds(settings: EvaluationSettings) -> tuple[RequiredCrd, ...]:
    """Return the CRDs of the parts that are not switched off; one may be there for several."""
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
            found.append(
                RequiredCrd(kind.crd, kind.owner, kind.instead, part, mode, kind.needs, kind.of)
            )
    return tuple(found)


def missed_crds(scope: Scope) -> Iterator[tuple[RequiredCrd, str]]:
    """Yield the CRDs that are not known to be served and have to be, each once.

    With each comes what needs it, which is empty where its part is `on` or where it has vanished.
    """
    told: set[str] = set()
    for crd in required_crds(scope.settings):
        if crd.name in told or crd.served(scope.snapshot.discovery) is Served.SERVED:
            continue
        by = crd.needed(scope)
        if by or crd.mode is PartMode.ON or crd.key in scope.earlier.there:
            told.add(crd.name)
            yield crd, by


def probe_crds(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each required CRD that discovery answered not to be there.

    Discovery that failed tells nothing.
    """
    for crd, by in missed_crds(scope):
        if crd.served(scope.snapshot.discovery) is not Served.ABSENT:
            continue
        ref = crd_ref(crd.name)
        state = VANISHED if crd.key in scope.earlier.there else "is not served"
        needed = f"{NEEDED_BY}{by}" if by else ""
        yield Finding(
            reason=reasons.CLUSTER_CRD_MISSING,
            subject=CLUSTER,
            involved=ref,
            related=ref,
            message=clean(
                f"{ref} {state}{needed}: install or repair the chart that owns it ({crd.owner}); "
                f"where it is not wanted, set --components {crd.part}=off"
            ),
            cause=f"{crd.name} missing",
            governs=True,
            unneeded=crd.key not in scope.earlier.there and not crd.used(scope),
            sole_place=crd.sole_place(scope),
        )


_SEVERITY: Final = 5
"""Less than a Deployment that does not run."""


def probe_mesh_provider(scope: Scope) -> Iterator[Finding]:
    """Yield a finding if policies need the provider of API keys and no mesh defines it.

    Current charts make neither the policies nor the provider, so it is normal that the
    provider alone is away.
    """
    if not lacks_api_key_provider(scope.snapshot, scope.settings):
        return
    needed = any(
        required_provider(policy) == API_KEY_PROVIDER
        for namespace in managed_namespaces(scope.snapshot)
        for policy in scope.snapshot[AUTHORIZATIONPOLICIES].in_namespace(namespace.name)
    )
    if not needed:
        return
    config = mesh_configs(scope.snapshot, scope.settings)[0]
    table = scope.snapshot[NAMESPACES]
    candidates = scope.settings.gateway_auth_namespace
    home = next((each for each in candidates if table.get("", each)), candidates[0])
    yield Finding(
        reason=CLUSTER_GATEWAY_AUTH,
        subject=CLUSTER,
        involved=namespace_ref(scope.snapshot, home),
        related=CONFIGMAPS.ref(config),
        message=clean(
            f"ConfigMap {config.namespace}/{config.name} does not define the extension provider "
            f"{API_KEY_PROVIDER}, which AuthorizationPolicies of workload namespaces name"
        ),
        cause=f"provider {API_KEY_PROVIDER} missing",
        severity=_SEVERITY,
    )
