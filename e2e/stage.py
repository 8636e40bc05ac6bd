"""What tests share: the cluster with its faults and our Events, and replicas as installed."""

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from e2e.envtest.commands import Command
from e2e.envtest.release import Release
from e2e.stack.api import Api, unless_gone
from e2e.stack.stack import Stack
from lab.demo import sample_stack
from lab.sandbox.objects import name_of
from lab.sandbox.workloads import is_ready
from tests.daemon.replica import Program, until
from tests.daemon.stage import COMPONENT, key_of, state_of


class Installed(Program):
    """The real program, started as by the kubelet for a pod of the release's Deployment.

    Listeners use free ports, and settings of a test override those of the release. `code` is the
    folder of another release's package.
    """

    def __init__(
        self,
        release: Release,
        name: str,
        *,
        by: str | None = None,
        code: Path | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(release.folder / f"{name}.yaml", name, **settings)
        self.code = code
        self._release = release
        self._by = by

    async def start(self) -> Self:
        """Start it, with a token of its own."""
        container = await self._release.container()
        access = await self._release.pod_access(self.name, container.account)
        replace(access, url=self._by or access.url).write_kubeconfig(self.kubeconfig)
        pod = {"metadata.name": self.name, "metadata.namespace": self._release.namespace}
        fields = {name: pod[path] for name, path in container.fields.items() if path in pod}
        mounted = self._mounted(container.args[1:], container.files)
        flags = [*mounted, "--kubeconfig", str(self.kubeconfig), *self.flags]
        return await self.start_with(*flags, **container.env, **fields)

    def _mounted(self, args: Iterable[str], files: Mapping[str, str]) -> list[str]:
        """Write what the kubelet would mount, and return the arguments with the files' paths."""
        mounted = list(args)
        for path, text in files.items():
            own = self.kubeconfig.with_name(f"{self.name}{path.replace('/', '-')}")
            own.write_text(text)
            mounted = [each.replace(path, str(own)) for each in mounted]
        return mounted


EVENT_NAMESPACE = "kube-system"
LEASES = "leases.coordination.k8s.io"
OURS = "status-reporter.io/reason"


_CHANGE: Final = re.compile(r" \((?:[^()]|\([^()]*\))* at \d\d:\d\d:\d\dZ\)")


def named_after(test: str) -> str:
    """Return a name for the namespace of a test."""
    return re.sub(r"[^a-z0-9]+", "-", test.removeprefix("test_"))[:40].strip("-")


def without_change(message: str) -> str:
    """Return a message without recent changes, which depend on the clock and the writer."""
    return _CHANGE.sub("", message)


@dataclass
class Stage:
    """What a test does to the cluster, and what it sees of our Events.

    Its namespaces are those that the test has created.
    """

    api: Api
    stack: Stack
    kubectl: Command
    namespaces: list[str] = field(default_factory=list)

    async def namespace(self, name: str) -> str:
        """Create an empty namespace, and return its name."""
        self.namespaces.append(name)
        await self.api.apply(sample_stack.namespace(name))
        return name

    async def workload(self, name: str, **options: Any) -> str:
        """Create a workload namespace with the sample's content, and return its name."""
        self.namespaces.append(name)
        await self.stack.install_workload(name, **options)
        return name

    async def mend(self, *namespaces: str) -> None:
        """Restore the control plane and workload namespaces to their installed state."""
        await self.stack.install_shared()
        for namespace in namespaces:
            await self.stack.install_workload(namespace)
            for pod in await self.api.items("pods", namespace=namespace):
                if not is_ready(pod):
                    await self.api.delete("pods", name_of(pod), namespace=namespace)
            await self.stack.settled(namespace)

    async def events(self, *keys: tuple[str, str], state: str = "") -> list[dict[str, Any]]:
        """Return our Events, all or for some reasons and subjects, oldest first."""
        found = await self.api.items("events", namespace=EVENT_NAMESPACE, selector=OURS)
        ours = [
            event
            for event in found
            if event["source"]["component"] == COMPONENT
            and (not keys or key_of(event) in keys)
            and (not state or state_of(event) == state)
        ]
        return sorted(ours, key=lambda event: event["eventTime"])

    async def firing(self) -> set[tuple[str, str]]:
        """Return reason and subject of the firing Warnings."""
        events = await self.events(state="firing")
        return {key_of(event) for event in events if event["type"] == "Warning"}

    async def told(self, *key: str, state: str = "firing") -> dict[str, Any]:
        """Wait for the Event of a reason and subject in a state; there must be only one."""
        reason, subject = key
        found = await until(
            lambda: self.events((reason, subject), state=state), f"{reason} of {subject} {state}"
        )
        (event,) = found
        return event

    async def forget(self) -> None:
        """Remove what a test leaves: its namespaces, our Events, and the Lease."""
        await asyncio.gather(*map(self.stack.delete_namespace, self.namespaces))
        await self.api.request(
            "DELETE", f"/api/v1/namespaces/{EVENT_NAMESPACE}/events", labelSelector=OURS
        )
        await unless_gone(self.api.delete(LEASES, COMPONENT, namespace=EVENT_NAMESPACE))
