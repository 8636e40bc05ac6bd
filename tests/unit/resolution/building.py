"""Findings, snapshots without objects, and a resolver that remembers."""

import json
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from reporter.catalogue.resources import ENVOYFILTERS, EVENTS
from reporter.model.finding import Evaluation, Finding, KnownSubject, ReadyEvidence
from reporter.model.instant import Instant
from reporter.model.report import Disposition, ResolvedFinding
from reporter.model.subject import CLUSTER, CLUSTER_KIND, NAMESPACE_KIND, ObjectRef, Subject
from reporter.resolution import Memory, resolve
from reporter.resolution.grace import Fault
from reporter.resolution.memory import FaultMemory, fault_key
from reporter.resolution.records import Records
from reporter.resolution.state import PassState
from reporter.sinks.events.plan import finding_event, ready_event
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import ALL, BY_NAME

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
START = Instant(NOON, timedelta(days=3))
MODEL = Subject(INFERENCESET_KIND, "demo", "qwen")
HARNESS = Subject.of_namespace("demo")


def seconds(number: float) -> timedelta:
    """Return so many seconds as a timedelta."""
    return timedelta(seconds=number)


def noon(number: float) -> datetime:
    """So many seconds after noon."""
    return NOON + seconds(number)


def namespace(name: str) -> ObjectRef:
    """A Namespace."""
    return ObjectRef("v1", "Namespace", "", name)


def crd(name: str) -> ObjectRef:
    """A CustomResourceDefinition."""
    return ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)


def subject_of(reason: str) -> Subject:
    """The one subject that findings of a reason have here."""
    return {CLUSTER_KIND: CLUSTER, NAMESPACE_KIND: HARNESS}.get(BY_NAME[reason].subject_kind, MODEL)


def finding(reason: str, name: str = "x", **fields) -> Finding:
    """A finding of `reason` about the object `name`."""
    subject = fields.pop("subject", None) or subject_of(reason)
    values = {
        "reason": reason, "subject": subject, "involved": namespace(subject.namespace or "system"),
        "related": ObjectRef("v1", "Pod", "demo", name), "message": f"{reason} of {name}",
        "cause": f"cause of {name}",
    }  # fmt: skip
    return Finding(**values | fields)


def at_once(reason: str, name: str = "x", **fields) -> Finding:
    """A finding that fires at once."""
    return finding(reason, name, exempt=True, **fields)


def fault_of(found: Finding, **fields) -> Fault:
    """A fault that began at noon, and whose grace is over."""
    values = {
        "clock": fault_key(found), "finding": found, "says": found, "since": NOON,
        "first_seen": START.boot, "ripe": True, "remaining": timedelta(0), "next_in": None,
        "began_seen": {},
    }  # fmt: skip
    return Fault(**values | fields)


def remembered(found: Finding, **fields) -> FaultMemory:
    """What is remembered of such a fault."""
    values = {
        "since": NOON, "first_seen": START.boot, "last_seen": START.boot, "ripe": True,
        "fired": False, "uid": found.related.uid, "finding": found, "began_seen": {},
    }  # fmt: skip
    return FaultMemory(**values | fields)


def line_of(found: Finding, **fields) -> ResolvedFinding:
    """The line of a finding that fires since noon, without a text."""
    row = BY_NAME[found.reason]
    values = {
        "reason": found.reason, "layer": row.layer, "type": row.type, "subject": found.subject,
        "involved": found.involved, "related": found.related, "disposition": Disposition.FIRING,
        "message": "", "cause": "", "since": NOON,
    }  # fmt: skip
    return ResolvedFinding(**values | fields)


def pass_state(**fields) -> PassState:
    """A pass at noon that has seen nothing."""
    values = {
        "evaluation": Evaluation((), (), ()), "snapshot": Snapshot(), "now": START,
        "settings": FullEvaluationSettings(), "single_pass": None, "memory": Memory(),
        "records": Records(),
    }  # fmt: skip
    return PassState(**values | fields)


ROUTER = ObjectRef("apps/v1", "Deployment", "kaito-system", "body-based-router")


def sends(place: str, *, opens: bool = False) -> bytes:
    """An EnvoyFilter that sends the requests of each Gateway of a namespace to the router."""
    config = {
        "failure_mode_allow": opens,
        "grpc_service": {
            "envoy_grpc": {"cluster_name": "outbound|9004||body-based-router.kaito-system.svc"}
        },
    }
    spec = {"configPatches": [{"patch": {"value": {"typed_config": config}}}]}
    return json.dumps({"metadata": {"name": "bbr", "namespace": place}, "spec": spec}).encode()


def snapshot(
    *, unknown=(), unconfirmed=(), events=(), filters=(), cause="", discovered=True
) -> Snapshot:
    """A snapshot in which the given resources are unknown, with a cause, or unconfirmed."""
    states = {
        each: ResourceState(
            Served.UNKNOWN if each in unknown else Served.SERVED,
            confirmed=each not in unconfirmed,
            cause=cause if each in unknown else "",
        )
        for each in ALL
    }
    decoded = [decode_object(EVENTS, json.dumps(each).encode()) for each in events]
    filtered = [decode_object(ENVOYFILTERS, each) for each in filters]
    tables = {EVENTS: table_of(decoded), ENVOYFILTERS: table_of(filtered)}
    discovery = Discovery(frozenset(), confirmed=discovered)
    return Snapshot(states=states, tables=tables, discovery=discovery)


class Resolver:
    """Resolves pass after pass, as one process does."""

    def __init__(self, *, created: datetime | None = NOON - timedelta(days=2), **settings) -> None:
        self.settings = FullEvaluationSettings(**settings)
        self.memory = Memory()
        self.subjects = [KnownSubject(CLUSTER)] + [
            KnownSubject(each, created) for each in (HARNESS, MODEL)
        ]
        self.report = None
        self.wake_in = None

    def look(
        self,
        at: float,
        *findings: Finding,
        seen: Snapshot | None = None,
        ready=(),
        serving=(),
        unjudged=(),
        inconclusive=(),
        set_back=timedelta(),
        **options,
    ):
        """Resolve a pass `at` seconds after the start; return {reason: disposition}.

        The wall clock was set back by `set_back` meanwhile.
        """
        subjects = tuple(
            each
            for each in self.subjects
            if not any(failed.covers(each.subject) for failed in unjudged)
        )
        evaluation = Evaluation(
            findings, tuple(ready), subjects, dict(inconclusive),
            unjudged=tuple(unjudged), serving=tuple(serving),
        )  # fmt: skip
        resolution = resolve(
            evaluation,
            seen or snapshot(),
            self.memory,
            now=Instant(noon(at) - set_back, START.boot + seconds(at)),
            settings=self.settings,
            **options,
        )
        self.memory, self.report = resolution.memory, resolution.report
        self.wake_in = resolution.wake_in
        return {each.reason: str(each.disposition) for each in self.report.findings}

    def __getitem__(self, reason: str):
        """Return the only line of a reason."""
        (found,) = [each for each in self.report.findings if each.reason == reason]
        return found

    def events(self) -> list[dict]:
        """Return the Events for what fires and is ready now."""
        now = self.report.now
        firing = [each for each in self.report.findings if each.disposition == "firing"]
        due = [each for each in self.report.ready if each.due]
        return [finding_event(each, now, "test") for each in firing] + [
            ready_event(each, now, "test") for each in due
        ]


class Pass(NamedTuple):
    """One pass of a story: what is seen, and what is expected of the report."""

    at: float
    findings: tuple[Finding, ...]
    found: dict[str, str] | None
    lines: dict[str, dict[str, object]]
    wakes: object
    options: dict[str, object]


def at(second: float, *findings: Finding, found=None, lines=None, wakes="", **options) -> Pass:
    """A pass `second` seconds after the start.

    `found` are all dispositions, `lines` attributes of lines by reason, `wakes` the seconds until
    something changes by itself; anything not given is not checked.
    """
    return Pass(second, findings, found, lines or {}, wakes, options)


def tell(*passes: Pass, **settings) -> Resolver:
    """Resolve pass after pass, and check each against its expectations."""
    resolver = Resolver(**settings)
    for each in passes:
        found = resolver.look(each.at, *each.findings, **each.options)
        assert each.found in (None, found), (each.at, found)
        for reason, fields in each.lines.items():
            line = resolver[reason]
            assert {name: getattr(line, name) for name in fields} == fields, each.at
        if each.wakes != "":
            assert resolver.wake_in == (None if each.wakes is None else seconds(each.wakes))
    return resolver


def evidence(subject: Subject) -> ReadyEvidence:
    """Evidence that a subject works."""
    reason = {
        CLUSTER_KIND: "clusterReady",
        NAMESPACE_KIND: "modelharnessReady",
        INFERENCESET_KIND: "inferencesetReady",
    }[subject.kind]
    ref = namespace(subject.namespace or "system")
    return ReadyEvidence(
        reason=reason, subject=subject, involved=ref, related=ref, message=f"{subject} works"
    )
