"""Reads the answer of a running daemon back into a report, to be shown like that of `check`."""

import re
from datetime import datetime
from ipaddress import ip_address
from time import monotonic
from typing import Final

import httpx
import msgspec

from reporter.arguments import PROGRAM
from reporter.errors import UsageError
from reporter.model.catalogue import Catalogue
from reporter.model.instant import parse_rfc3339
from reporter.model.report import (
    Mute,
    MuteFault,
    ReadySubject,
    Report,
    ResolvedFinding,
    SkippedObject,
    SubjectState,
    UnknownResource,
)
from reporter.model.subject import Layer
from reporter.model.text import clean, cut, one_line
from reporter.yaml_reader.limits import LIMITS


class _Document(msgspec.Struct):
    kind: str
    now: datetime
    findings: tuple[ResolvedFinding, ...]
    subjects: tuple[SubjectState, ...] = ()
    ready: tuple[ReadySubject, ...] = ()
    unknown: tuple[UnknownResource, ...] = ()
    skipped: tuple[SkippedObject, ...] = ()
    mutes: tuple[Mute, ...] = ()
    mute_faults: tuple[MuteFault, ...] = ()
    not_looked_at: tuple[str, ...] = ()


_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RENAMED: Final = {
    "involvedObject": "involved",
    "notServingOtherwise": "otherwise",
    "from": "before",
    "to": "after",
}
_TIMES: Final = frozenset({"now", "since", "until", "at", "fires_at", "not_before"})
_YEARS: Final = range(1971, 9000)
"""Years that a report may be of, so that its ages and ends can be computed as dates."""

_NOWHERE: Final = {"api_version": "", "kind": ""}
_DEFAULTS: Final[dict[str, dict[str, object]]] = {
    "findings": {"cause": "", "since": "0001-01-01T00:00:00Z"},
    "diagnosis": {"code": "", "brief": ""},
    "mutes": {"reasons": ()},
    "ready": {
        "layer": Layer.DEPLOYMENT,
        "involved": _NOWHERE,
        "related": _NOWHERE,
        "message": "",
        "due": False,
        "episode": "",
    },
}
"""Fields of the model that a document leaves out."""


def _modelled(value: object, name: str = "") -> object:
    """Return part of a document with the model's field names, subjects as tuples, without nulls,
    each text in one line.

    Raises ValueError if a time has no zone or is not a valid date.
    """
    if isinstance(value, list):
        return [_modelled(each, name) for each in value]
    if isinstance(value, dict):
        named = {_RENAMED.get(key) or _HUMP.sub("_", key).lower(): key for key in value}
        converted = {field: _modelled(value[key], field) for field, key in named.items()}
        known = {field: each for field, each in converted.items() if each is not None}
        return {**_DEFAULTS.get(name, {}), **known}
    if isinstance(value, str) and name in _TIMES:
        return parse_rfc3339(value)
    if not isinstance(value, str):
        return value
    return one_line(value).split("/", 2) if name == "subject" else one_line(value)


def report_of(document: bytes, catalogue: Catalogue) -> tuple[Report, tuple[str, ...]]:
    """Return the report in a document, and notes on what was not looked at. Reasons that the
    catalogue lacks are kept. Raises UsageError if the document is not a report.
    """
    try:
        read = msgspec.convert(_modelled(msgspec.json.decode(document)), _Document)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        cause = cut(clean(str(error)), 200)
        raise UsageError(f"the answer is not a report that this version reads: {cause}") from None
    require_time(read.now)
    findings = tuple(
        msgspec.structs.replace(
            each, cause=each.cause or each.message, since=each.since if each.age_known else read.now
        )
        for each in read.findings
    )
    report = Report(
        catalogue=catalogue,
        now=read.now,
        findings=findings,
        ready=read.ready,
        unknown=read.unknown,
        skipped=read.skipped,
        subjects=tuple(each.subject for each in read.subjects),
        mutes=read.mutes,
        mute_faults=read.mute_faults,
        states=read.subjects,
    )
    return report, read.not_looked_at


def require_time(now: datetime) -> None:
    """Raise UsageError if dates computed from the time of an answer could be out of range."""
    if now.year not in _YEARS:
        raise UsageError(f"the answer is not a report of a daemon: its time is {now}")


LOCAL: Final = "http://127.0.0.1:8082"
"""Where a daemon on this machine, or one with a forwarded port, answers."""

REPORT: Final = "/api/v1/report"
HISTORY: Final = "/api/v1/history"

FORWARD: Final = (
    "kubectl -n <namespace> port-forward deploy/<release>-status-reporter 8082:8082, with both "
    "names from helm list -A"
)
"""How to forward the port of a daemon in a cluster."""

_NOT_FOUND: Final = 404
_UNAVAILABLE: Final = 503
_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_LONGEST: Final = 120
"""Most seconds that an answer may take, even if it arrives steadily."""

_PLAIN: Final = {"Accept-Encoding": "identity"}
"""A compressed answer may be a thousand times as large; one that is compressed twice, a million."""

_MAX_BYTES: Final = 64 * 1024 * 1024


def fetch(url: str, path: str) -> bytes:
    try:
        with (
            httpx.Client(timeout=_TIMEOUT, trust_env=not _is_loopback(url)) as client,
            client.stream("GET", url + path, headers=_PLAIN) as response,
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
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise UsageError(f"{url}: the answer is compressed; is this a {PROGRAM}?")
    body, until = bytearray(), monotonic() + _LONGEST
    for part in response.iter_raw():
        body += part
        if len(body) > _MAX_BYTES:
            raise UsageError(f"{url}: the answer is larger than {_MAX_BYTES} bytes")
        if monotonic() > until:
            raise UsageError(f"{url}: the answer takes more than {_LONGEST} s")
    if sum(map(body.count, (b",", b"[", b"{"))) > LIMITS.nodes:
        raise UsageError(f"{url}: the answer has more than {LIMITS.nodes} values")
    return bytes(body)


def _text(body: bytes) -> str:
    return cut(clean(body[:400].decode("utf-8", "replace")), 200)


def _answer(response: httpx.Response, body: bytes) -> str:
    text = _text(body)
    return f"it answers {response.status_code}" + (f" ({text})" if text else "")


def _is_loopback(url: str) -> bool:
    """Tell whether a URL is on this machine, which the proxy of the environment cannot reach."""
    host = httpx.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
