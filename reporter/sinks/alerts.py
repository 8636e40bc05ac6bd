"""Alerts for Alertmanager: which there should be (pure), and how they are sent, again and again.

Alertmanager identifies an alert by its labels alone. They follow from the finding's key, so every
replica makes the same: a failover neither doubles an alert nor ends one. Only the severity may
change during an episode, and only upwards, so that on-call is notified once when a model stops
serving; the alert of the lower severity then ends.

Alertmanager forgets an alert that is not sent again, and keeps none over its own restart. An ended
alert is sent for as long as Prometheus does so (rules/alerting.go, resolvedRetention).

Alertmanagers of a pair do not forward alerts to each other, so each gets all of them, from its own
outbox: one that is down does not hold up the other.
"""

import asyncio
import math
import socket
import ssl
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias

import aiohttp
import msgspec
import structlog
from yarl import URL

from reporter.errors import UsageError
from reporter.kube import errors
from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.instant import rfc3339_micro
from reporter.model.report import Disposition, Report, ResolvedFinding, Severity
from reporter.model.text import clean, cut
from reporter.resolution.records import SEVERITY_ANNOTATION, Records
from reporter.setting_types import DISCOVERED
from reporter.settings import DaemonSettings
from reporter.sinks.events.plan import REFRESH_LONGEST
from reporter.sinks.outbox import Entry, Outbox, Retry, loop_time
from reporter.sinks.words import change_lines, impact_line, without_changes

OVER_FOR: Final = timedelta(minutes=15)
"""How long an ended alert is still sent."""

SOURCE: Final = "status-reporter"
"""Label `source` of our alerts, for routes and inhibition rules."""

Labels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert; Alertmanager identifies it by its labels, which are sorted by name."""

    labels: Labels
    annotations: Mapping[str, str]
    starts_at: datetime
    ends_at: datetime | None = None


Alerts: TypeAlias = Mapping[Labels, Alert]


def plan_alerts(
    report: Report,
    records: Records,
    before: Alerts | None,
    *,
    settings: DaemonSettings,
    confirmed: Callable[[str], bool] = lambda _reason: True,
) -> Alerts:
    """Return the alerts that Alertmanager should have now. The first pass has no alerts `before`,
    and learns from the records which alerts of another process have ended. No alert begins for a
    reason that is not `confirmed`.
    """
    cluster = settings.alert_fields.get("cluster", "")
    known = _on_record(records, report, cluster) if before is None else before
    alerts: dict[Labels, Alert] = {}
    for finding in report.findings:
        # The alert of a finding that is stale or clearing goes on.
        fires = finding.disposition in {Disposition.FIRING, Disposition.CLEARING}
        if not fires or finding.reason in settings.disable_reasons:
            continue
        labels = labels_of(finding.key, Severity.CRITICAL, report.catalogue, cluster=cluster)
        critical = known.get(labels)
        if critical is None or critical.ends_at is not None:
            labels = labels_of(finding.key, finding.severity, report.catalogue, cluster=cluster)
        if labels in known or confirmed(finding.reason):
            alerts[labels] = Alert(labels, _annotations(finding, report, settings), finding.since)
    for labels, alert in known.items():
        over = alert.ends_at or report.now
        if labels not in alerts and report.now - over < OVER_FOR:
            alerts[labels] = replace(alert, ends_at=over)
    return alerts


def labels_of(key: FindingKey, severity: str, catalogue: Catalogue, *, cluster: str) -> Labels:
    """Return the labels of an alert without empty ones, which Alertmanager drops too."""
    stack = catalogue.stack_of(key.subject.kind)
    is_own = key.involved.kind == "Namespace" and key.involved.name == key.subject.namespace
    labels = {
        "alertname": key.reason,
        "cluster": cluster,
        "layer": str(catalogue[key.reason].layer),
        "namespace": key.subject.namespace,
        "object": "" if is_own else str(key.involved),
        "reason": key.reason,
        "severity": severity,
        "source": SOURCE,
        "stack": stack.name if stack else "",
        "subject": str(key.subject),
        "subject_kind": key.subject.kind,
        "subject_name": key.subject.name,
    }
    return tuple((name, value) for name, value in labels.items() if value)


def _annotations(
    finding: ResolvedFinding, report: Report, settings: DaemonSettings
) -> Mapping[str, str]:
    docs = settings.alert_fields.get("docs", "").rstrip("/")
    message = without_changes(finding)
    annotations = {
        "summary": message,  # shown by amtool and most templates
        "message": message,
        "impact": impact_line(finding, report).partition(": ")[2],
        "changed": "; ".join(change_lines(finding)),
        "commands": "\n".join(finding.commands),
        "runbook_url": f"{docs}/reasons.md#{report.catalogue[finding.reason].heading.lower()}"
        if docs
        else "",
        "dashboard_url": settings.alert_fields.get("dashboard", ""),
    }
    return {name: text for name, text in annotations.items() if text}


def _on_record(records: Records, report: Report, cluster: str) -> Alerts:
    """Return the alerts that follow from our Events, as ended; the report has those that fire."""
    catalogue = report.catalogue
    alerts: dict[Labels, Alert] = {}
    for record in records:
        key = record.key
        # A closed Event keeps the time of its last refresh.
        recent = record.goes_on or report.now - record.written < OVER_FOR + REFRESH_LONGEST
        if not recent or key.reason not in catalogue or catalogue[key.reason].says_ready:
            continue
        severity = record.event.metadata.annotation(SEVERITY_ANNOTATION) or Severity.WARNING
        labels = labels_of(key, severity, catalogue, cluster=cluster)
        annotations = {"message": record.event.message}
        alerts[labels] = Alert(labels, annotations, record.since, ends_at=report.now)
    return alerts


RESEND_SECONDS: Final = 60.0
"""Time between two requests for an unchanged alert, as in Prometheus (`resend-delay`)."""

FIRES_FOR: Final = timedelta(seconds=4 * RESEND_SECONDS)
"""How long an alert fires if it is not sent again, as in Prometheus."""

CHANGED_SECONDS: Final = 10.0
"""Time between two requests for an alert whose text changes."""

DISCOVER_SECONDS: Final = 30.0
"""Time between two lookups of the addresses of a name."""

_TOGETHER_SECONDS: Final = 10.0
_BATCH: Final = 64
_TIMEOUT: Final = aiohttp.ClientTimeout(total=5.0)
_TEXT_BYTES: Final = 500


class Address(NamedTuple):
    """Where one Alertmanager is; `name` is that of its certificate if the URL has an IP address."""

    url: URL
    name: str | None = None


class AlertApi:
    def __init__(self, settings: DaemonSettings) -> None:
        folder = settings.alertmanager_credentials
        token, authority = (
            folder / name if folder and (folder / name).exists() else None
            for name in ("token", "ca.crt")
        )
        if folder and not token and not authority:
            raise UsageError(f"--alertmanager-credentials {folder}: it has no token and no ca.crt")
        self._token_file = token
        try:
            self._tls = ssl.create_default_context(cafile=authority)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"--alertmanager-credentials {authority}: {error}") from None

    async def post(self, session: aiohttp.ClientSession, address: Address, body: bytes) -> None:
        """Send alerts. Raises Invalid if some of them are refused; the others are then accepted."""
        url = address.url
        try:
            headers = {"Content-Type": "application/json"}
            if self._token_file:  # read each time, as tokens are rotated
                token = self._token_file.read_text("utf-8").strip()
                headers["Authorization"] = f"Bearer {token}"
            async with session.post(
                url,
                data=body,
                headers=headers,
                ssl=self._tls,
                server_hostname=address.name if url.scheme == "https" else None,
                allow_redirects=False,
                timeout=_TIMEOUT,
            ) as answer:
                if answer.status == HTTPStatus.OK:
                    return
                text = (await answer.content.read(_TEXT_BYTES)).decode("utf-8", "replace")
                status, wait = answer.status, answer.headers.get("Retry-After")
        except errors.LOWER as error:
            why = clean(str(error)) or "no answer in time"
            raise errors.ConnectionFailed(f"{url.authority}: {cut(why, _TEXT_BYTES)}") from None
        refused = status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
        raise (errors.Invalid if refused else errors.ApiStatusError)(
            f"{url.authority} answered {status}: {clean(text) or 'no explanation'}",
            status=status,
            retry_after=errors.parse_retry_after(wait),
        )


class AlertOutbox(Outbox[Sequence[Alert]]):
    def __init__(
        self,
        send: Callable[[Sequence[Alert]], Awaitable[None]],
        may_write: Callable[[], bool],
        observe: Callable[[str], None],
    ) -> None:
        super().__init__("alerts", may_write)
        self._request = send
        self._observe = observe
        self._alerts: Alerts = {}
        self._sent: dict[Labels, tuple[Alert, float]] = {}
        self._refusal = ""

    @property
    def waiting(self) -> int:
        now = loop_time()
        waiting = (entry for entry in self._queue if entry.not_before <= now)
        return sum(len(entry.write) for entry in (*waiting, *self._in_flight))

    def offer(self, alerts: Alerts) -> None:
        self._alerts = alerts
        self._sent = {labels: each for labels, each in self._sent.items() if labels in alerts}
        self._plan()

    def forget(self) -> None:
        super().forget()
        self._alerts, self._sent = {}, {}

    def _plan(self) -> None:
        """Queue each alert for when it is due; alerts due at nearly the same time go together."""
        now = loop_time()
        due: dict[float, list[Alert]] = defaultdict(list)
        for alert in self._alerts.values():
            at = self._due_at(alert)
            due[0.0 if at <= now else math.ceil(at / _TOGETHER_SECONDS)].append(alert)
        self._replace(
            Entry(0, alerts[first : first + _BATCH], not_before=at * _TOGETHER_SECONDS)
            for at, alerts in sorted(due.items())
            for first in range(0, len(alerts), _BATCH)
        )

    def _due_at(self, alert: Alert) -> float:
        before, at = self._sent.get(alert.labels, (None, -math.inf))
        if before is None or before.ends_at != alert.ends_at:
            return 0.0
        return at + (RESEND_SECONDS if before == alert else CHANGED_SECONDS)

    async def _send(self, write: Sequence[Alert]) -> Retry:
        outcome = "written"
        try:
            await self._request(write)
        except errors.Invalid as error:
            # Alertmanager has accepted the others. Refused alerts are sent again when all are.
            outcome = "refused"
            if self._refusal != str(error):
                self._refusal = str(error)
                self._log.error("alerts_refused", error=self._refusal)
        except errors.KubeError as error:
            self._observe("failed")
            self._fail("alerts_not_sent", error)
            return Retry.IN_PLACE
        self._backoff.reset()
        self._observe(outcome)
        now = loop_time()
        self._sent |= {alert.labels: (alert, now) for alert in write}
        self._plan()
        return Retry.NO


@dataclass(eq=False)
class AlertWriter:
    settings: DaemonSettings
    _: KW_ONLY
    may_write: Callable[[], bool]
    observe: Callable[[str], None]
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self._urls = self.settings.alertmanager_url
        self._api = AlertApi(self.settings)
        self._alerts: Alerts = {}
        self._outboxes: dict[Address, AlertOutbox] = {}
        self._found: dict[str, tuple[Address, ...]] = {}
        self._unknown: set[str] = set()
        self._log = structlog.get_logger("alerts")

    @property
    def waiting(self) -> int:
        """Number of alerts that wait for the Alertmanager with the longest queue."""
        if self._urls and not self._outboxes:
            return len(self._alerts)
        return max((each.waiting for each in self._outboxes.values()), default=0)

    def offer(self, alerts: Alerts) -> None:
        self._alerts = alerts
        for outbox in self._outboxes.values():
            outbox.offer(alerts)

    def drop(self) -> None:
        for outbox in self._outboxes.values():
            outbox.drop()

    def forget(self) -> None:
        self._alerts = {}
        for outbox in self._outboxes.values():
            outbox.forget()

    async def run(self) -> None:
        if not self._urls:
            return
        tasks: dict[Address, asyncio.Task[None]] = {}
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
            while True:
                wanted = [each for url in self._urls for each in await self._addresses(url)]
                for address in self._outboxes.keys() - set(wanted):
                    tasks.pop(address).cancel()
                    del self._outboxes[address]
                for address in wanted:
                    if address not in self._outboxes:
                        send = partial(self._post, session, address)
                        outbox = AlertOutbox(send, self.may_write, self.observe)
                        outbox.offer(self._alerts)
                        self._outboxes[address] = outbox
                        tasks[address] = group.create_task(outbox.run(), name=f"alerts {address}")
                await asyncio.sleep(DISCOVER_SECONDS)

    async def _post(
        self, session: aiohttp.ClientSession, address: Address, alerts: Sequence[Alert]
    ) -> None:
        await self._api.post(session, address, body_of(alerts, self.now()))

    async def _addresses(self, text: str) -> tuple[Address, ...]:
        """Return the addresses behind a URL; a name that does not resolve keeps its last ones."""
        url = URL(text.removeprefix(DISCOVERED)) / "api/v2/alerts"
        if not text.startswith(DISCOVERED):
            return (Address(url),)
        host = url.host or ""
        try:
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo(host, url.port, type=socket.SOCK_STREAM)
        except OSError as error:
            if host not in self._unknown:
                self._log.warning("alertmanagers_not_found", name=host, error=clean(str(error)))
            self._unknown.add(host)
        else:
            self._unknown.discard(host)
            hosts = sorted({str(each[4][0]) for each in found})
            self._found[text] = tuple(Address(url.with_host(each), host) for each in hosts)
        return self._found.get(text, ())


def body_of(alerts: Sequence[Alert], now: datetime) -> bytes:
    """Return alerts in the format of Alertmanager's API (api/v2/openapi.yaml, postableAlerts)."""
    return msgspec.json.encode(
        [
            {
                "labels": dict(alert.labels),
                "annotations": alert.annotations,
                "startsAt": rfc3339_micro(alert.starts_at),
                "endsAt": rfc3339_micro(alert.ends_at or now + FIRES_FOR),
                "generatorURL": alert.annotations.get("dashboard_url", ""),
            }
            for alert in alerts
        ]
    )
