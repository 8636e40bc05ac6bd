"""A namespace with a ModelService and everything that OtterScale's operator creates for it."""

from typing import Final

import msgspec

from e2e.stack.api import Api, unless_gone
from e2e.stack.objects import condition, gateway
from e2e.stack.stack import Stack
from lab.demo import modelservice as played
from lab.demo.sample_stack import namespace, present, told_by
from lab.sandbox.objects import Object, copy_json, name_of
from lab.sandbox.workloads import running_status
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import wanted
from reporter.stacks.otterscale.objects import ModelService

NAME: Final = played.NAME
MODELSERVICES: Final = played.MODELSERVICES
SYSTEM: Final = played.SYSTEM
GATEWAY: Final = "entry"

_GATEWAYS: Final = "gateways.gateway.networking.k8s.io"


def modelservice(namespace: str) -> Object:
    """Return the ModelService of the demo, behind its own Gateway and with monitors."""
    made = played.modelservice()
    made["metadata"]["namespace"] = namespace
    made["spec"]["httpRoute"] = {"gatewayRef": {"name": GATEWAY}}
    made["spec"]["monitoring"] = {"podMonitor": {"enabled": True}}
    return made


class OtterScale:
    """Plays the operator and the Gateway's controller, on request."""

    def __init__(self, api: Api, stack: Stack, namespace: str) -> None:
        self.api = api
        self.stack = stack
        self.namespace = namespace
        self.subject = f"modelservice/{namespace}/{NAME}"

    async def install(self) -> None:
        """Create everything as the operator does, wait until the pods run, and write the status."""
        for each in (self.namespace, SYSTEM):
            await self.api.apply(namespace(each))
        await self.api.apply(played.operator())
        await self.api.apply(gateway(self.namespace, GATEWAY))
        programmed = [condition(each) for each in ("Accepted", "Programmed")]
        await self._status(_GATEWAYS, GATEWAY, {"conditions": programmed})
        made = await self.api.create(modelservice(self.namespace))
        service = msgspec.convert(made, ModelService)
        for manifest in wanted(service, OperatorSettings()):
            await self.api.apply(copy_json(dict(manifest.document)))
        accepted = [condition("Accepted"), condition("ResolvedRefs")]
        for resource in played.ROUTED:
            await self._status(resource, NAME, told_by(self.namespace, GATEWAY, accepted))
        await self.stack.settled(self.namespace)
        decode, prefill = [
            await self.api.get("deployments.apps", name, namespace=self.namespace)
            for name in (played.DECODE, played.PREFILL)
        ]
        status = played.observed(made, decode, prefill, now=present())
        await self._status(MODELSERVICES, NAME, status)
        await self.stack.settled(SYSTEM)

    async def answers_at(self, role: str, address: str) -> None:
        """Let the pod of a role, or of the endpoint picker, have run for long at an address."""
        found = await self.api.items("pods", namespace=self.namespace)
        pod = next(each for each in found if name_of(each).startswith(f"{NAME}-{role}-"))
        status = running_status(pod, now="2026-01-01T00:00:00Z", address=address)
        await self._status("pods", name_of(pod), status)

    async def _status(self, resource: str, name: str, status: Object) -> None:
        await self.api.status(resource, self.namespace, name, status)

    async def remove(self) -> None:
        """Remove what is outside the namespace of the ModelService."""
        for resource in ("clusterroles", "clusterrolebindings"):
            name = f"{self.namespace}-{NAME}-epp"
            await unless_gone(self.api.delete(f"{resource}.rbac.authorization.k8s.io", name))
