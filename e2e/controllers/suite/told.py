"""Compare what a controller wrote with the status that the reporter derives, and its reports."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from e2e.controllers.suite.cluster import BAD, FIRST, GOOD, SECRET, SLOW
from lab.sandbox.objects import Object, dig
from tests.daemon.replica import Replica, free_port, until
from tests.daemon.stage import key_of

SCALEDOBJECTS: Final = "scaledobjects.keda.sh"


async def until_is(get: Callable[[], Awaitable[object]], wanted: object, what: str) -> None:
    """Wait until something is as wanted."""

    async def is_so() -> bool:
        found = await get()
        assert found == wanted, found
        return True

    await until(is_so, f"{what}: {wanted}")


class Prometheus:
    """A Prometheus that knows one number."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.number: float | None = 0

    def says(self, number: float | None) -> None:
        """Set the answer to all queries; None is an error."""
        self.number = number

    async def answer(self, _request: web.Request) -> web.Response:
        if self.number is None:
            return web.Response(status=500)
        found = [{"metric": {}, "value": [time.time(), str(self.number)]}]
        data = {"resultType": "vector", "result": found}
        return web.json_response({"status": "success", "data": data})


async def keda(controller: Any) -> None:
    """Run KEDA's operator, and the adapter that serves its metrics."""
    operator = await controller("keda-operator")
    await controller("keda-metrics-apiserver", beside=operator.webhook)


def trigger(address: str) -> Object:
    """Return a trigger that queries a Prometheus; a value of 10 means one replica."""
    metadata = {"serverAddress": address, "query": "sum(vllm:num_requests_waiting)"}
    return {"type": "prometheus", "metadata": {**metadata, "threshold": "10"}}


class Scaler:
    """A ScaledObject of any origin."""

    def __init__(self, stage: Any, namespace: str, name: str) -> None:
        self.stage = stage
        self._namespace = namespace
        self._name = name

    async def patch(self, spec: Object) -> None:
        await self.stage.api.patch(
            SCALEDOBJECTS, self._name, {"spec": spec}, namespace=self._namespace
        )

    async def conditions(self) -> dict[str, Object]:
        found = await self.stage.api.get(SCALEDOBJECTS, self._name, namespace=self._namespace)
        conditions = dig(found or {}, "status", "conditions") or ()
        return {each["type"]: each for each in conditions}

    async def says(self, **wanted: str) -> None:
        """Wait until its conditions have these statuses, such as `Ready="True"`."""

        async def statuses() -> dict[str, str]:
            found = await self.conditions()
            return {key: each["status"] for key, each in found.items() if key in wanted}

        await until_is(statuses, wanted, f"conditions of ScaledObject {self._name}")


SETTLING = 10
"""How long controllers may take on a busy machine before anything is reported, in seconds."""

SOON = {"startup_grace_seconds": SETTLING, "grace": f"model-startup={4 * SETTLING}"}
"""Settings of a replica; the budget is longer than a slow image and a slow probe take."""

_TIMES = frozenset({"lastTransitionTime", "time"})


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return the differences between a written and a derived status, ignoring times."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key in ours
            if key not in _TIMES
            for line in differences(ours[key], theirs.get(key), f"{path}.{key}".lstrip("."))
        ]
    if path.endswith("conditions") and isinstance(ours, list) and isinstance(theirs, list):
        by_type = [{each["type"]: each for each in side} for side in (ours, theirs)]
        return differences(*by_type, path)
    # Go omits empty values.
    same = ours == theirs or not (ours or theirs)
    return [] if same else [f"{path}: derived {ours!r}, written {theirs!r}"]


NO_IMAGE = "does not exist: its registry has no such name or tag"
NO_SECRET = f"Secret {SECRET} does not exist"
NODE_NOT_READY = ("clusterNodeNotReady", "cluster")


class Model:
    """An object of a controller's kind, its status, and the reports about it.

    Attributes:
        nodes: where its pods run: played ones, or those of a cluster.
        ours: paths of the derived status that no release of the controller writes like this.
        unfollowed: paths that the controller leaves unchanged when pods only lose readiness.
    """

    def __init__(
        self,
        stage: Any,
        daemon: Replica,
        resource: str,
        obj: Object,
        *,
        nodes: Any = None,
        ours: tuple[str, ...] = (),
        unfollowed: tuple[str, ...] = (),
    ) -> None:
        self.stage = stage
        self.daemon = daemon
        self.nodes = nodes
        self._ours = ours
        self._unfollowed = unfollowed
        self.resource = resource
        self.namespace = obj["metadata"]["namespace"]
        self.name = obj["metadata"]["name"]
        self.kind = obj["kind"]
        self.subject = f"{self.kind.lower()}/{self.namespace}/{self.name}"
        self._expected: set[tuple[str, str]] = set()

    async def written(self) -> Object:
        found = await self.stage.api.get(self.resource, self.name, namespace=self.namespace)
        return (found or {}).get("status") or {}

    async def derived(self) -> Object:
        for each in (await self.daemon.report())["derived"]:
            if (each["kind"], each["namespace"], each["name"]) == (
                self.kind,
                self.namespace,
                self.name,
            ):
                return each["status"]
        return {}

    async def agrees(self, *, but: tuple[str, ...] = ()) -> None:
        """Wait until the derived status is the written one, except for some paths."""

        async def different() -> list[str]:
            derived = await self.derived()
            assert derived
            found = differences(derived, await self.written())
            return [each for each in found if not each.startswith(self._ours + but)]

        await until_is(different, [], f"{self.subject}: derived and written differ in nothing")

    async def condition(self, type_: str, status: str) -> None:
        async def says() -> str:
            conditions = (await self.written()).get("conditions") or ()
            return "".join(each["status"] for each in conditions if each["type"] == type_)

        await until_is(says, status, f"{self.subject}: {type_}")

    async def state(self, wanted: str) -> None:
        async def found() -> list[str]:
            subjects = (await self.daemon.report())["subjects"]
            return [each["state"] for each in subjects if each["subject"] == self.subject]

        await until_is(found, [wanted], self.subject)

    async def patch(self, patch: Object) -> None:
        await self.stage.api.patch(self.resource, self.name, patch, namespace=self.namespace)

    async def fires(self, reason: str, *words: str) -> None:
        """Wait until only this reason fires for it, with these words."""
        self._expected.add((reason, self.subject))

        async def told() -> bool:
            (event,) = await self.stage.events((reason, self.subject), state="firing") or [None]
            assert event, "it does not fire"
            for each in words:
                assert each in event["message"], event["message"]
            return True

        try:
            await until(told, f"{reason} of {self.subject} says {words}")
        except AssertionError as error:
            found = (await self.daemon.report())["findings"]
            said = [f"{each['disposition']} {each['reason']}: {each['message']}" for each in found]
            raise AssertionError(
                f"{error}; findings {said}; status {await self.written()}"
            ) from None
        await self._alone((reason, self.subject))

    async def _alone(self, *keys: tuple[str, str]) -> None:
        events = await self.stage.events(state="firing")
        others = [each for each in events if each["type"] == "Warning" and key_of(each) not in keys]
        assert not others, [(each["reason"], each["message"]) for each in others]

    async def over(self, reason: str) -> None:
        async def ended() -> bool:
            await self._alone()
            return bool(await self.stage.events((reason, self.subject), state="over"))

        await until(ended, f"{reason} of {self.subject} is over")

    async def has_told_no_more(self) -> None:
        """Check that no report ever was false."""
        events = [each for each in await self.stage.events() if each["type"] == "Warning"]
        told = [each for each in events if key_of(each) not in self._expected]
        assert not told, [
            (each["message"], each["firstTimestamp"], each["lastTimestamp"]) for each in told
        ]

    async def runs(self, image: str) -> None:
        """Wait until its containers have this image, and pods with another image are gone."""

        async def images() -> set[str]:
            found = await self.stage.api.items("pods", namespace=self.namespace)
            there = {each["image"] for pod in found for each in pod["spec"]["containers"]}
            return there & {FIRST, SLOW, GOOD, BAD}

        await until_is(images, {image}, f"images of {self.subject}")

    async def has_pods(self, count: int, *, firing: str = "") -> None:
        """Wait until it has so many pods, and all is well but for what fires."""

        async def there() -> int:
            return len(await self.stage.api.items("pods", namespace=self.namespace))

        await until_is(there, count, f"number of pods of {self.subject}")
        await self.is_ready(firing=firing)

    async def is_updated(self, patch: Callable[[str], Object], reason: str) -> None:
        """It loads slowly, is updated, then to an image that does not exist, and is rolled back."""
        for image in (SLOW, GOOD):
            await self.patch(patch(image))
            await self.runs(image)
            await self.is_ready()
        await self.has_told_no_more()
        await self.patch(patch(BAD))
        await self.fires(reason, NO_IMAGE)
        await self.state("degraded")
        await self.agrees_where_derived()
        await self.patch(patch(GOOD))
        await self.over(reason)
        await self.runs(GOOD)
        await self.is_ready()

    async def is_ready(self, *, firing: str = "") -> None:
        """Wait until all is well but for what fires, and the controller says the same."""
        await self.state("degraded" if firing else "serving")
        await self._alone(*([(firing, self.subject)] if firing else []))
        await self.agrees_where_derived()

    async def has_no_room(self, patch: Object, reason: str) -> None:
        """It is scaled up by a patch without a node for the new pods; then there is one."""
        async with self.nodes.without_room(self.namespace):
            await self.patch(patch)
            await self.fires(reason, "nvidia.com/gpu")
            await self.state("degraded")
            await self.agrees_where_derived()
        await self.over(reason)
        await self.is_ready()

    async def suffers(self, reason: str, pods: str) -> None:
        """Its Secret, its image and its node are lost: each is reported alone, and ends."""
        but = () if self.nodes.replaces_pods else self._unfollowed
        for without, words in (
            (self.nodes.without_secret, NO_SECRET),
            (self.nodes.without_image, NO_IMAGE),
        ):
            async with without(self.namespace, pods):
                await self.fires(reason, words)
                await self.agrees_where_derived(but=but)
            await self.over(reason)
        async with self.nodes.without_node(self.namespace, pods):
            self._expected.add(NODE_NOT_READY)
            await self.stage.told(*NODE_NOT_READY)
            await self._alone(NODE_NOT_READY)
            await self.agrees_where_derived(but=self._unfollowed)
        await self.stage.told(*NODE_NOT_READY, state="over")
        await self._alone()
        await self.agrees_where_derived()

    async def agrees_where_derived(self, *, but: tuple[str, ...] = ()) -> None:
        """Like `agrees`, if the reporter derives a status for its kind at all."""
        if await self.derived():
            await self.agrees(but=but)

    async def has_no_controller(self, controller: Any, pods: str, reason: str) -> None:
        """Without a controller, its pods are judged directly; then all is as before."""
        controller.stop()
        async with self.nodes.without_image(self.namespace, pods, kept=True):
            await self.fires(reason, NO_IMAGE)
        await self.over(reason)
        await controller.start()
        await self.agrees_where_derived()

    async def is_deleted(self) -> None:
        """Nothing is reported about what is being deleted."""
        await self.stage.api.delete(self.resource, self.name, namespace=self.namespace)

        async def gone() -> bool:
            subjects = {each["subject"] for each in (await self.daemon.report())["subjects"]}
            return self.subject not in subjects

        await until(gone, f"{self.subject} is gone")
        await self._alone()
        await self.has_told_no_more()
