"""A Helm release of the chart, and its replicas started as by the kubelet."""

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self, cast

import yaml

from e2e.envtest.commands import Access, Command, EnvtestError, helm, kubectl
from e2e.envtest.control_plane import ControlPlane

CHARTS: Final = Path(__file__).resolve().parents[2] / "helm"
REPORTER: Final = CHARTS / "productionstack-status-reporter"
UMBRELLA: Final = CHARTS / "productionstack"

_SELECTOR: Final = "app.kubernetes.io/instance={},app.kubernetes.io/component=status-reporter"


@dataclass(frozen=True)
class Container:
    """How the chart wants the program to be started.

    Attributes:
        account: its ServiceAccount.
        env: variables with plain values.
        fields: variables with the value of a pod's field, such as `metadata.name`.
        files: the mounted ConfigMaps: texts by the path in the container.
    """

    account: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    fields: Mapping[str, str]
    files: Mapping[str, str]


@dataclass(frozen=True)
class Release:
    """A release of one of our charts in a cluster; kubeconfigs of replicas are in its folder."""

    name: str
    namespace: str
    helm: Command
    kubectl: Command
    admin: Access
    folder: Path

    @classmethod
    def on(cls, plane: ControlPlane, name: str, namespace: str) -> Self:
        """Return a release on a control plane, not installed yet."""
        kubeconfig = plane.admin.write_kubeconfig(plane.folder / "admin.yaml")
        control = kubectl(plane.binaries.kubectl, kubeconfig)
        return cls(name, namespace, helm(kubeconfig), control, plane.admin, plane.folder)

    async def install(self, chart: Path, values: Mapping[str, object] | None = None) -> str:
        """Install it, or upgrade it to other values; return helm's output, including NOTES."""
        if (chart / "Chart.lock").exists():
            chart = await self._with_dependencies(chart)
        return await self._run(
            self.helm, "upgrade", "--install", self.name, str(chart), "--namespace", self.namespace,
            "--create-namespace", "--values", "-", stdin=yaml.safe_dump(dict(values or {})),
        )  # fmt: skip

    async def _with_dependencies(self, chart: Path) -> Path:
        """Copy a chart, so that helm's downloads are not left in the checkout."""
        copied = self.folder / "charts"
        clean = shutil.ignore_patterns("charts")
        await asyncio.to_thread(shutil.copytree, CHARTS, copied, ignore=clean, dirs_exist_ok=True)
        await self._run(self.helm, "dependency", "build", str(copied / chart.name))
        return copied / chart.name

    async def uninstall(self) -> None:
        await self._run(self.helm, "uninstall", self.name, "--namespace", self.namespace)

    async def container(self) -> Container:
        """Return how the installed Deployment wants the program to be started."""
        selector = _SELECTOR.format(self.name)
        found = await self._run(
            self.kubectl, "-n", self.namespace, "get", "deployments", "-l", selector, "-o", "json"
        )
        items = cast("list[dict[str, Any]]", json.loads(found)["items"])
        if len(items) != 1:
            raise EnvtestError(f"release {self.name} has {len(items)} Deployments, not one")
        pod = items[0]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        env = container.get("env", [])
        return Container(
            account=pod["serviceAccountName"],
            args=tuple(container["args"]),
            env={each["name"]: each["value"] for each in env if "value" in each},
            fields={
                each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"]
                for each in env
                if "valueFrom" in each
            },
            files=await self._files(pod, container),
        )

    async def user(self) -> str:
        """Return the name that the API server has for the replicas' account."""
        account = (await self.container()).account
        return f"system:serviceaccount:{self.namespace}:{account}"

    async def _files(self, pod: dict[str, Any], container: dict[str, Any]) -> dict[str, str]:
        folders = {each["name"]: each["mountPath"] for each in container.get("volumeMounts", [])}
        files: dict[str, str] = {}
        for volume in pod.get("volumes", []):
            if "configMap" not in volume or volume["name"] not in folders:
                continue
            name = volume["configMap"]["name"]
            found = await self._run(
                self.kubectl, "-n", self.namespace, "get", "configmap", name, "-o", "json"
            )
            for key, text in json.loads(found)["data"].items():
                files[f"{folders[volume['name']]}/{key}"] = text
        return files

    async def pod_access(self, pod: str, account: str) -> Access:
        """Create a pod for a replica and return its access: a token bound to that pod.

        A bound token identifies the replica in the audit log, as real ones do.
        """
        manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod, "namespace": self.namespace},
            "spec": {
                "serviceAccountName": account,
                "containers": [{"name": "reporter", "image": "reporter"}],
            },
        }
        # The server validates it anyway; kubectl would first fetch every schema.
        await self._run(
            self.kubectl, "apply", "--validate=false", "-f", "-", stdin=json.dumps(manifest)
        )
        token = await self._run(
            self.kubectl, "-n", self.namespace, "create", "token", account,
            "--bound-object-kind", "Pod", "--bound-object-name", pod,
        )  # fmt: skip
        return replace(self.admin, token=token.strip())

    @staticmethod
    async def _run(command: Command, *arguments: str, stdin: str | None = None) -> str:
        return await asyncio.to_thread(command, *arguments, stdin=stdin)
