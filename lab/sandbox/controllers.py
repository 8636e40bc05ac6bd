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


class _Subscription:
    """Passes the changes of one collection to a callback."""

    def __init__(self, callback: Callable[[Change], None]) -> None:
        self._callback = callback

    def notify(self, change: Change) -> None:
        self._callback(change)

    def end(self) -> None:
        pass


class Controllers:
    """Simulates the Deployment controller, the kubelet and the garbage collector.

    Args:
        sandbox: the sandbox to manage.
        ready_after_seconds: how long a new pod takes to become ready, by the event loop's clock.
    """

    def __init__(self, sandbox: Sandbox, *, ready_after_seconds: float = 0.0) -> None:
        self._sandbox = sandbox
        self._ready_after_seconds = ready_after_seconds
        self._work: asyncio.Queue[Callable[[], None]] = asyncio.Queue()
        self._subscriptions: list[tuple[str, _Subscription]] = []
        self._task: asyncio.Task[None] | None = None
        self._timers: set[asyncio.TimerHandle] = set()
        self._managed: set[str] = set()
        self._templates: dict[str, str] = {}
        self._addresses = 0

    async def __aenter__(self) -> Self:
        for deployment in self._sandbox.list(_DEPLOYMENTS):
            wanted = dig(deployment, "spec", "replicas")
            if wanted and len(self._pods_of(deployment)) == wanted:
                self._adopt(deployment)
        self._subscribe(_DEPLOYMENTS, self._deployment_changed)
        self._subscribe("pods", self._pod_changed)
        for owners in _OWNERS:
            self._subscribe(owners, self._owner_changed)
        self._task = asyncio.create_task(self._run(), name="sandbox-controllers")
        return self

    async def __aexit__(self, *_: object) -> None:
        for collection, subscription in self._subscriptions:
            self._sandbox.storage.collection(collection).subscribers.remove(subscription)
        self._subscriptions.clear()
        for timer in self._timers:
            timer.cancel()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _subscribe(self, collection: str, callback: Callable[[Change], None]) -> None:
        subscription = _Subscription(callback)
        self._sandbox.storage.collection(collection).subscribers.append(subscription)
        self._subscriptions.append((collection, subscription))

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

    def _deployment_changed(self, change: Change) -> None:
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

    def _pod_changed(self, change: Change) -> None:
        self._work.put_nowait(lambda: self._follow_pod(change))

    def _owner_changed(self, change: Change) -> None:
        if change.type == "DELETED":
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

    def _adopt(self, deployment: Object) -> None:
        uid = meta(deployment)["uid"]
        self._managed.add(uid)
        self._templates[uid] = template_hash(deployment)

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
        namespace, name = namespace_of(deployment), name_of(deployment)
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
        self._patch(_REPLICA_SETS, replica_set, {"spec": {"replicas": wanted}})
        self._patch(_REPLICA_SETS, replica_set, {"status": counts}, subresource="status")
        # Zero counts must be removed, which a merge patch does only for explicit nulls.
        old = dig(deployment, "status") or {}
        gone = {key: None for key in old if key not in status}
        self._sandbox.patch(
            _DEPLOYMENTS,
            name,
            {"status": {**gone, **status}},
            namespace=namespace,
            subresource="status",
            manager=_MANAGER,
        )

    def _patch(self, resource: str, obj: Object, patch: JSON, *, subresource: str = "") -> None:
        self._sandbox.patch(
            resource,
            name_of(obj),
            patch,
            namespace=namespace_of(obj),
            subresource=subresource,
            manager=_MANAGER,
        )

    def _replica_set(self, deployment: Object, *, fresh: bool) -> Object:
        namespace, uid = namespace_of(deployment), meta(deployment)["uid"]
        wanted = replica_set_of(deployment)
        owned = [
            found
            for found in self._sandbox.list(_REPLICA_SETS, namespace=namespace)
            if any(ref.get("uid") == uid for ref in meta(found).get("ownerReferences") or ())
        ]
        for found in owned:
            if name_of(found) == name_of(wanted):
                return found
        if owned and not fresh:
            # A loaded ReplicaSet, with a name from another controller.
            return max(owned, key=lambda found: dig(found, "spec", "replicas") or 0)
        for found in owned:
            self._patch(_REPLICA_SETS, found, {"spec": {"replicas": 0}})
            self._patch(
                _REPLICA_SETS, found, {"status": _replica_counts(0, 0)}, subresource="status"
            )
        return self._sandbox.create(wanted)

    def _start_pod(self, replica_set: Object) -> None:
        nodes = self._sandbox.list("nodes")
        node = name_of(nodes[self._addresses % len(nodes)]) if nodes else ""
        pod = self._sandbox.create(pod_of(replica_set, node))
        self._addresses += 1
        address = f"127.244.{self._addresses // 250 % 250}.{self._addresses % 250 + 1}"
        if not self._ready_after_seconds:
            self._make_ready(pod, address)
            return
        loop = asyncio.get_running_loop()
        timer = loop.call_later(
            self._ready_after_seconds, self._work.put_nowait, lambda: self._make_ready(pod, address)
        )
        self._timers.add(timer)

    def _make_ready(self, pod: Object, address: str) -> None:
        now = format_time(self._sandbox.storage.clock())
        status = running_status(pod, now=now, address=address)
        self._patch("pods", pod, {"status": status}, subresource="status")


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
    host: str = "127.0.0.1",
    port: int = 0,
    kubeconfig_path: Path | None = None,
    controllers: bool = True,
    token: str | None = None,
) -> AsyncIterator[Sandbox]:
    sandbox = Sandbox(token=token)
    sandbox.load(documents)
    await sandbox.start(host, port)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(sandbox.stop)
        if kubeconfig_path is not None:
            sandbox.write_kubeconfig(kubeconfig_path)
        if controllers:
            await stack.enter_async_context(Controllers(sandbox))
        yield sandbox
