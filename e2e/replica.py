"""Replicas of the daemon as installed by the chart: arguments, account, permissions."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from e2e.envtest.release import Release
from tests.daemon.replica import Program


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
        access.by(self._by or access.url).write_kubeconfig(self.kubeconfig)
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
