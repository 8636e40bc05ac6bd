"""The live cluster against the sandbox, and objects to put into it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from lab.sandbox import Sandbox
from reporter.kube.client import connect
from reporter.kube.informer import Timing
from reporter.kube.live import LiveCluster
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.settings import FullEvaluationSettings

QUICK = Timing(backoff=0.01)


def definition(plural: str, kind: str, group: str = "kaito.sh", *, version: str = "v1beta1"):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": version, "served": True, "storage": True,
                    "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema},
                },
            ],
        },
    }  # fmt: skip


def obj(kind: str, name: str, namespace: str = "", *, api: str = "v1", **parts: object):
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


@asynccontextmanager
async def living(
    sandbox: Sandbox,
    tmp_path: Path,
    settings: FullEvaluationSettings | None = None,
    *,
    timing: Timing = QUICK,
    asked: set[str] | None = None,
    namespace: str = "",
) -> AsyncIterator[LiveCluster]:
    """Watch the sandbox; the names of resources that are asked for are added to `asked`."""
    sandbox.write_kubeconfig(tmp_path / "config")

    def observe(_verb: str, resource: str, _code: str) -> None:
        if asked is not None:
            asked.add(resource)

    async with await connect(kubeconfig=tmp_path / "config", observer=observe) as client:
        cluster = LiveCluster(
            client,
            settings or FullEvaluationSettings(),
            timing=timing,
            discovery_seconds=0.1,
            namespace=namespace,
        )
        task = asyncio.create_task(cluster.run())
        try:
            async with asyncio.timeout(20):
                await cluster.wait_listed()
            yield cluster
        finally:
            failed = task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert not failed, "the cluster ended by itself"


async def until(cluster: LiveCluster, wanted: Callable[[Snapshot], bool]) -> Snapshot:
    """Return the first snapshot that is as wanted; snapshots differ only after a notification."""
    async with asyncio.timeout(20):
        while not wanted(snapshot := cluster.snapshot()):
            cluster.changed.clear()
            await cluster.changed.wait()
    return snapshot
