"""Reads the end of a container's log."""

from typing import Final

from reporter.kube.client import KubeClient, api_path
from reporter.model.crash import Crash

_LINES: Final = 50
"""Lines that are asked for; empty ones among them do not count."""

_BYTES: Final = 64 * 1024
_SECONDS: Final = 5.0


async def read_log(client: KubeClient, crash: Crash) -> str:
    """Return the last lines of the run that crashed, as the kubelet gives them.

    Raises:
        Forbidden: `get` of `pods/log` is not granted.
        ApiStatusError: the kubelet has that log no more, or the pod is gone.
        KubeError: anything else, see `errors`.

    """
    response = await client.request(
        "GET",
        api_path("", "v1", "namespaces", crash.namespace, "pods", crash.pod, "log"),
        verb="get",
        resource="pods/log",
        params={
            "container": crash.container,
            "previous": "true" if crash.previous else "false",
            "tailLines": str(_LINES),
            "limitBytes": str(_BYTES),
        },
        headers={"Accept": "*/*"},
        timeout=_SECONDS,
        max_bytes=2 * _BYTES,
    )
    return response.body.decode("utf-8", "replace")
