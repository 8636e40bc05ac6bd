"""Where an assistant's answers come from: the live cluster, a running daemon, or a dump.

Commands of this program as processes of their own.

What an assistant asks for may be large or may hang. A process gives its memory back, can be ended,
and cannot write into the stream of the protocol.

Reports cut to what an assistant can read: what fires first, the rest counted, and nothing twice.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol, TypeAlias

from reporter.arguments import PROGRAM, USAGE_STATUS
from reporter.cli.configure import ProgramSettings
from reporter.cli.daemon_report import HISTORY, REPORT, fetch
from reporter.errors import UsageError
from reporter.model.subject import CLUSTER_KIND
from reporter.model.text import cut
from reporter.resolution.records import Records, records_of
from reporter.sinks.report_json import recorded_history

Json: TypeAlias = dict[str, object]

FIRING: Final = "firing"
_WELL: Final = frozenset({"serving", "idle"})
_LEFT_OUT: Final = frozenset({"derived", "events", "ready", "findings", "subjects", "kind"})
"""Of a report: statuses and Events repeat what the findings say; the others are counted."""

_TITLES: Final = ("unknown", "skipped", "mutes", "muteFaults", "notLookedAt")


def summary(report: Mapping[str, object], *, limit: int, everything: bool) -> Json:
    """Return a report with at most `limit` entries in each list.

    Args:
        report: as `check -o json` prints it.
        limit: most entries in a list; how many more there are is said.
        everything: findings that are no cause too: pending, held, suppressed, muted, less important.

    """
    findings = _entries(report.get("findings"))
    shown = findings if everything else [each for each in findings if _fires(each)]
    subjects = _entries(report.get("subjects"))
    unwell = [each for each in subjects if each.get("state") not in _WELL]
    rest = {key: value for key, value in report.items() if key not in {*_LEFT_OUT, *_TITLES}}
    return {
        **rest,
        "counts": {
            "findings": dict(Counter(str(each.get("disposition")) for each in findings)),
            "subjects": dict(Counter(str(each.get("state")) for each in subjects)),
        },
        **_listed("findings", shown, limit),
        **_listed("subjectsNotWell", unwell, limit),
        **_titled(report, limit),
    }


def history(document: Mapping[str, object], namespace: str, *, limit: int) -> Json:
    """Return episodes, of one namespace and the cluster, or of all if it is empty."""
    episodes = [each for each in _entries(document.get("episodes")) if _is_of(each, namespace)]
    more = document.get("moreEpisodes")
    listed = _listed("episodes", episodes, limit)
    left = more if isinstance(more, int) else 0
    listed["moreEpisodes"] = left + max(0, len(episodes) - limit)
    return {**{key: document[key] for key in ("now", "note") if key in document}, **listed}


def reasons(documents: object) -> Json:
    """Return all reasons in short, of what `explain -o json` prints."""
    entries = _entries(documents)
    return {"reasons": [{"reason": each["reason"], "summary": each["summary"]} for each in entries]}


def narrowed(report: Mapping[str, object], namespace: str) -> Json | None:
    """Return what a report says of one namespace, and of the cluster, whose faults may be behind it.

    None if nothing in that namespace is looked at.
    """
    lists = {name: _entries(report.get(name)) for name in ("findings", "subjects", "ready")}
    places = {_place(each) for entries in lists.values() for each in entries}
    if namespace not in places:
        return None
    kept = {
        name: [each for each in entries if _is_of(each, namespace)]
        for name, entries in lists.items()
    }
    return {**report, **kept}


def _place(entry: Mapping[str, object]) -> str:
    return str(entry.get("subject")).partition("/")[2].partition("/")[0]


def _is_of(entry: Mapping[str, object], namespace: str) -> bool:
    return not namespace or entry.get("subject") == CLUSTER_KIND or _place(entry) == namespace


def _fires(finding: Mapping[str, object]) -> bool:
    return finding.get("disposition") == FIRING


def _titled(report: Mapping[str, object], limit: int) -> Json:
    found: Json = {}
    for name in _TITLES:
        entries = report.get(name)
        if isinstance(entries, list) and entries:
            found |= _listed(name, entries, limit)
    return found


def _listed(name: str, entries: list[Json], limit: int) -> Json:
    more = len(entries) - limit
    found: Json = {name: entries[:limit]}
    return found | {f"more{name[0].upper()}{name[1:]}": more} if more > 0 else found


def _entries(value: object) -> list[Json]:
    entries: Iterable[object] = value if isinstance(value, list) else ()
    return [each for each in entries if isinstance(each, dict)]


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


SECONDS: Final = 120.0
"""Longest time for one command."""

_MOST_BYTES: Final = 64 * 2**20
_SHOWN: Final = 2000


async def output_of(command: str, *words: str, seconds: float = SECONDS) -> object:
    """Return the JSON that a command of ours prints.

    Raises:
        UsageError: it could not be carried out; the message is that of the command.

    """
    # -P: a folder named `reporter` where the assistant runs is not ours.
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "reporter", command, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await _read(child)
            status = await child.wait()
    except TimeoutError:
        raise UsageError(f"{command}: no answer within {seconds:.0f} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if status >= USAGE_STATUS or status < 0:
        raise UsageError(_said(err, command) or f"{command}: ended with status {status}")
    return json.loads(out)


async def _read(child: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    if child.stdout is None or child.stderr is None:
        raise RuntimeError("the process has no pipes")
    return await asyncio.gather(_most(child.stdout), _most(child.stderr))


async def _most(stream: asyncio.StreamReader) -> bytes:
    found = bytearray()
    while part := await stream.read(2**16):
        found += part
        if len(found) > _MOST_BYTES:
            raise UsageError(f"the answer is larger than {_MOST_BYTES} bytes")
    return bytes(found)


def _said(err: bytes, command: str) -> str:
    """Return what a command said, without who said it."""
    text = err.decode("utf-8", "replace").strip()
    for prefix in (f"{PROGRAM}: ", f"{command}: "):
        text = text.removeprefix(prefix)
    return cut(text, _SHOWN)
