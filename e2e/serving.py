"""A namespace with ModelServings and Kthena's controller, and checks of their status."""

from types import TracebackType
from typing import Any, Final, Self

from e2e.stack.controller import Key
from e2e.stack.kthena import MANAGER, MODELSERVINGS, Kthena
from e2e.stage import Stage
from lab.demo.controller_deployments import controller
from lab.demo.modelserving import NAME, modelserving
from lab.sandbox.objects import Object
from tests.daemon.replica import until

_SYSTEM: Final = "kthena-system"


class Serving:
    """The ModelServing of the demo in a namespace of its own, while entered."""

    def __init__(self, stage: Stage, namespace: str) -> None:
        self.namespace = namespace
        self.key = Key(namespace, NAME)
        self.subject = f"modelserving/{namespace}/{NAME}"
        self.kthena = Kthena(stage.api)
        self._stage = stage

    async def __aenter__(self) -> Self:
        for each in (self.namespace, _SYSTEM):
            self._stage.namespaces.append(each)
            await self._stage.api.apply(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}}
            )
        await self._stage.api.apply(
            controller(_SYSTEM, MANAGER, image="kthena", labels={"app": MANAGER})
        )
        await self._stage.stack.settled(_SYSTEM)
        self.kthena.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.kthena.stop()

    async def create(self, **spec: Any) -> Object:
        """Create the ModelServing and wait until its pods are ready."""
        wanted = modelserving()
        wanted["metadata"]["namespace"] = self.namespace
        wanted["spec"] |= spec
        made = await self._stage.api.create(wanted)
        await self.settled()
        return made

    async def settled(self) -> None:
        """Wait until Kthena and the kubelets have no work left."""

        async def at_rest() -> bool:
            self.kthena.check()
            return await self.kthena.at_rest(self.key)

        await until(at_rest, f"{self.key} is at rest; {self.kthena.trouble}")

    async def get(self) -> Object:
        """Return the ModelServing."""
        found = await self._stage.api.get(MODELSERVINGS, NAME, namespace=self.namespace)
        assert found is not None
        return found

    async def status(self) -> Object:
        """Return its status."""
        return (await self.get()).get("status") or {}

    async def roles(self) -> dict[str, str]:
        """`roleStatuses` in short: `<group>/<role ID>` and the state."""
        return {
            f"{each['servingGroupName']}/{each['roleID']}": each["status"]
            for each in (await self.status()).get("roleStatuses") or ()
        }

    async def patch(self, **spec: Any) -> None:
        """Change the spec."""
        await self._stage.api.patch(MODELSERVINGS, NAME, {"spec": spec}, namespace=self.namespace)

    async def shows(self, roles: dict[str, str]) -> None:
        """Wait until `roleStatuses` is as given."""

        async def as_wanted() -> bool:
            found = await self.roles()
            assert found == roles, found
            return True

        await until(as_wanted, f"roleStatuses are {roles}")


def running(groups: int = 2, decode: int = 2) -> dict[str, str]:
    """Return the roles of that many groups, in order, all Running."""
    ids = ["prefill-0", *(f"decode-{each}" for each in range(decode))]
    return {f"{NAME}-{group}/{each}": "Running" for group in range(groups) for each in ids}
