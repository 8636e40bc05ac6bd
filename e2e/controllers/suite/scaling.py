"""Autoscaling: the whole of KEDA, and a Prometheus for its triggers."""

import time
from typing import Any, Final

from aiohttp import web

from lab.sandbox.objects import Object, dig
from tests.daemon.replica import free_port, until

SCALEDOBJECTS: Final = "scaledobjects.keda.sh"


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
        """Answer any query."""
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
        """Merge into its spec."""
        await self.stage.api.patch(
            SCALEDOBJECTS, self._name, {"spec": spec}, namespace=self._namespace
        )

    async def conditions(self) -> dict[str, Object]:
        """Return them, by type."""
        found = await self.stage.api.get(SCALEDOBJECTS, self._name, namespace=self._namespace)
        conditions = dig(found or {}, "status", "conditions") or ()
        return {each["type"]: each for each in conditions}

    async def says(self, **wanted: str) -> None:
        """Wait until its conditions have these statuses, such as `Ready="True"`."""

        async def so() -> bool:
            found = await self.conditions()
            statuses = {key: each["status"] for key, each in found.items()}
            assert wanted.items() <= statuses.items(), found
            return True

        await until(so, f"ScaledObject {self._name} says {wanted}")
