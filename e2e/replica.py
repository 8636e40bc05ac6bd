"""Replicas of the daemon as the chart installs them: its arguments, its account, its rights."""

from typing import Any, Self

from e2e.envtest.release import Release
from tests.daemon.replica import Program


class Installed(Program):
    """The real program, started as the kubelet would start a pod of the release's Deployment.

    Listeners move to free ports, and settings of a test win over those of the release.
    """

    def __init__(
        self, release: Release, name: str, *, by: str | None = None, **settings: Any
    ) -> None:
        super().__init__(release.folder / f"{name}.yaml", name, **settings)
        self._release = release
        self._by = by

    async def start(self) -> Self:
        """Start it, with a token of its own."""
        container = await self._release.container()
        access = await self._release.pod_access(self.name, container.account)
        access.by(self._by or access.url).write_kubeconfig(self.kubeconfig)
        pod = {"metadata.name": self.name, "metadata.namespace": self._release.namespace}
        fields = {name: pod[path] for name, path in container.fields.items() if path in pod}
        flags = [*container.args[1:], "--kubeconfig", str(self.kubeconfig), *self.flags]
        return await self.start_with(*flags, **container.env, **fields)
