"""The last lines before a crash, for a command that looks once."""

from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Final

from reporter.cli.configure import ProgramSettings
from reporter.kube.client import connect
from reporter.kube.errors import KubeError
from reporter.kube.on_demand import fetch_log
from reporter.model.finding import Crash, EpisodeKey
from reporter.sinks.pod_view import last_lines

MOST: Final = 10
"""Most logs that are read for one report."""


async def read_crash_logs(
    settings: ProgramSettings, crashes: Mapping[EpisodeKey, Crash]
) -> dict[EpisodeKey, tuple[str, ...]]:
    """Return the last lines of the first crashes; of what cannot be read there are none."""
    found: dict[EpisodeKey, tuple[str, ...]] = {}
    if not crashes:
        return found
    async with await connect(kubeconfig=settings.kubeconfig, context=settings.context) as client:
        for key, crash in islice(crashes.items(), MOST):
            with suppress(KubeError):
                found[key] = last_lines(await fetch_log(client, crash))
    return found
