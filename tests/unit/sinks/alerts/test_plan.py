"""Which alerts there are after a story of passes."""

from datetime import timedelta

import pytest

from reporter.model.report import Disposition, Impact
from reporter.resolution.records import NO_RECORDS, Records
from reporter.sinks.alerts import plan_alerts
from reporter.sinks.events.plan import finding_event
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.sinks.events.test_plan import NOW, finding, report, stored

SETTINGS = FullDaemonSettings(alert_fields={"cluster": "west", "docs": "https://docs.example/d/"})
FIRES = finding()
STOPS = finding(impact=Impact(not_serving=1))
CLEARS = finding(Disposition.CLEARING)
MUTED = finding(Disposition.MUTED)
SUPPRESSED = finding(Disposition.SUPPRESSED)
STALE = finding(stale=True)
NOBODY = None


def told(*story, records=NO_RECORDS, minutes=1.0, **options):
    """Return the severities that fire, then those that are over, after passes so far apart."""
    alerts = None
    for number, each in enumerate(story):
        at = NOW + timedelta(minutes=minutes * number)
        seen = report(*([each] if each else []), at=at)
        alerts = plan_alerts(seen, records, alerts, settings=SETTINGS, **options)
    by_end = {False: [], True: []}
    for alert in alerts.values():
        by_end[alert.ends_at is not None].append(dict(alert.labels)["severity"])
    return " ".join(by_end[False]), " ".join(by_end[True])


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ([FIRES], ("warning", "")),
        ([FIRES, CLEARS], ("warning", "")),
        ([FIRES, STALE], ("warning", "")),
        ([FIRES, NOBODY], ("", "warning")),
        ([FIRES, MUTED], ("", "warning")),
        ([FIRES, SUPPRESSED], ("", "warning")),
        ([MUTED], ("", "")),
        ([STOPS], ("critical", "")),
        ([FIRES, STOPS], ("critical", "warning")),
        ([STOPS, FIRES], ("critical", "")),
        ([STOPS, NOBODY, FIRES], ("warning", "critical")),
    ],
)
def test_a_story(story, expected):
    """The severity rises in an episode and does not sink; what is muted or explained is over."""
    assert told(*story) == expected


def test_what_is_over_is_told_for_a_while():
    assert told(FIRES, NOBODY, NOBODY, minutes=14) == ("", "warning")
    assert told(FIRES, NOBODY, NOBODY, minutes=16) == ("", "")


@pytest.mark.parametrize("state", ["firing", "over"])
def test_the_first_pass_ends_what_our_events_say_was_told(state):
    """Also what another process closed last, of which Alertmanager may not have heard."""
    records = Records([stored(finding_event(STOPS, NOW, "pod"), state=state)])
    assert told(NOBODY, records=records) == ("", "critical")
    assert told(STOPS, records=records) == ("critical", "")
    assert told(FIRES, records=records) == ("warning", "critical")


def test_nothing_begins_where_a_watch_has_lost_its_connection():
    """It goes on all the same, by what the Events say too."""
    unsure = {"confirmed": lambda _: False}
    records = Records([stored(finding_event(FIRES, NOW, "pod"))])
    assert told(FIRES, **unsure) == ("", "")
    assert told(FIRES, records=records, **unsure) == ("warning", "")


def test_an_alert_in_full():
    """Its labels follow from the key alone; a value that is not there is no label."""
    (alert,) = plan_alerts(report(STOPS), NO_RECORDS, None, settings=SETTINGS).values()
    assert dict(alert.labels) == {
        "alertname": "inferencesetEPPNotReady",
        "cluster": "west",
        "layer": "modeldeployment",
        "namespace": "chat",
        "reason": "inferencesetEPPNotReady",
        "severity": "critical",
        "source": "status-reporter",
        "stack": "kaito",
        "subject": "inferenceset/chat/llama",
        "subject_kind": "inferenceset",
        "subject_name": "llama",
    }
    assert alert.annotations == {
        "summary": "the endpoint picker is down",
        "message": "the endpoint picker is down",
        "impact": "unknown",
        "runbook_url": "https://docs.example/d/reasons.md#eppnotready",
    }
    assert alert.starts_at == STOPS.since
