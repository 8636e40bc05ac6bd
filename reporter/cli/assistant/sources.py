"""Where an assistant's answers come from: the live cluster, a running daemon, or a dump."""

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from reporter.arguments import PROGRAM
from reporter.cli.assistant.bounded import Json
from reporter.cli.assistant.child import output_of
from reporter.cli.configure import ProgramSettings
from reporter.cli.daemon_answers import HISTORY, REPORT, fetch
from reporter.errors import UsageError
from reporter.resolution.records import Records, records_of
from reporter.sinks.report_json import recorded_history


class AnswerSource(Protocol):
    """One of the three."""

    @property
    def about(self) -> str:
        """What it is, in words."""

    async def report(self) -> Json:
        """Return the report, as `check -o json` prints it.

        Raises:
            UsageError: there is none; the message says why, and what to do.

        """

    async def history(self) -> Json:
        """Return the episodes on record.

        Raises:
            UsageError: they cannot be had; the message says why, and what to do.

        """


@dataclass(frozen=True, slots=True)
class LiveSource:
    """The live cluster, looked at again for each answer.

    Attributes:
        settings: the way to it, and what is read.
        flags: the same as they were given.

    """

    settings: ProgramSettings
    flags: tuple[str, ...]

    @property
    def about(self) -> str:
        """Name the context."""
        context = self.settings.context
        return f"the live cluster of context {context}" if context else "the live cluster"

    async def report(self) -> Json:
        """Evaluate once."""
        return await _check(*self.flags)

    async def history(self) -> Json:
        """Read our Events in kube-system."""
        from reporter.cli.cluster import read_cluster
        from reporter.kube.errors import KubeError

        try:
            snapshot = await read_cluster(self.settings)
        except KubeError as error:
            raise UsageError(str(error)) from None
        return _recorded(records_of(snapshot), datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class DumpSource:
    """A dump on this machine.

    Attributes:
        paths: its files and folders.
        settings: what is read of it.
        flags: the same as they were given.

    """

    paths: tuple[str, ...]
    settings: ProgramSettings
    flags: tuple[str, ...]

    @property
    def about(self) -> str:
        """Name the files."""
        return f"the dump {', '.join(self.paths)}"

    async def report(self) -> Json:
        """Evaluate once."""
        return await _check(*self.flags, *(f"--from={path}" for path in self.paths))

    async def history(self) -> Json:
        """Read our Events in it."""
        from reporter.snapshot.documents import DumpError, sources_of
        from reporter.snapshot.dump import load_dump

        try:
            dump = await asyncio.to_thread(
                load_dump, sources_of(self.paths), self.settings.catalogue, complete=False
            )
        except DumpError as error:
            raise UsageError(f"{self.about}: {error}") from None
        return _recorded(records_of(dump.snapshot), dump.newest or datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class DaemonSource:
    """A running daemon, by its report over HTTP.

    Attributes:
        url: where it serves its report.

    """

    url: str

    @property
    def about(self) -> str:
        """Name the address."""
        return f"the daemon at {self.url}"

    async def report(self) -> Json:
        """Fetch what it sees now."""
        return await self._fetch(REPORT)

    async def history(self) -> Json:
        """Fetch what it has seen."""
        return await self._fetch(HISTORY)

    async def _fetch(self, path: str) -> Json:
        body = await asyncio.to_thread(fetch, self.url, path)
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UsageError(f"{self.url}{path}: no JSON; is this a {PROGRAM}?")
        return found


async def _check(*flags: str) -> Json:
    """Return what `status-reporter check -o json` prints; a path that looks like a flag stays a path."""
    found = await output_of("check", *flags, "-o", "json")
    return found if isinstance(found, dict) else {}


def _recorded(records: Records, now: datetime) -> Json:
    note = "From the daemon's Events on record, which the API server keeps for about an hour."
    return {**recorded_history(records, now), "note": note}
