"""The controllers that a demo needs: Deployments get ready pods, and orphans are deleted.

They run only while entered. A Deployment is managed once it is created or its spec changes while
they run, and from the start if all its pods exist; others keep the state from their dump.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Self

from lab.sandbox.errors import ApiError
from lab.sandbox.objects import JSON, Object, dig, format_time, meta, name_of, namespace_of
from lab.sandbox.sandbox import Sandbox
from lab.sandbox.storage import Change, Key
from lab.sandbox.workloads import (
    deployment_status,
    is_ready,
    pod_of,
    replica_set_of,
    running_status,
    selector_of,
    template_hash,
)

_DEPLOYMENTS = "deployments.apps"
_REPLICA_SETS = "replicasets.apps"
_OWNERS = (_DEPLOYMENTS, _REPLICA_SETS, "statefulsets.apps", "jobs.batch")
_MANAGER = "kube-controller-manager"


class Controllers:
    """Simulates the Deployment controller, the kubelet and the garbage collector."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._work: asyncio.Queue[Callable[[], None]] = asyncio.Queue()
        self._subscriptions = (
            (_DEPLOYMENTS, self._deployment_changed),
            ("pods", self._pod_changed),
            *((owners, self._owner_changed) for owners in _OWNERS),
        )
        self._task: asyncio.Task[None] | None = None
        self._managed: set[str] = set()
        self._templates: dict[str, str] = {}
        self._addresses = 0

    async def __aenter__(self) -> Self:
        for deployment in self._sandbox.list(_DEPLOYMENTS):
            wanted = dig(deployment, "spec", "replicas")
            if wanted and len(self._pods_of(deployment)) == wanted:
                self._managed.add(meta(deployment)["uid"])
                self._templates[meta(deployment)["uid"]] = template_hash(deployment)
        for collection, subscriber in self._subscriptions:
            self._sandbox.storage.collection(collection).subscribers.append(subscriber)
        self._task = asyncio.create_task(self._run(), name="sandbox-controllers")
        return self

    async def __aexit__(self, *_: object) -> None:
        for collection, subscriber in self._subscriptions:
            self._sandbox.storage.collection(collection).subscribers.remove(subscriber)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def settled(self) -> None:
        """Wait until all changes so far have been handled."""
        await self._work.join()

    async def _run(self) -> None:
        while True:
            job = await self._work.get()
            # The object of the job, or its namespace, may have been deleted.
            with contextlib.suppress(ApiError):
                job()
            self._work.task_done()

    def _deployment_changed(self, change: Change | None) -> None:
        if change is None:
            return
        if change.type == "DELETED":
            self._managed.discard(change.new.uid)
            return
        new = change.new.decode("apps/v1", "Deployment")
        old = change.old.decode("apps/v1", "Deployment") if change.old is not None else None
        if old is not None and old.get("spec") == new.get("spec"):
            return
        if old is None and dig(new, "status", "observedGeneration"):
            # Loaded with its status, not created.
            return
        self._managed.add(change.new.uid)
        if old is not None:
            self._templates.setdefault(change.new.uid, template_hash(old))
        self._work.put_nowait(lambda: self._reconcile(change.new.key))

    def _pod_changed(self, change: Change | None) -> None:
        if change is not None:
            self._work.put_nowait(lambda: self._follow_pod(change))

    def _owner_changed(self, change: Change | None) -> None:
        if change is not None and change.type == "DELETED":
            self._work.put_nowait(lambda: self._collect(change.new.uid))

    def _collect(self, owner: str) -> None:
        for collection, key in self._sandbox.storage.dependents(owner):
            with contextlib.suppress(ApiError):
                self._sandbox.delete(collection, key.name, namespace=key.namespace)

    def _follow_pod(self, change: Change) -> None:
        for deployment in self._sandbox.list(_DEPLOYMENTS, namespace=change.new.key.namespace):
            selects = selector_of(deployment)
            if meta(deployment)["uid"] in self._managed and selects.matches(change.new.labels):
                self._reconcile(Key(namespace_of(deployment), name_of(deployment)))

    def _pods_of(self, deployment: Object) -> list[Object]:
        selects = selector_of(deployment)
        return [
            pod
            for pod in self._sandbox.list("pods", namespace=namespace_of(deployment))
            if selects.matches(meta(pod).get("labels") or {})
            and not meta(pod).get("deletionTimestamp")
            and dig(pod, "status", "phase") not in {"Succeeded", "Failed"}
        ]

    def _reconcile(self, key: Key) -> None:
        deployment = self._sandbox.get(_DEPLOYMENTS, key.name, namespace=key.namespace)
        if deployment is None or meta(deployment).get("deletionTimestamp"):
            return
        uid = meta(deployment)["uid"]
        wanted = int(dig(deployment, "spec", "replicas") or 0)
        template = template_hash(deployment)
        rollout = self._templates.get(uid, template) != template
        pods = self._pods_of(deployment)
        replica_set = self._replica_set(deployment, fresh=rollout)
        if rollout:
            for pod in pods:
                self._sandbox.delete("pods", name_of(pod), namespace=key.namespace)
            pods = []
        self._templates[uid] = template
        # Delete pods that are not ready first, then the youngest.
        pods.sort(key=lambda pod: meta(pod)["creationTimestamp"], reverse=True)
        pods.sort(key=is_ready)
        for pod in pods[: max(len(pods) - wanted, 0)]:
            self._sandbox.delete("pods", name_of(pod), namespace=key.namespace)
        for _ in range(wanted - len(pods)):
            self._start_pod(replica_set)
        self._write_status(deployment, replica_set, wanted, rollout=rollout)

    def _write_status(
        self, deployment: Object, replica_set: Object, wanted: int, *, rollout: bool
    ) -> None:
        pods = self._pods_of(deployment)
        ready = sum(map(is_ready, pods))
        status = deployment_status(
            deployment,
            pods,
            now=format_time(self._sandbox.storage.clock()),
            replica_set=name_of(replica_set),
            rollout=rollout,
        )
        counts = _replica_counts(len(pods), ready)
        self._patch_replica_set(replica_set, wanted, counts)
        # Zero counts must be removed, which a merge patch does only for explicit nulls.
        old = dig(deployment, "status") or {}
        gone = {key: None for key in old if key not in status}
        self._patch_status(_DEPLOYMENTS, deployment, {**gone, **status})

    def _patch_status(self, resource: str, obj: Object, status: Object) -> None:
        place = namespace_of(obj)
        self._sandbox.patch_status(
            resource, name_of(obj), status, namespace=place, manager=_MANAGER
        )

    def _patch_replica_set(self, obj: Object, wanted: int, counts: Object) -> None:
        patch, place = {"spec": {"replicas": wanted}}, namespace_of(obj)
        self._sandbox.patch(_REPLICA_SETS, name_of(obj), patch, namespace=place, manager=_MANAGER)
        self._patch_status(_REPLICA_SETS, obj, counts)

    def _replica_set(self, deployment: Object, *, fresh: bool) -> Object:
        namespace, uid = namespace_of(deployment), meta(deployment)["uid"]
        wanted = replica_set_of(deployment)
        owned = {
            name_of(found): found
            for found in self._sandbox.list(_REPLICA_SETS, namespace=namespace)
            if any(ref.get("uid") == uid for ref in meta(found).get("ownerReferences") or ())
        }
        if name_of(wanted) in owned:
            return owned[name_of(wanted)]
        if owned and not fresh:
            # A loaded ReplicaSet, with a name from another controller.
            return max(owned.values(), key=lambda found: dig(found, "spec", "replicas") or 0)
        for found in owned.values():
            self._patch_replica_set(found, 0, _replica_counts(0, 0))
        return self._sandbox.create(wanted)

    def _start_pod(self, replica_set: Object) -> None:
        nodes = self._sandbox.list("nodes")
        node = name_of(nodes[self._addresses % len(nodes)]) if nodes else ""
        pod = self._sandbox.create(pod_of(replica_set, node))
        self._addresses += 1
        address = f"127.244.{self._addresses // 250 % 250}.{self._addresses % 250 + 1}"
        now = format_time(self._sandbox.storage.clock())
        status = running_status(pod, now=now, address=address)
        self._patch_status("pods", pod, status)


def _replica_counts(total: int, ready: int) -> Object:
    """Return the counts in the status of a ReplicaSet."""
    return {
        "replicas": total,
        "fullyLabeledReplicas": total,
        "readyReplicas": ready,
        "availableReplicas": ready,
    }


@contextlib.asynccontextmanager
async def running(
    documents: Iterable[JSON] = (),
    *,
    port: int = 0,
    kubeconfig_path: Path | None = None,
    controllers: bool = True,
    token: str | None = None,
) -> AsyncIterator[Sandbox]:
    sandbox = Sandbox(token=token)
    sandbox.load(documents)
    await sandbox.start(port)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(sandbox.stop)
        if kubeconfig_path is not None:
            sandbox.write_kubeconfig(kubeconfig_path)
        if controllers:
            await stack.enter_async_context(Controllers(sandbox))
        yield sandbox
