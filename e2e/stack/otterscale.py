"""A namespace with a ModelService and everything that OtterScale's operator creates for it."""

from typing import Final

import msgspec

from e2e.stack.api import Api, unless_gone
from e2e.stack.objects import condition, gateway
from e2e.stack.stack import Stack
from lab.demo import modelservice as played
from lab.demo.sample_stack import namespace, present, told_by
from lab.sandbox.objects import Object, copy_json, dig, name_of
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
        """Create ModelService, Gateway and operator, and wait until the pods run."""
        for each in (self.namespace, SYSTEM):
            await self.api.apply(namespace(each))
        await self.api.apply(played.operator())
        await self.api.apply(gateway(self.namespace, GATEWAY))
        programmed = [condition(each) for each in ("Accepted", "Programmed")]
        await self._status(_GATEWAYS, GATEWAY, {"conditions": programmed})
        await self.api.create(modelservice(self.namespace))
        await self.reconcile()
        await self.stack.settled(SYSTEM)

    async def reconcile(self) -> None:
        """Create everything as it should be, wait until the pods run, and write the status."""
        service = await self.service()
        for manifest in wanted(service, OperatorSettings()):
            await self.api.apply(copy_json(dict(manifest.document)))
        for resource in played.ROUTED:
            await self.parents(resource, condition("Accepted"), condition("ResolvedRefs"))
        await self.stack.settled(self.namespace)
        await self.observe()

    async def service(self) -> ModelService:
        found = await self.api.get(MODELSERVICES, NAME, namespace=self.namespace)
        return msgspec.convert(found, ModelService)

    async def observe(self) -> None:
        """Write the status from the Deployments only."""
        service = await self.api.get(MODELSERVICES, NAME, namespace=self.namespace)
        decode, prefill = [
            await self.api.get("deployments.apps", name, namespace=self.namespace)
            for name in (played.DECODE, played.PREFILL)
        ]
        status = played.observed(service or {}, decode, prefill, now=present())
        counters = ("decodeReady", "decodeReplicas", "prefillReady", "prefillReplicas")
        await self._status(MODELSERVICES, NAME, {**dict.fromkeys(counters), **status})

    async def parents(self, resource: str, *conditions: Object) -> None:
        """Set a condition of the Gateway on the route or the pool."""
        await self._status(resource, NAME, told_by(self.namespace, GATEWAY, conditions))

    async def refused(self, resource: str, reason: str, message: str) -> None:
        """Let the Gateway refuse the route or the pool."""
        no = {**condition("Accepted"), "status": "False", "reason": reason, "message": message}
        await self.parents(resource, no, condition("ResolvedRefs"))

    async def delete(self, resource: str, name: str) -> None:
        await self.api.delete(resource, name, namespace=self.namespace)

    async def pods(self, role: str) -> list[Object]:
        """Return the pods of a role, or of the endpoint picker."""
        found = await self.api.items("pods", namespace=self.namespace)
        return [pod for pod in found if name_of(pod).startswith(f"{NAME}-{role}-")]

    async def answers_at(self, role: str, address: str) -> str:
        """Let the pod of a role have run for long at an address; return its name."""
        pod = (await self.pods(role))[0]
        status = running_status(pod, now="2026-01-01T00:00:00Z", address=address)
        await self._status("pods", name_of(pod), status)
        return name_of(pod)

    async def unpack_fails(self, role: str) -> str:
        """Let a pod of a role fail to unpack its model; return its name."""
        pod = (await self.pods(role))[0]
        status = running_status(pod, now=present(), address=str(dig(pod, "status", "podIP")))
        status = played.unpack_fails(status, present())
        await self._status("pods", name_of(pod), status)
        return name_of(pod)

    async def runs(self, role: str) -> None:
        for pod in await self.pods(role):
            status = running_status(pod, now=present(), address=str(dig(pod, "status", "podIP")))
            await self._status("pods", name_of(pod), {**status, "initContainerStatuses": None})

    async def _status(self, resource: str, name: str, status: Object) -> None:
        await self.stack.status(resource, self.namespace, name, status=status)

    async def remove(self) -> None:
        """Remove what is outside the namespace of the ModelService."""
        for resource in ("clusterroles", "clusterrolebindings"):
            name = f"{self.namespace}-{NAME}-epp"
            await unless_gone(self.api.delete(f"{resource}.rbac.authorization.k8s.io", name))
