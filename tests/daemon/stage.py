"""The cluster of the tests: the demo's stack in a sandbox, faults to put in, and our Events."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.demo.sample_stack import load_stack
from lab.demo.story import CHAT, CODE, SEARCH, StoryCluster
from lab.sandbox import Sandbox
from lab.sandbox.controllers import Controllers
from reporter.model.instant import rfc3339
from tests.daemon.replica import free_port, until

COMPONENT = "productionstack-status-reporter"
KAITO = ("clusterKaitoControllerNotReady", "cluster")
BBR = ("clusterBBRNotReady", "cluster")
GATEWAY = ("modelharnessGatewayProgrammingFailed", f"namespace/{CHAT}")
PODS = ("inferencesetModelPodsNotReady", f"inferenceset/{SEARCH}/mistral-7b")
INFRA = ("inferencesetInfraProvisioningFailed", f"inferenceset/{CODE}/qwen2-5-coder-7b")
CLUSTER_READY = ("clusterReady", "cluster")
READY = {
    CLUSTER_READY,
    *(("modelharnessReady", f"namespace/{name}") for name in (CHAT, CODE, SEARCH)),
    *(
        ("inferencesetReady", f"inferenceset/{name}")
        for name in (
            f"{CHAT}/llama-3-1-8b",
            f"{CHAT}/phi-4-mini",
            f"{CODE}/qwen2-5-coder-7b",
            f"{SEARCH}/mistral-7b",
            f"{SEARCH}/gemma-3-4b",
        )
    ),
}
"""Reason and subject of every Event of the healthy stack."""


class Clock:
    """The API server's clock."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Stage:
    """A sandbox with the stack, under an address that outlives it."""

    def __init__(self, kubeconfig: Path, *, token: str | None = None) -> None:
        self.kubeconfig = kubeconfig
        self.clock = Clock()
        self._token = token
        self._port = free_port()
        self._controllers: Controllers | None = None
        self._load()

    def _load(self) -> None:
        self.sandbox = Sandbox(clock=self.clock, token=self._token)
        self.sandbox.load(load_stack(datetime.now(UTC)))
        self.cluster = StoryCluster(self.sandbox, lambda: rfc3339(datetime.now(UTC)))

    async def up(self) -> None:
        """Serve, always on the same port."""
        await self.sandbox.start(port=self._port)
        self.sandbox.write_kubeconfig(self.kubeconfig)
        if self._controllers is None:
            self._controllers = await Controllers(self.sandbox).__aenter__()

    async def down(self, *, forget: bool = False) -> None:
        """Stop serving; `forget` makes the next start that of another cluster."""
        await self.sandbox.stop()
        if forget and self._controllers is not None:
            await self._controllers.__aexit__(None, None, None)
            self._controllers = None
            self._load()

    async def close(self) -> None:
        """Stop for good."""
        await self.down()
        if self._controllers is not None:
            await self._controllers.__aexit__(None, None, None)

    def scale_kaito(self, replicas: int) -> None:
        self.cluster.scale("kaito-system", "kaito-workspace", replicas)

    def scale_bbr(self, replicas: int) -> None:
        self.cluster.scale("kaito-system", "body-based-router", replicas)

    def events(self, *keys: tuple[str, str], state: str = "") -> list[dict[str, Any]]:
        """Return our Events, those of some reasons and subjects or all, the oldest first."""
        found = [
            event
            for event in self.sandbox.list("events", namespace="kube-system")
            if event["source"].get("component") == COMPONENT
            and (not keys or key_of(event) in keys)
            and (not state or state_of(event) == state)
        ]
        return sorted(found, key=lambda event: event["eventTime"])

    def warnings(self) -> list[dict[str, Any]]:
        """Return our Events that are no good news."""
        return [event for event in self.events() if event["type"] == "Warning"]

    async def told(self, key: tuple[str, str], state: str = "firing") -> dict[str, Any]:
        """Wait for an Event in a state and return it; there must be only one."""
        (event,) = await until(lambda: self.events(key, state=state), f"{state} {key[0]}")
        return event

    async def all_ready(self) -> None:
        """Wait until the healthy stack is told to be ready."""
        await until(lambda: {key_of(event) for event in self.events()} >= READY, "all is ready")

    async def ready_again(self) -> None:
        """Wait until the cluster is told to be ready for the second time."""
        await until(lambda: len(self.events(CLUSTER_READY)) == 2, "the cluster is ready again")

    def lease(self) -> dict[str, Any]:
        """Return the spec of our Lease."""
        lease = self._lease()
        return lease["spec"] if lease else {}

    def lease_annotations(self) -> dict[str, str]:
        """Return the annotations of our Lease."""
        lease = self._lease() or {"metadata": {}}
        return lease["metadata"].get("annotations", {})

    def _lease(self) -> dict[str, Any] | None:
        return self.sandbox.get("leases.coordination.k8s.io", COMPONENT, namespace="kube-system")


def key_of(event: dict[str, Any]) -> tuple[str, str]:
    """Return reason and subject of an Event."""
    return event["reason"], event["metadata"]["annotations"]["status-reporter.io/subject"]


def state_of(event: dict[str, Any]) -> str:
    """Return the state label of an Event."""
    return event["metadata"]["labels"]["status-reporter.io/state"]
