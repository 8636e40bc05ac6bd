"""One step of reading what explains a fault; the daemon takes steps when they are due, `check` all at once."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reporter.catalogue.resources import VOLUMES
from reporter.diagnosis.logs import read_log
from reporter.diagnosis.signatures import Signature
from reporter.diagnosis.wanted_evidence import WantedEvidence, WantedRun, together
from reporter.kube.client import KubeClient
from reporter.kube.errors import ApiStatusError
from reporter.kube.on_demand import Turn, fetch_log, read_events, read_object, read_objects
from reporter.model.evidence import LogCause
from reporter.model.finding import Crash
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.sinks.pod_view import last_lines
from reporter.snapshot.snapshot import Learned


@dataclass(frozen=True, slots=True)
class WantedRead:
    """What is read at once: the Events of a namespace, a kind, a volume, or a log.

    Attributes:
        events: a namespace.
        kind: a resource.
        volume: the name of a PersistentVolume.
        log: a container.

    """

    events: str = ""
    kind: Resource[KubeObject] | None = None
    volume: str = ""
    log: WantedRun | None = None

    @property
    def repeats(self) -> bool:
        """Whether a later look may say more: the log of a run that ended says the same for ever."""
        return self.log is None or False in self.log.runs


def steps(wanted: WantedEvidence, *, logs: bool) -> Iterator[WantedRead]:
    """Yield what is wanted, what says most first: Events, then logs, then objects."""
    yield from (WantedRead(events=each) for each in wanted.namespaces)
    if logs:
        yield from (WantedRead(log=each) for each in wanted.logs)
    yield from (WantedRead(kind=each) for each in wanted.resources)
    yield from (WantedRead(volume=each) for each in wanted.volumes)


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """Carries out steps.

    Attributes:
        client: makes the requests.
        learned: is told what was read.
        signatures: what logs are held against.
        version: the API version of a kind that the cluster serves, empty if it serves none.
        turn: waits until the next request may be made.

    """

    client: KubeClient
    learned: Learned
    signatures: Sequence[Signature]
    version: Callable[[Resource[KubeObject]], str]
    turn: Turn

    async def take(self, step: WantedRead, wanted: WantedEvidence) -> bool:
        """Read, and return whether something else is known than before.

        Raises:
            Forbidden: the right is not granted.
            KubeError: anything else, see `errors`.

        """
        if step.events:
            pods = wanted.pods.get(step.events, ())
            uids = [each.metadata.uid for each in pods if each.metadata.uid]
            events = await read_events(self.client, step.events, uids=uids, turn=self.turn)
            return self.learned.note_events(step.events, events)
        if step.log:
            cause, lines = await self._read_log(step.log)
            return self.learned.note_log(step.log.key, cause, lines)
        if step.volume:
            volume = await read_object(self.client, VOLUMES, step.volume, turn=self.turn)
            found = [volume] if volume is not None else []
            return self.learned.note_objects(VOLUMES, found, partial=True)
        if step.kind is not None and (version := self.version(step.kind)):
            objects, whole = await read_objects(self.client, step.kind, version, turn=self.turn)
            return self.learned.note_objects(step.kind, objects, partial=not whole)
        return False

    async def _read_log(self, wanted: WantedRun) -> tuple[LogCause, tuple[str, ...]]:
        causes: list[LogCause] = []
        lines: tuple[str, ...] = ()
        refused: ApiStatusError | None = None
        for previous in wanted.runs:
            await self.turn()
            run = Crash(wanted.namespace, wanted.pod, wanted.container, previous)
            try:
                text = await fetch_log(self.client, run)
            except ApiStatusError as error:
                # The kubelet has it no more; the other run may still be there.
                refused = error
                continue
            # A log may have a mebibyte of anything: the loop goes on meanwhile.
            reading = await asyncio.to_thread(read_log, text, self.signatures)
            causes.append(reading.cause)
            lines = lines or last_lines(text)
            if reading.cause.signature and not reading.cause.symptom:
                break
        if not causes and refused is not None:
            raise refused
        return together(causes), lines
