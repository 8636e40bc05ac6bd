"""Rule 7: Ready needs positive evidence, and is reported once.

To Alertmanager, the absence of alerts means resolved; but an operator whose monitoring has died
sees the same. So a subject is ready only if a probe has seen it work, no reason that blocks Ready
is listed for it in any disposition, and nothing that decides about it is unknown or unconfirmed. A
pass that waits for data does not take back a former Ready.

Reporting it once is harder, because Events expire (kube-apiserver `--event-ttl`, an hour by
default), so the absence of a recorded Ready proves nothing. These approaches fail:

- write a Ready if there is none: every healthy subject would be reported again each hour;
- remember in the process that it was written: every restart and every new leader would report all
  subjects again;
- write it when the Warning is closed: a Warning that was closed while the evidence was missing, or
  by a process that died right afterwards, would never be answered.

So the record decides. Ready is due when the newest Event about the subject's readiness is a
Warning, which it answers. Without any such Event, it is due only for a subject younger than the
lifetime of an Event, whose Ready cannot have expired, and for the cluster, which has no creation
time. The episode in the Event's name is that of the Warning, so two replicas write the same Event.

A Ready may expire before the Warning that it answered, which is refreshed while it lasts; and the
clock of a writer may be set back, so that a Ready looks older than its Warning. So a pass that
finds a subject ready and reported remembers the records that it saw (`Memory.answered`): only a
later record makes another Ready due.

This module also has the commands for a finding, which depend on the finding alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from operator import attrgetter

from reporter.catalogue.resources import EVENTS, NODES
from reporter.model.catalogue import Catalogue
from reporter.model.commands import commands_for, conditions_command, is_name
from reporter.model.finding import Fails, KnownSubject
from reporter.model.instant import Instant, rfc3339_micro
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType
from reporter.model.report import ReadySubject, ResolvedFinding
from reporter.model.resource import Resource
from reporter.model.subject import CRD_KIND, ObjectRef, Subject, SubjectKind, crd_ref
from reporter.model.text import MESSAGE_BYTES, cut
from reporter.resolution.memory import CachedReady, Writing
from reporter.resolution.records import Record
from reporter.resolution.state import Candidate, PassState
from reporter.resolution.unknown import confirmed, reads_unknown
from reporter.snapshot.snapshot import Served, Snapshot

EVENT_LIFETIME = timedelta(hours=1)
"""How long the API server keeps an Event by default (`--event-ttl`)."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The ready subjects; `ages`: a Ready is due only while its subject is young.

    For the next pass: `answered` are the records of each subject that need no answer, `cached`
    the subjects that need no new decision.
    """

    ready: tuple[ReadySubject, ...]
    answered: Mapping[Subject, frozenset[Writing]]
    cached: Mapping[Subject, CachedReady]
    ages: bool = False


def find_ready(state: PassState, findings: Iterable[ResolvedFinding]) -> Readiness:
    """Return the subjects that are ready, given these findings, and whether their Event is due."""
    evaluation, snapshot, catalogue = state.evaluation, state.snapshot, state.catalogue
    blocked = {finding.subject for finding in findings if catalogue[finding.reason].blocks_ready}
    sight = state.steps.take(
        "sight",
        (evaluation.open_reasons, snapshot.states, snapshot.discovery, catalogue),
        lambda: _sight(evaluation.open_reasons, snapshot, catalogue),
    )
    return state.steps.take(
        "ready",
        (
            evaluation.ready,
            evaluation.subjects,
            blocked,
            sight,
            snapshot.known(EVENTS),
            state.records,
            state.memory.answered,
        ),
        partial(_readiness, state, blocked, sight),
        lasts=lambda found: not found.ages,
    )


def _sight(
    unjudged: Collection[str], snapshot: Snapshot, catalogue: Catalogue
) -> tuple[frozenset[SubjectKind], frozenset[SubjectKind]]:
    """Return the kinds of subjects for which all inputs of Ready are known, and confirmed."""
    known = (
        kind
        for kind in catalogue.kinds
        if not any(
            reason.name in unjudged or reads_unknown(reason, snapshot)
            for reason in catalogue.of_ready(kind)
        )
    )
    settled = (kind for kind in catalogue.kinds if ready_confirmed(kind, snapshot, catalogue))
    return frozenset(known), frozenset(settled)


def _readiness(
    state: PassState,
    blocked: Collection[Subject],
    sight: tuple[frozenset[SubjectKind], frozenset[SubjectKind]],
) -> Readiness:
    evaluation, catalogue = state.evaluation, state.catalogue
    known = state.known
    kinds_known, kinds_confirmed = sight
    on_record = state.snapshot.known(EVENTS)
    ages = False
    records = {s: each for s, each in state.memory.answered.items() if s in known}
    before, cached = state.memory.cached_ready, dict[Subject, CachedReady]()
    ready: list[ReadySubject] = []
    for evidence in sorted(evaluation.ready, key=attrgetter("subject")):
        subject = evidence.subject
        if subject in blocked or subject not in known or subject.kind not in kinds_known:
            continue
        answered = records.get(subject)
        if answered is None and subject.kind not in kinds_confirmed:
            continue
        about, recorded = known[subject], state.records.of(subject)
        kept = before.get(subject)
        if kept is not None and kept.holds(evidence, about, answered, own=recorded):
            ready.append(kept.ready)
            cached[subject] = kept
            continue
        own = _on_record(recorded, about, catalogue)
        newest = _newest(own, answered)
        due = on_record and _is_due(about, newest, answered, now=state.now)
        ages |= due and newest is None and about.created is not None
        begun = _micro(about.created) if about.created else "first"
        found = ReadySubject(
            reason=evidence.reason,
            layer=catalogue[evidence.reason].layer,
            subject=subject,
            involved=evidence.involved,
            related=evidence.related,
            message=cut(evidence.message, MESSAGE_BYTES),
            due=due,
            # Distinguishes this recovery from the next: the Warning it ends, or the creation.
            episode=newest.event.name if newest else begun,
        )
        ready.append(found)
        if on_record and not due:
            writings = frozenset(map(_writing, own))
            if answered == writings:
                cached[subject] = CachedReady(evidence, about, recorded, answered, found)
            else:
                records[subject] = writings
    # Reuse an equal mapping: comparing the same object is faster in the next pass.
    if records == state.memory.answered:
        return Readiness(tuple(ready), state.memory.answered, cached, ages)
    return Readiness(tuple(ready), records, cached, ages)


def _is_due(
    subject: KnownSubject,
    newest: Record | None,
    answered: frozenset[Writing] | None,
    *,
    now: Instant,
) -> bool:
    if newest is not None:
        return newest.event.type == EventType.WARNING
    if answered is not None:
        return False
    return subject.created is None or now.wall - subject.created < EVENT_LIFETIME


def _on_record(
    records: Iterable[Record], subject: KnownSubject, catalogue: Catalogue
) -> list[Record]:
    """Return the Events of a subject that bear on its readiness.

    Events written before the subject was created are about a former subject of the same name.
    """
    return [
        record
        for record in records
        if record.key.reason in catalogue
        and (catalogue[record.key.reason].blocks_ready or catalogue[record.key.reason].says_ready)
        and (subject.created is None or record.written >= subject.created)
    ]


def _newest(records: Iterable[Record], answered: frozenset[Writing] | None) -> Record | None:
    """Return the newest record since the subject was last found ready and reported.

    Only records since then are compared by time, as the clock of the writer may have been set back.
    If a Ready and a Warning have the same time, the Ready counts as newer: it ends the Warning.
    """
    return max(
        (each for each in records if answered is None or _writing(each) not in answered),
        key=lambda each: (each.written, each.event.type == EventType.NORMAL, each.event.name),
        default=None,
    )


def _writing(record: Record) -> Writing:
    return (record.event.name, record.written)


def ready_confirmed(kind: SubjectKind, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Tell whether all inputs of Ready for a kind of subjects are confirmed."""
    return not snapshot.state(EVENTS).awaited and all(
        confirmed(reason.name, snapshot, catalogue) for reason in catalogue.of_ready(kind)
    )


_micro = lru_cache(maxsize=16_384)(rfc3339_micro)


def finding_commands(candidate: Candidate, state: PassState) -> tuple[str, ...]:
    """Return two to five commands: for the object at fault first, then those of the reason."""
    says = candidate.worst.says
    why, related = says.diagnosis, says.related
    resource = _resource_of(related, state.catalogue)
    if resource is not None and state.snapshot.absent(resource):
        related = crd_ref(resource.crd_name)
    mend = why.object if why else None
    if mend is None and says.lost_node:
        mend = NODES.ref_named("", says.lost_node)
    missing = {each for each in (related, mend) if each and _is_missing(each, state)}
    if why and why.missing and why.object:
        missing.add(why.object)
    return _commands(
        related,
        candidate.key.subject,
        about=says.about,
        reason=candidate.key.reason,
        of=state.catalogue,
        mend=mend,
        missing=frozenset(missing),
        fails=says.fails,
    )


def _resource_of(ref: ObjectRef, catalogue: Catalogue) -> Resource[KubeObject] | None:
    """Return the resource of a reference of which all objects are read, or None."""
    found = catalogue.of_kind(ref.kind, ref.group)
    return next((each for each in found if not each.label_selector), None)


def _is_missing(ref: ObjectRef, state: PassState) -> bool:
    snapshot = state.snapshot
    if ref.kind == CRD_KIND:
        return snapshot.discovery.state(ref.name) is Served.ABSENT
    resource = _resource_of(ref, state.catalogue)
    return resource is not None and snapshot.lacks(resource, ref.namespace, ref.name)


@lru_cache(maxsize=16_384)
def _commands(
    at_fault: ObjectRef,
    subject: Subject,
    *,
    about: str,
    reason: str,
    of: Catalogue,
    mend: ObjectRef | None,
    missing: frozenset[ObjectRef],
    fails: Fails,
) -> tuple[str, ...]:
    row, more = of[reason], list[str]()
    if all(map(is_name, filter(None, (subject.namespace, subject.name)))):
        more += (
            command.replace("<namespace>", subject.namespace).replace("<name>", subject.name)
            for command in row.look
        )
        if row.window_seconds is not None and at_fault.kind == "Pod" and is_name(at_fault.name):
            more.append(f"status-reporter status --pod {at_fault.namespace}/{at_fault.name}")
    every = of.of_subject(subject.kind)
    named = [each for each in every if each.kind == at_fault.kind] or every
    # If the subject may be of several kinds, leave out a command for an object that may not exist.
    if len({each.kind for each in named}) == 1:
        more.append(conditions_command(named[0].ref_named(subject.namespace, subject.name)))
    return commands_for(
        at_fault, filter(None, more), about=about, mend=mend, missing=missing, fails=fails
    )
