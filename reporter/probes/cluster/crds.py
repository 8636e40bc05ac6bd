"""Whether the CustomResourceDefinitions that the stack needs are served.

Whether the mesh defines the provider that policies made by older charts rely on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from reporter.catalogue import reasons
from reporter.catalogue.needs import API_KEY_PROVIDER
from reporter.catalogue.reasons import CLUSTER_GATEWAY_AUTH
from reporter.catalogue.resources import AUTHORIZATIONPOLICIES, CONFIGMAPS, DEPLOYMENTS, NAMESPACES
from reporter.catalogue.shared_parts import SHARED_REQUIRED
from reporter.model.finding import Finding
from reporter.model.resource import PartKey
from reporter.model.stack import Need
from reporter.model.subject import CLUSTER, crd_ref
from reporter.model.text import clean
from reporter.probes.scope import Scope
from reporter.setting_types import PartMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Discovery, Served, Snapshot
from reporter.workload.components import (
    NEEDED_BY,
    components,
    managed_namespaces,
    namespace_ref,
    sole_place,
    still_needed_by,
)
from reporter.workload.routing import lacks_api_key_provider, mesh_configs, required_provider

VANISHED: Final = "is not served any more"
"""How the message of one that was there begins: our Event on record tells so after a restart."""


@dataclass(frozen=True, slots=True)
class RequiredCrd:
    """A CustomResourceDefinition by name, and in whose chart it is.

    One of those `instead` is as good, as where a kind has moved to another group. It follows a shared part,
    and its needs show that it has to be there. No Deployment of the parts that it is `of` can run without it.
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
        """Return the namespace of all that needs it; empty where others do, or it is wanted anyway."""
        snapshot, seen = scope.snapshot, scope.earlier.there
        if self.mode is PartMode.ON or self.key in seen or self._running(snapshot, scope.settings):
            return ""
        return sole_place(self.needs, snapshot)

    def _running(self, snapshot: Snapshot, settings: EvaluationSettings) -> str:
        of = (each for each in components(settings) if each.part in self.of)
        running = (each for component in of for each in component.found(snapshot))
        return next((f"{DEPLOYMENTS.ref(each)}" for each in running), "")

    def used(self, scope: Scope) -> str:
        """Return what uses it other than the Deployments that it comes with; empty where nothing does."""
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
