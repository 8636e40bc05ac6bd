"""Random sequences of passes over a small world, for the properties of the resolution."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from reporter.catalogue import reasons as c
from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation, Finding, KnownSubject, ReadyEvidence
from reporter.model.instant import Instant
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.setting_types import Emit
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.stacks.kaito.reasons import (
    CLUSTER_KAITO,
    CLUSTER_NODE_PROVISIONER,
    INFERENCESET_KIND,
    INFERENCESETS,
    MODEL_EPP,
    MODEL_INFRA,
    MODEL_NODE_PRESSURE,
    MODEL_PODS,
    MODEL_READY,
    WORKSPACES,
)
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import ALL

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
START = Instant(NOON, timedelta(hours=30))

NAMESPACE_A, NAMESPACE_B = Subject.of_namespace("a"), Subject.of_namespace("b")
MODEL_A, MODEL_B = Subject(INFERENCESET_KIND, "a", "m"), Subject(INFERENCESET_KIND, "b", "m")
SUBJECTS = (CLUSTER, NAMESPACE_A, NAMESPACE_B, MODEL_A, MODEL_B)

_HARNESS = (c.HARNESS_GATEWAY_CLASS, c.HARNESS_GATEWAY_PROGRAMMING, c.HARNESS_GATEWAY_DATA_PLANE)
_MODEL = (MODEL_INFRA, MODEL_PODS, MODEL_EPP, MODEL_NODE_PRESSURE)
_CLUSTER = (c.CLUSTER_ISTIO, c.CLUSTER_BBR, CLUSTER_KAITO, CLUSTER_NODE_PROVISIONER)
_CRDS = (INFERENCESETS.crd_name, WORKSPACES.crd_name, r.GATEWAYS.crd_name)


def _namespace(name: str) -> ObjectRef:
    return ObjectRef("v1", "Namespace", "", name)


def _places() -> tuple[tuple[str, Subject, ObjectRef], ...]:
    """Each reason with a subject and what its Event refers to."""
    cluster = [(reason, CLUSTER, _namespace("system")) for reason in _CLUSTER]
    crds = [
        (c.CLUSTER_CRD_MISSING, CLUSTER, ObjectRef("v1", "CustomResourceDefinition", "", name))
        for name in _CRDS
    ]
    harness = [
        (reason, subject, _namespace(subject.namespace))
        for reason in _HARNESS for subject in (NAMESPACE_A, NAMESPACE_B)
    ]  # fmt: skip
    model = [
        (reason, subject, _namespace(subject.namespace))
        for reason in _MODEL for subject in (MODEL_A, MODEL_B)
    ]  # fmt: skip
    return (*cluster, *crds, *harness, *model)


_texts = st.one_of(
    st.sampled_from(("pod p waits", "x" * 2000, "ü" * 700, "line\nbreak https://a.example/b")),
    st.text(max_size=40),
)


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    """One fault that may come and go."""
    reason, subject, involved = draw(st.sampled_from(_places()))
    ago = st.sampled_from((None, -30, 0, 10, 45, 60, 200, 2000, "1970"))

    def moment() -> datetime | None:
        seconds = draw(ago)
        if seconds is None:
            return None
        if seconds == "1970":
            return datetime(1970, 1, 1, tzinfo=UTC)
        return NOON - timedelta(seconds=seconds)

    of_cluster = subject == CLUSTER
    return Finding(
        reason=reason,
        subject=subject,
        involved=involved,
        related=ObjectRef("v1", "Pod", "n", draw(st.sampled_from("pq"))),
        message=draw(_texts),
        cause=draw(st.sampled_from(("cause", "long " * 40, "ß\n"))),
        severity=draw(st.integers(0, 2)),
        transition=moment(),
        created=moment(),
        exempt=draw(st.integers(0, 4)) == 0,
        budget=draw(st.sampled_from((None, None, None, timedelta(seconds=90)))),
        governs=of_cluster and draw(st.integers(0, 3)) > 0,
        independent=not of_cluster and draw(st.integers(0, 5)) == 0,
        sustains=draw(st.integers(0, 7)) == 0,
        lingers=draw(st.integers(0, 3)) == 0,
    )


class Pass:
    """What one pass is given. No dataclass, for Hypothesis prints those field by field."""

    def __init__(self, evaluation: Evaluation, snapshot: Snapshot, now: Instant) -> None:
        self.evaluation, self.snapshot, self.now = evaluation, snapshot, now

    def __repr__(self) -> str:
        """Return what matters of it, so that a failure can be read."""
        states = self.snapshot.states.items()
        unknown = [str(each) for each, state in states if state.served is Served.UNKNOWN]
        unconfirmed = [str(each) for each, state in states if not state.confirmed]
        wall, boot = self.now.wall - START.wall, self.now.boot - START.boot
        lines = [
            (
                f"\nPass at {boot} (wall {wall}), {len(self.evaluation.subjects)} subjects, "
                f"{unknown=}, {unconfirmed=}, "
                f"discovery={self.snapshot.discovery.served is not None}"
            )
        ]
        for each in self.evaluation.findings:
            shown = {
                field.name: getattr(each, field.name)
                for field in fields(each)
                if field.name
                not in {"reason", "subject", "involved", "related", "message", "cause"}
                and getattr(each, field.name) != field.default
            }
            for name in {"transition", "created"} & shown.keys():
                shown[name] = str(shown[name] - NOON)
            lines.append(
                f"  {each.reason} {each.subject} {each.involved.name} "
                f"{each.related}/{each.related.uid} {each.message[:9]!r} {shown}"
            )
        return "\n".join(lines)


_READ = (r.NAMESPACES, r.PODS, r.DEPLOYMENTS, r.GATEWAYS, INFERENCESETS, r.NODES)


@st.composite
def snapshots(draw: st.DrawFn, *, troubled: bool = True) -> Snapshot:
    """A snapshot without objects: what is unknown, and what is unconfirmed."""
    unknown, unconfirmed = frozenset(), frozenset()
    if troubled and draw(st.integers(0, 2)) == 0:
        unknown = draw(st.frozensets(st.sampled_from(_READ), max_size=2))
        unconfirmed = draw(st.frozensets(st.sampled_from(_READ), max_size=3))
    states = {
        each: ResourceState(
            Served.UNKNOWN if each in unknown else Served.SERVED,
            confirmed=each not in unconfirmed,
            cause="forbidden" if each in unknown else "",
        )
        for each in ALL
    }
    answered = draw(st.integers(0, 9)) > 0
    return Snapshot(
        states=states, discovery=Discovery(frozenset() if answered else None, confirmed=answered)
    )


class Chosen(FullEvaluationSettings):
    """Settings that show what was chosen."""

    def __repr__(self) -> str:
        """Return what matters for the resolution."""
        return f"({self.startup_grace_seconds=}, {self.grace=}, {self.emit=!s})"


@st.composite
def settings_(draw: st.DrawFn) -> FullEvaluationSettings:
    """Settings that the resolution heeds."""
    graces = st.dictionaries(
        st.sampled_from((CLUSTER_KAITO, MODEL_PODS, MODEL_INFRA)),
        st.sampled_from((0, 10, 120)),
        max_size=2,
    )
    return Chosen(
        startup_grace_seconds=draw(st.sampled_from((0, 60, 60, 60, 200))),
        grace=draw(graces),
        emit=draw(st.sampled_from(tuple(Emit))),
    )


def _evidence(subject: Subject) -> ReadyEvidence:
    name = {"cluster": c.CLUSTER_READY, "namespace": c.HARNESS_READY}.get(subject.kind)
    ref = _namespace(subject.namespace or "system")
    return ReadyEvidence(
        reason=name or MODEL_READY, subject=subject, involved=ref, related=ref, message="works"
    )


@st.composite
def sequences(draw: st.DrawFn, *, troubled: bool = True, jumps: bool = True) -> list[Pass]:
    """Passes in which faults come and go, subjects too, time goes on and the wall clock jumps."""
    pool = [
        replace(each, message=f"{number}: {each.message}")
        for number, each in enumerate(draw(st.lists(findings(), min_size=1, max_size=7)))
    ]
    now = START
    passes: list[Pass] = []
    for _ in range(draw(st.integers(2, 9))):
        gone = draw(st.integers(0, 7)) == 0
        subjects = tuple(
            KnownSubject(each, None if each == CLUSTER else NOON - timedelta(days=1))
            for each in (SUBJECTS[:3] if gone else SUBJECTS)
        )
        there = {each.subject for each in subjects}
        mask = draw(st.lists(st.integers(0, 3), min_size=len(pool), max_size=len(pool)))
        uid = draw(st.sampled_from(("", "1", "1", "1", "2")))
        seen = [
            replace(each, related=replace(each.related, uid=uid))
            for each, bit in zip(pool, mask, strict=True)
            if bit and each.subject in there
        ]
        evaluation = Evaluation(tuple(seen), tuple(map(_evidence, sorted(there))), subjects)
        passes.append(Pass(evaluation, draw(snapshots(troubled=troubled)), now))
        step = draw(st.sampled_from((0, 1, 5, 29, 30, 31, 59, 60, 61, 90, 200, 1900, 3600)))
        jump = draw(st.sampled_from((0,) * 7 + (-3600, -40, 40, 3600))) if jumps else 0
        now = Instant(now.wall + timedelta(seconds=step + jump), now.boot + timedelta(seconds=step))
    return passes


def calm(now: Instant) -> Pass:
    """A pass in which all is known, confirmed and well."""
    subjects = tuple(
        KnownSubject(each, None if each == CLUSTER else NOON - timedelta(days=1))
        for each in SUBJECTS
    )
    states = {each: ResourceState(Served.SERVED) for each in ALL}
    evaluation = Evaluation((), tuple(map(_evidence, SUBJECTS)), subjects)
    return Pass(evaluation, Snapshot(states=states, discovery=Discovery(frozenset())), now)
