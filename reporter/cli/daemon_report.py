"""The report that a daemon serves as JSON becomes a report again, to be shown like that of `check`.

What a running daemon answers at its report listener.
"""

from datetime import datetime
from ipaddress import ip_address
from typing import Final

import httpx
import msgspec

from reporter.arguments import PROGRAM
from reporter.errors import UsageError
from reporter.model.catalogue import Catalogue
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.reason import EventType
from reporter.model.report import (
    Disposition,
    Impact,
    Mute,
    MuteFault,
    ReadySubject,
    Report,
    ResolvedFinding,
    ServingState,
    SkippedObject,
    SpecChange,
    SubjectState,
    UnknownResource,
)
from reporter.model.subject import CLUSTER, Layer, ObjectRef, Subject, SubjectKind
from reporter.model.text import clean, cut


class _Ref(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    name: str
    namespace: str = ""

    def ref(self) -> ObjectRef:
        return ObjectRef(self.api_version, self.kind, self.namespace, self.name)


class _Mute(msgspec.Struct):
    object: _Ref
    until: datetime | None = None
    reasons: tuple[str, ...] = ()

    def mute(self) -> Mute:
        return Mute(self.object.ref(), self.reasons, self.until)


class _Impact(msgspec.Struct, rename="camel"):
    not_serving: int
    degraded: int
    namespaces: int
    not_serving_otherwise: int = 0

    def impact(self) -> Impact:
        others = self.not_serving_otherwise
        return Impact(self.not_serving, self.degraded, self.namespaces, others)


class _Diagnosis(msgspec.Struct):
    cause: str
    object: _Ref | None = None
    action: str = ""
    sureness: Sureness = Sureness.CERTAIN
    signature: str | None = None

    def diagnosis(self) -> Diagnosis:
        return Diagnosis(
            code="",
            cause=self.cause,
            brief=self.cause,
            object=self.object.ref() if self.object else None,
            action=self.action,
            sureness=self.sureness,
            signature=self.signature or "",
        )


class _Change(msgspec.Struct):
    object: _Ref
    at: datetime
    by: str = ""
    field: str = ""
    before: str = msgspec.field(name="from", default="")
    after: str = msgspec.field(name="to", default="")

    def change(self) -> SpecChange:
        told = {"by": self.by, "field": self.field, "before": self.before, "after": self.after}
        return SpecChange(object=self.object.ref(), at=self.at, **told)


class _Finding(msgspec.Struct, rename="camel"):
    reason: str
    layer: Layer
    type: EventType
    disposition: Disposition
    primary: bool
    stale: bool
    subject: str
    involved_object: _Ref
    related: _Ref
    message: str
    since: datetime
    age_known: bool = True
    not_before: datetime | None = None
    fires_at: datetime | None = None
    by: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    mutes: tuple[_Mute, ...] = ()
    impact: _Impact | None = None
    changes: tuple[_Change, ...] = ()
    diagnosis: _Diagnosis | None = None
    last_lines: tuple[str, ...] = ()

    def finding(self) -> ResolvedFinding:
        return ResolvedFinding(
            reason=self.reason,
            layer=self.layer,
            type=self.type,
            subject=subject_of(self.subject),
            involved=self.involved_object.ref(),
            related=self.related.ref(),
            disposition=self.disposition,
            message=self.message,
            cause=self.message,
            since=self.since,
            fires_at=self.fires_at,
            by=self.by,
            mutes=tuple(each.mute() for each in self.mutes),
            primary=self.primary,
            stale=self.stale,
            age_known=self.age_known,
            not_before=self.not_before,
            impact=self.impact.impact() if self.impact else None,
            commands=self.commands,
            changes=tuple(each.change() for each in self.changes),
            diagnosis=self.diagnosis.diagnosis() if self.diagnosis else None,
            last_lines=self.last_lines,
        )


class _State(msgspec.Struct):
    subject: str
    state: ServingState
    since: datetime | None = None
    cause: str | None = None


class _Ready(msgspec.Struct):
    reason: str
    subject: str
    state: ServingState = ServingState.SERVING


class _Fault(msgspec.Struct):
    object: _Ref
    text: str


class _Unknown(msgspec.Struct):
    resource: str
    cause: str


class _Skipped(msgspec.Struct):
    resource: str
    namespace: str
    name: str
    cause: str


class _Document(msgspec.Struct, rename="camel"):
    kind: str
    now: datetime
    findings: tuple[_Finding, ...]
    subjects: tuple[_State, ...] = ()
    ready: tuple[_Ready, ...] = ()
    unknown: tuple[_Unknown, ...] = ()
    skipped: tuple[_Skipped, ...] = ()
    mutes: tuple[_Mute, ...] = ()
    mute_faults: tuple[_Fault, ...] = ()
    not_looked_at: tuple[str, ...] = ()


def subject_of(text: str) -> Subject:
    """Return the subject of a text form."""
    kind, _, rest = text.partition("/")
    namespace, _, name = rest.partition("/")
    return Subject(SubjectKind(kind), namespace, name)


def report_of(document: bytes, catalogue: Catalogue) -> tuple[Report, tuple[str, ...]]:
    """Return the report that a document holds, and what was not looked at.

    Of a finding the document has no short cause, so that its message stands there. A reason that the
    catalogue does not have is kept; what to do about it is not known here.

    Raises:
        UsageError: it is not the report of a daemon.

    """
    try:
        read = msgspec.json.decode(document, type=_Document)
    except msgspec.DecodeError as error:
        raise UsageError(f"the answer is not a report that this version reads: {error}") from None
    findings = tuple(each.finding() for each in read.findings)
    return Report(
        catalogue=catalogue,
        now=read.now,
        findings=findings,
        ready=tuple(map(_ready, read.ready)),
        unknown=tuple(UnknownResource(each.resource, each.cause) for each in read.unknown),
        skipped=tuple(
            SkippedObject(each.resource, each.namespace, each.name, each.cause)
            for each in read.skipped
        ),
        subjects=tuple(subject_of(each.subject) for each in read.subjects),
        mutes=tuple(each.mute() for each in read.mutes),
        mute_faults=tuple(MuteFault(each.object.ref(), each.text) for each in read.mute_faults),
        states=tuple(
            SubjectState(subject_of(each.subject), each.state, each.since, each.cause or "")
            for each in read.subjects
        ),
    ), read.not_looked_at


def _ready(ready: _Ready) -> ReadySubject:
    subject = subject_of(ready.subject)
    layers = {CLUSTER.kind: Layer.CLUSTER, "namespace": Layer.HARNESS}
    nowhere = ObjectRef("", "")
    return ReadySubject(
        reason=ready.reason,
        layer=layers.get(subject.kind, Layer.DEPLOYMENT),
        subject=subject,
        involved=nowhere,
        related=nowhere,
        message="",
        due=False,
        episode="",
        state=ready.state,
    )


LOCAL: Final = "http://127.0.0.1:8082"
"""Where it answers on its own machine, and where a forwarded port does."""

REPORT: Final = "/api/v1/report"
HISTORY: Final = "/api/v1/history"

FORWARD: Final = (
    "kubectl -n <namespace> port-forward deploy/<release>-status-reporter 8082:8082, with what "
    "helm list -A says of the release"
)
"""How to forward its port, in words."""

_NOT_FOUND: Final = 404
_UNAVAILABLE: Final = 503
_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_MAX_BYTES: Final = 64 * 1024 * 1024


def fetch(url: str, path: str) -> bytes:
    """Return what a daemon answers.

    Raises:
        UsageError: it does not answer, or not with what was asked for.

    """
    try:
        with (
            httpx.Client(timeout=_TIMEOUT, trust_env=not _is_loopback(url)) as client,
            client.stream("GET", url + path) as response,
        ):
            body = _read(response, url)
            if response.status_code == _UNAVAILABLE:
                raise UsageError(f"{url}: {_answer(response, body)}; ask again in a moment")
            if response.status_code == _NOT_FOUND and path not in {REPORT, HISTORY}:
                raise UsageError(f"{path.partition('pods/')[2]}: {_text(body)}")
            if not response.is_success:
                raise UsageError(f"{url}: {_answer(response, body)}; is this a {PROGRAM}?")
            return body
    except httpx.ConnectError:
        raise UsageError(
            f"{url}: nothing answers there; start the daemon, or forward its port: {FORWARD}"
        ) from None
    except httpx.TimeoutException:
        raise UsageError(f"{url}: no answer in time") from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise UsageError(
            f"--url: {url!r} is not allowed; allowed: an address such as {LOCAL}"
        ) from None
    except httpx.HTTPError as error:
        raise UsageError(f"{url}: {clean(str(error))}") from None


def _read(response: httpx.Response, url: str) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > _MAX_BYTES:
            raise UsageError(f"{url}: the answer is larger than {_MAX_BYTES} bytes")
    return bytes(body)


def _text(body: bytes) -> str:
    return cut(clean(body[:400].decode("utf-8", "replace")), 200)


def _answer(response: httpx.Response, body: bytes) -> str:
    text = _text(body)
    return f"it answers {response.status_code}" + (f" ({text})" if text else "")


def _is_loopback(url: str) -> bool:
    """Tell whether it is on this machine, where the proxy of the environment cannot reach it."""
    host = httpx.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
