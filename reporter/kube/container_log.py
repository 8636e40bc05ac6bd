"""Reads the end of a container's log."""

from typing import Final

from reporter.kube.client import KubeClient, api_path
from reporter.model.finding import Crash

LINES: Final = 1_000
"""Lines that are asked for: an engine of eight workers says in as many why it failed."""

_BYTES: Final = 1024 * 1024
_FEWER: Final = 10
_SECONDS: Final = 5.0


async def fetch_log(client: KubeClient, crash: Crash) -> str:
    """Return the last lines of a run, as the kubelet gives them.

    Of what `limitBytes` cuts off, the kubelet keeps the beginning (kubernetes, pkg/kubelet/kuberuntime/logs):
    where it did, fewer lines are asked for.

    Raises:
        Forbidden: `get` of `pods/log` is not granted.
        ApiStatusError: the kubelet has that log no more, or the pod is gone.
        KubeError: anything else, see `errors`.

    """
    body = await _read(client, crash, LINES)
    if len(body) >= _BYTES:
        body = await _read(client, crash, LINES // _FEWER)
    return body.decode("utf-8", "replace")


async def _read(client: KubeClient, crash: Crash, lines: int) -> bytes:
    response = await client.request(
        "GET",
        api_path("", "v1", "namespaces", crash.namespace, "pods", crash.pod, "log"),
        verb="get",
        resource="pods/log",
        params={
            "container": crash.container,
            "previous": "true" if crash.previous else "false",
            "tailLines": str(lines),
            "limitBytes": str(_BYTES),
        },
        headers={"Accept": "*/*"},
        timeout=_SECONDS,
        max_bytes=2 * _BYTES,
    )
    return response.body
