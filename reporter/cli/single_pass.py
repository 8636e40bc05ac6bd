"""A single pass over a dump or the live cluster, with what explains its faults, for an evaluation.

`check --with FILE` is the same pass, as if manifests had just been applied. Controllers have not
acted then, so the status of a new or changed object says nothing about its new spec. A finding that
the manifests bring counts as lasting if it follows from specs and existing objects: a dangling
reference, a maximum below a minimum. Any other finding about such an object begins now, and is
pending. An object that has not settled is neither ready nor serving.
"""

import argparse
import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from reporter.cli.configure import ProgramSettings
from reporter.cli.judged import (
    in_namespace,
    is_judged,
    not_looked_at,
    reads_anything,
    require_namespace,
    why_nothing_is_judged,
)
from reporter.daemon.evidence import (
    EvidenceReader,
    EvidenceTask,
    RequestPace,
    WantedRead,
    fetch_log,
    steps,
)
from reporter.diagnosis.logs import read_log
from reporter.diagnosis.signatures import signatures_with
from reporter.diagnosis.wanted_evidence import wanted_evidence
from reporter.errors import UsageError
from reporter.evaluation import evaluate
from reporter.kube.client import connect
from reporter.kube.errors import ConfigurationError, KubeError
from reporter.kube.live import LiveCluster
from reporter.metrics.samples.window import NONE, PodSamples
from reporter.model.evidence import ContainerLog
from reporter.model.finding import EpisodeKey, Evaluation, Finding
from reporter.model.instant import Instant, parse_rfc3339, rfc3339
from reporter.model.report import Report
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import clean
from reporter.resolution import Memory, SinglePass, resolve
from reporter.snapshot.applying import AppliedManifests, apply_manifests
from reporter.snapshot.documents import BrokenDocument, Document, read_documents, sources_of
from reporter.snapshot.inputs.files import DumpError
from reporter.snapshot.inputs.reading import STDIN
from reporter.snapshot.snapshot import Learned, Snapshot, unserved_notes, with_held_leases
from reporter.workload.components import with_verdicts

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_OBSERVED_SECONDS: Final = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """The input of an evaluation, its time, and notes for the reader.

    `only` is the one namespace that was read, or empty if all were. `applied` is the result of the
    manifests of `--with`; `snapshot` is without them.
    """

    snapshot: Snapshot
    now: datetime
    about: str
    notes: tuple[str, ...] = ()
    samples: PodSamples = NONE
    only: str = ""
    applied: AppliedManifests | None = None

    @property
    def passed_over(self) -> tuple[str, ...]:
        return not_looked_at(metrics=self.samples.scraping, namespace=self.only)


@dataclass(frozen=True, slots=True)
class Manifests:
    """Documents to apply, and their source for the first line of a report."""

    documents: tuple[object, ...]
    title: str


def dump_input(arguments: argparse.Namespace, settings: ProgramSettings) -> CheckInput:
    from reporter.cli.saved_pages import find_pages, read_saved, with_logs
    from reporter.metrics.scraping.targets import find_targets
    from reporter.snapshot.dump import load_dump

    sources = sources_of(arguments.sources)
    try:
        dump = load_dump(sources, settings.catalogue, complete=arguments.complete)
    except DumpError as error:
        raise UsageError(f"--from: {error}") from None
    pages, misnamed = find_pages((each for each in sources if isinstance(each, Path)), dump.pages)
    times = [page.at for page in pages] + ([dump.newest] if dump.newest else [])
    now, about = _time_of_dump(arguments, max(times, default=None))
    if dump.collected and not arguments.now:
        about = "the time of the dump"
    snapshot = replace(dump.snapshot, skipped=(*dump.snapshot.skipped, *misnamed))
    if dump.logs:
        snapshot = with_logs(snapshot, dump.logs, signatures_with(settings.log_signatures))
    snapshot = with_held_leases(snapshot, now)
    targets = find_targets(snapshot, settings) or ()
    return CheckInput(
        snapshot=snapshot,
        now=now,
        about=about,
        notes=(*dump.notes, *unserved_notes(snapshot, settings.catalogue)),
        samples=read_saved(pages, targets, now, settings=settings),
        only=dump.namespace,
    )


def _time_of_dump(arguments: argparse.Namespace, newest: datetime | None) -> tuple[datetime, str]:
    present = datetime.now(UTC)
    if arguments.now:
        return moment_of(arguments.now), "--now"
    if newest is None:
        return present, "the present; the dump has no time"
    if newest > present:
        return present, "the present; the dump's newest time is later"
    return newest, "the newest time in the dump"


def evaluate_input(
    given: CheckInput,
    settings: ProgramSettings,
    *,
    observed_for: timedelta | None = None,
    from_dump: bool = False,
) -> Report:
    snapshot = _awaiting_nothing(given.snapshot)
    evaluation = evaluate(snapshot, settings, given.samples)
    if given.applied is not None:
        snapshot = _awaiting_nothing(given.applied.snapshot)
        after = evaluate(snapshot, settings, given.samples)
        evaluation = unsettled_evaluation(evaluation, after, given.applied.unsettled, now=given.now)
    # Any user may read discovery. A user who may read nothing else must not see "nothing fires".
    blind = not from_dump and not reads_anything(snapshot)
    if blind or not is_judged(evaluation, snapshot, settings):
        raise UsageError(why_nothing_is_judged(snapshot, settings, from_dump=from_dump))
    # In a single pass, the boot clock is only a point of reference.
    now = Instant(given.now, given.now - _EPOCH)
    single_pass = SinglePass(observed_for, metrics=given.samples.scraping)
    return resolve(
        evaluation, snapshot, Memory(), now=now, settings=settings, single_pass=single_pass
    ).report


def _awaiting_nothing(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot as final: what could not be read is unknown, not awaited.

    Otherwise no fault that depends on it would fire, and it would look healthy. The time of a
    refusal is dropped: it is only when we first asked.
    """
    return replace(
        snapshot,
        states={
            each: replace(state, confirmed=True, since=None)
            for each, state in snapshot.states.items()
        },
        discovery=replace(snapshot.discovery, confirmed=True),
    )


def moment_of(text: str) -> datetime:
    try:
        return parse_rfc3339(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--now: {text!r} is not allowed; allowed: an RFC 3339 time with its zone, such as "
            f"{rfc3339(datetime(2026, 11, 20, 12, tzinfo=UTC))}"
        ) from None


def observed_of(text: str | None) -> timedelta | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _MOST_OBSERVED_SECONDS:
        raise UsageError(f"--observed-for: {text!r} is not allowed; allowed: seconds, 0 or more")
    return timedelta(seconds=seconds)


async def cluster_input(arguments: argparse.Namespace, settings: ProgramSettings) -> CheckInput:
    from reporter.cli.cluster import watched_cluster

    try:
        looked = watched_cluster(settings, namespace=arguments.namespace or "", watch=False)
        async with looked as cluster:
            snapshot = await with_evidence(cluster, arguments, settings)
    except ConfigurationError as error:
        raise UsageError(f"{error}; or name a dump with --from") from None
    except KubeError as error:
        raise UsageError(str(error)) from None
    return live_input(snapshot, arguments, settings)


def live_input(
    snapshot: Snapshot, arguments: argparse.Namespace, settings: ProgramSettings
) -> CheckInput:
    return CheckInput(
        snapshot=snapshot,
        now=moment_of(arguments.now) if arguments.now else datetime.now(UTC),
        about="--now" if arguments.now else "the present",
        notes=unserved_notes(snapshot, settings.catalogue),
        only=arguments.namespace or "",
    )


def with_manifests(
    given: CheckInput, manifests: Manifests | None, settings: ProgramSettings, *, namespace: str
) -> CheckInput:
    if manifests is None:
        return given
    applied = apply_manifests(
        given.snapshot,
        manifests.documents,
        settings.catalogue.resources,
        now=given.now,
        namespace=namespace,
    )
    return replace(
        given,
        about=f"{given.about}; {manifests.title}",
        notes=(*applied.notes, *given.notes),
        applied=applied,
    )


def compared(
    given: CheckInput, report: Report, arguments: argparse.Namespace, *, settings: ProgramSettings
) -> CheckInput:
    if given.applied is None:
        return given
    try:
        before = judged(replace(given, applied=None), arguments, settings)
    except UsageError:
        return given  # without the manifests nothing could be judged
    return replace(given, notes=(*differences(before, report), *given.notes))


def judged(given: CheckInput, arguments: argparse.Namespace, settings: ProgramSettings) -> Report:
    """Return the report of a single pass, about one namespace or everything."""
    namespace = arguments.namespace or given.only
    if namespace:
        snapshot = given.applied.snapshot if given.applied else given.snapshot
        require_namespace(namespace, snapshot, given.only)
    report = evaluate_input(
        given,
        settings,
        observed_for=observed_of(arguments.observed_for),
        from_dump=bool(arguments.sources),
    )
    return in_namespace(report, namespace) if namespace else report


MOST_READS: Final = 200
"""Most reads for one report; those about the most models come first."""

SECONDS: Final = 20.0
"""How long a user waits for these reads; later answers are left out."""

_AT_ONCE: Final = 4


async def with_evidence(
    cluster: LiveCluster, arguments: argparse.Namespace, settings: ProgramSettings
) -> Snapshot:
    """Return a snapshot of the cluster with what explains the faults in it."""
    snapshot = cluster.snapshot()
    try:
        given = live_input(snapshot, arguments, settings)
        report = await asyncio.to_thread(evaluate_input, given, settings)
    except UsageError:
        return snapshot  # the same error ends the evaluation later
    wanted = with_verdicts(wanted_evidence(report, snapshot), report, snapshot, settings=settings)
    slots = asyncio.Semaphore(_AT_ONCE)
    reader = _reader(cluster, settings, _at_once)

    async def read(step: WantedRead) -> None:
        async with slots:
            with suppress(KubeError):
                await reader.take(step, wanted)

    only = arguments.namespace or ""
    chosen = (
        each
        for each in steps(wanted, logs=True)
        if not only or each.lease or only in {each.events, each.log.namespace if each.log else ""}
    )
    reading = [asyncio.create_task(read(each)) for each in islice(chosen, MOST_READS)]
    if reading:
        _, late = await asyncio.wait(reading, timeout=SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    return reader.learned.joined(snapshot)


def _reader(
    cluster: LiveCluster, settings: ProgramSettings, turn: Callable[[], Awaitable[None]]
) -> EvidenceReader:
    signatures = signatures_with(settings.log_signatures)
    return EvidenceReader(cluster.client, Learned(), signatures, cluster.served_version, turn)


@asynccontextmanager
async def evidence_of(
    cluster: LiveCluster, settings: ProgramSettings, changed: Callable[[], None]
) -> AsyncIterator[EvidenceTask]:
    """Read what explains faults in the background of `--watch`, at the pace of a daemon."""
    reader = _reader(cluster, settings, RequestPace().turn)
    task = EvidenceTask(reader, lambda: True, changed, logs=True)
    running = asyncio.create_task(task.run())
    try:
        yield task
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _at_once() -> None: ...


MOST_LOGS: Final = 10
"""Most logs that are read for one report."""


def lines_in_dump(
    snapshot: Snapshot, crashes: Mapping[EpisodeKey, ContainerLog], *, whole: bool
) -> dict[EpisodeKey, tuple[str, ...]]:
    """Return the last lines of each log; without `whole`, only a failure that nothing explains."""
    logs = {key: snapshot.evidence.log_of(*each[:3]) for key, each in crashes.items()}
    return {
        key: each.shown if whole else (each.failure,)
        for key, each in logs.items()
        if each is not None and (whole or each.failure)
    }


async def read_crash_logs(
    settings: ProgramSettings, crashes: Mapping[EpisodeKey, ContainerLog]
) -> dict[EpisodeKey, tuple[str, ...]]:
    """Return the last lines of each crash's log; logs that cannot be read are left out."""
    found: dict[EpisodeKey, tuple[str, ...]] = {}
    if not crashes:
        return found
    async with await connect(kubeconfig=settings.kubeconfig, context=settings.context) as client:
        for key, crash in islice(crashes.items(), MOST_LOGS):
            with suppress(KubeError):
                found[key] = read_log(await fetch_log(client, crash), ()).cause.shown
    return found


_Identity: TypeAlias = tuple[str, Subject, ObjectRef, str]


def read_manifests(paths: Iterable[str]) -> Manifests | None:
    """Read the files of `--with`. Raises UsageError for any document that cannot be read: leaving
    it out would make it look harmless.
    """
    files = tuple(paths)
    if not files:
        return None
    documents: list[object] = []
    try:
        for document in read_documents(sources_of(files)):
            match document:
                case Document(value=value):
                    documents.append(value)
                case BrokenDocument(source=source, cause=cause):
                    raise UsageError(f"--with: {source}: {cause}")
    except DumpError as error:
        raise UsageError(f"--with: {error}") from None
    names = ("standard input" if each == STDIN else Path(each).name or each for each in files)
    return Manifests(tuple(documents), f"with {', '.join(names)}")


def unsettled_evaluation(
    before: Evaluation, after: Evaluation, unsettled: frozenset[ObjectRef], *, now: datetime
) -> Evaluation:
    """Return the evaluation after applying, without verdicts on statuses not yet written."""
    known = {_identity(each) for each in before.findings}
    names = {(ref.kind.lower(), ref.namespace, ref.name) for ref in unsettled}
    subjects = frozenset(each.subject for each in after.subjects if tuple(each.subject) in names)
    return replace(
        after,
        findings=tuple(
            each if _identity(each) in known else _dated(each, unsettled, subjects, now=now)
            for each in after.findings
        ),
        ready=tuple(each for each in after.ready if each.subject not in subjects),
        serving=tuple(each for each in after.serving if each.subject not in subjects),
    )


def differences(before: Report, after: Report) -> Iterator[str]:
    old = {each.key: each for each in before.findings}
    new = {each.key: each for each in after.findings}
    brought = [new[key] for key in sorted(new.keys() - old.keys())]
    if brought:
        names = (
            f"{each.reason} of {clean(str(each.subject))} ({each.disposition})" for each in brought
        )
        yield f"This brings {', '.join(names)}."
    gone = [old[key] for key in sorted(old.keys() - new.keys())]
    if gone:
        names = (f"{each.reason} of {clean(str(each.subject))}" for each in gone)
        yield f"This ends {', '.join(names)}."
    if not brought and not gone:
        yield "This brings no finding and ends none."


def _dated(
    finding: Finding,
    unsettled: frozenset[ObjectRef],
    subjects: frozenset[Subject],
    *,
    now: datetime,
) -> Finding:
    """Return a finding that the manifests bring, with the time from which it counts."""
    if finding.by_spec or (finding.exempt and finding.transition is None):
        # Waiting cannot heal it, so it counts as old enough.
        return replace(finding, created=None, transition=None)
    if finding.related in unsettled or finding.subject in subjects:
        return replace(finding, created=now, transition=now, exempt=False)
    return finding


def _identity(finding: Finding) -> _Identity:
    return finding.reason, finding.subject, finding.related, finding.cause
