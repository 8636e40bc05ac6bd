"""The shared components of the stack: which are configured, and where each one runs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from reporter.catalogue import reasons
from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES
from reporter.model.objects import Deployment
from reporter.model.stack import Controller, StackRows
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One configured Deployment of the shared control plane.

    Attributes:
        reason: what is raised when it is not ready.
        deployment: its name.
        namespaces: where it may be; the first one that has it counts.
        governs: it writes a status that downstream reasons read.
        revisions: Deployments named `<deployment>-<revision>` are its instances too.
        stack: the stack that it is switched off with; empty where there is none.
        optional: it is nothing if it is not there.
        reads_pods: it reads the metrics of model pods.

    """

    reason: str
    deployment: str
    namespaces: tuple[str, ...]
    governs: bool = False
    revisions: bool = False
    stack: str = ""
    optional: bool = False
    reads_pods: bool = False

    def found(self, snapshot: Snapshot) -> tuple[Deployment, ...]:
        """Return its Deployments in the first namespace that has any; several revisions at most."""
        table = snapshot[DEPLOYMENTS]
        for namespace in self.namespaces:
            found = tuple(each for each in table.in_namespace(namespace) if self._is(each.name))
            if found:
                return found
        return ()

    def is_missing(self, snapshot: Snapshot) -> bool:
        """Tell whether it should be there and is known to be in none of its namespaces."""
        if self.optional:
            return False
        looked = all(
            snapshot.absence_known(DEPLOYMENTS, each, sought=lambda skipped: self._is(skipped.name))
            for each in self.namespaces
        )
        return looked and not self.found(snapshot)

    def home(self, snapshot: Snapshot) -> str:
        """Return the namespace that it is in or belongs in: the first candidate that exists."""
        for deployment in self.found(snapshot):
            return deployment.namespace
        table = snapshot[NAMESPACES]
        existing = (each for each in self.namespaces if table.get("", each))
        return next(existing, self.namespaces[0])

    def _is(self, name: str) -> bool:
        if name == self.deployment:
            return True
        return self.revisions and name.startswith(f"{self.deployment}-")


def components(settings: EvaluationSettings) -> tuple[Component, ...]:
    """Return the components that are switched on: with a name, a namespace and their stack."""
    configured = (each for each in _all(settings) if each.deployment and each.namespaces)
    modes = ((each, settings.stack(each.stack) if each.stack else None) for each in configured)
    return tuple(
        replace(component, optional=component.optional or mode is StackMode.AUTO)
        for component, mode in modes
        if mode is not StackMode.OFF
    )


def readers_of_pods(settings: EvaluationSettings) -> tuple[Component, ...]:
    """Return the components that read the metrics of model pods: network policies have to admit them."""
    return tuple(each for each in components(settings) if each.reads_pods)


def _all(settings: EvaluationSettings) -> Iterator[Component]:
    yield Component(
        reason=reasons.CLUSTER_ISTIO,
        deployment=settings.istiod_deployment,
        namespaces=settings.istio_namespace,
        governs=True,
        revisions=True,
    )
    yield from _gateway_auth(settings)
    yield Component(
        reason=reasons.CLUSTER_BBR,
        deployment=settings.bbr_deployment,
        namespaces=settings.bbr_namespace,
    )
    for stack in settings.known_stacks:
        for controller in stack.controllers:
            yield from _of_stack(stack, controller, settings)


def _of_stack(
    stack: StackRows, controller: Controller, settings: EvaluationSettings
) -> Iterator[Component]:
    """Yield the Deployments of a stack's controller, as the settings that it names say."""
    names = controller.names or (settings.text_of(controller.deployment),)
    for name in names:
        yield Component(
            reason=controller.reason,
            deployment=name,
            namespaces=settings.names_of(controller.namespaces),
            governs=controller.governs,
            stack=stack.name if controller.with_stack else "",
            optional=controller.optional,
            reads_pods=controller.reads_pods,
        )


def _gateway_auth(settings: EvaluationSettings) -> Iterator[Component]:
    if settings.gateway_auth_deployment:  # without API keys their operator is not installed either
        yield Component(
            reason=reasons.CLUSTER_GATEWAY_AUTH,
            deployment=settings.gateway_auth_operator_deployment,
            namespaces=settings.gateway_auth_namespace,
            governs=True,
        )
    yield Component(
        reason=reasons.CLUSTER_GATEWAY_AUTH,
        deployment=settings.gateway_auth_deployment,
        namespaces=settings.gateway_auth_namespace,
    )
    yield Component(
        reason=reasons.CLUSTER_GATEWAY_AUTH,
        deployment=settings.azure_authz_deployment,
        namespaces=settings.azure_authz_namespace or settings.gateway_auth_namespace,
    )
