"""Simulated vLLM pods at the addresses of a stack's model pods."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Final, Self

from lab.sandbox.objects import Object, dig, meta, name_of, namespace_of
from lab.sandbox.sandbox import Sandbox
from lab.simulation.server import ModelPod
from reporter.errors import UsageError

SELECTOR: Final = "inferenceset.kaito.sh/created-by"


class ModelPods:
    """Serves a page for each model pod of a sandbox while entered, all on one port."""

    def __init__(
        self, sandbox: Sandbox, port: int = 0, make: Callable[..., ModelPod] = ModelPod
    ) -> None:
        """Simulate the pods that exist now; port 0 is any free port."""
        self._make = make
        self._places = {
            (namespace_of(pod), name_of(pod)): str(dig(pod, "status", "podIP"))
            for pod in model_pods(sandbox)
        }
        self._pods: dict[tuple[str, str], ModelPod] = {}
        self._stack = AsyncExitStack()
        self.port = port

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for place, address in self._places.items():
                self._pods[place] = await stack.enter_async_context(self._pod(address))
                self.port = self._pods[place].port
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _pod(self, address: str) -> ModelPod:
        try:
            return self._make(host=address, port=self.port)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {address}:{self.port}: {(error.strerror or '').lower()}; "
                "simulated pods need Linux, where all of 127.0.0.0/8 is the machine's own"
            ) from None

    @property
    def all(self) -> Mapping[tuple[str, str], ModelPod]:
        """All simulated pods, by namespace and name."""
        return self._pods

    def of(self, namespace: str, owner: str) -> ModelPod:
        """Return the first pod whose name begins with `owner`."""
        return next(
            pod
            for (place, name), pod in sorted(self._pods.items(), key=lambda each: each[0])
            if place == namespace and name.startswith(owner)
        )


def model_pods(sandbox: Sandbox) -> Iterator[Object]:
    """Yield the model pods of a sandbox."""
    for pod in sandbox.list("pods"):
        if SELECTOR in (meta(pod).get("labels") or {}):
            yield pod
