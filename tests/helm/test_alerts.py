"""The alert rules follow the values. When they fire: tests/rules; what they read: test_metric_docs.py."""

import re

import pytest

from reporter.catalogue.resources import EVENTS
from reporter.cli.configure import FullProgramSettings
from reporter.daemon.state import LEAST_SECONDS, SLOW_PASSES
from reporter.model.reason import EventType
from reporter.setting_types import ScrapeVia
from reporter.sinks.events.writer import EventWriter
from reporter.sinks.own_scrape_metrics import OK
from reporter.stacks import BUILT_IN
from tests.helm.charts import render

ON = {"serviceMonitor.enabled": True, "prometheusRule.enabled": True}
GIVEN_BY_PROMETHEUS = {"namespace", "job", "pod"}
STATUSES = {
    "StatusReporterStatusesContested",
    "StatusReporterStatusesRefused",
    "StatusReporterStatusesWaiting",
}


def alerts(values=None):
    """Return the rules by name."""
    (group,) = render({**ON, **(values or {})}).one("PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


ALERTS = alerts()


def test_an_alert_says_what_is_wrong_and_what_to_look_at():
    """And how grave it is."""
    assert {rule["labels"]["severity"] for rule in ALERTS.values()} == {"critical", "warning"}
    said = {"summary", "description", "runbook"}
    assert [name for name, rule in ALERTS.items() if set(rule["annotations"]) != said] == []


def test_labels_that_the_text_of_an_alert_shows_are_kept_by_its_expression():
    """Else the text has a hole where the name should be."""
    assert [
        (name, label)
        for name, rule in ALERTS.items()
        for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
        if label not in rule["expr"] and label not in GIVEN_BY_PROMETHEUS
    ] == []


def test_the_outcome_that_alerts_is_one_that_the_writer_counts():
    """The value of a label is as much a contract as its name."""
    assert 'outcome="refused"' in ALERTS["StatusReporterEventsRefused"]["expr"]
    assert "refused" in EventWriter._refuse.__code__.co_consts


@pytest.mark.parametrize("resync", [60, 10])
def test_a_pass_is_late_when_the_health_endpoint_says_so(resync):
    """One rule for the kubelet, the alert and `helm test`."""
    late = max(LEAST_SECONDS, SLOW_PASSES * resync)
    rule = alerts({"resyncSeconds": resync})["StatusReporterPassesLate"]
    assert rule["expr"].endswith(f" > {late:g}")
    pod = render({"resyncSeconds": resync}).one("Pod")["spec"]
    assert pod["containers"][0]["args"][-1] == f"{late:g}"


def test_where_the_resync_is_left_to_the_program_its_default_counts():
    """Null is the program's default."""
    late = SLOW_PASSES * FullProgramSettings().resync_seconds
    assert alerts({"resyncSeconds": None})["StatusReporterPassesLate"]["expr"].endswith(f"> {late}")


def test_the_watch_that_may_be_silent_is_left_out_by_its_name():
    """A watch of Events has no bookmarks, and in a healthy cluster none of ours is written."""
    age = re.search(
        r"watch_age_seconds\{([^}]*)\} > 300", ALERTS["StatusReporterWatchStale"]["expr"]
    )
    assert age[1].endswith(f'resource!="{EVENTS}"')


SCRAPES = ("StatusReporterScrapesAllFail", "StatusReporterScrapesOftenFail")


@pytest.mark.parametrize("name", SCRAPES)
def test_an_alert_counts_the_scrapes_that_went_well_as_the_scraper_does(name):
    """The outcome that means success is the one that is exported."""
    assert f'outcome="{OK}"' in ALERTS[name]["expr"]


@pytest.mark.parametrize("name", SCRAPES)
@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        ({}, 600),
        ({"scrape.via": "apiserver-proxy"}, 600),
        ({"scrape.intervalSeconds": 1800}, 7200),
    ],
)
def test_an_alert_looks_back_over_several_scrapes(name, values, seconds):
    """However rare they are; a window without any would never fire."""
    via = values.get("scrape.via", ScrapeVia.DIRECT)
    interval = values.get("scrape.intervalSeconds")
    period = FullProgramSettings(scrape_via=via, scrape_interval_seconds=interval).scrape_period
    assert seconds >= 4 * period
    windows = re.findall(r"\[(\w+)\]", alerts(values)[name]["expr"])
    assert set(windows) == {f"{seconds}s"}


def test_there_is_no_alert_for_scrapes_that_are_switched_off():
    """Its metrics stand still then."""
    assert set(ALERTS) - set(alerts({"scrape.via": "off"})) == set(SCRAPES)


def test_the_service_monitor_selects_the_service_of_the_metrics():
    """Else Prometheus scrapes nothing, and every alert but one is silent."""
    rendered = render(ON)
    monitor, service = rendered.one("ServiceMonitor"), rendered.one("Service")
    assert monitor["metadata"]["namespace"] == service["metadata"]["namespace"]
    selector = monitor["spec"]["selector"]["matchLabels"]
    assert selector.items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}


def test_statuses_have_alerts_where_they_are_written():
    """Their metrics stand still otherwise."""
    for mode in ("roles", "full"):
        assert set(alerts({"modelServing.status": mode})) - set(ALERTS) == STATUSES


def test_mirrors_have_an_alert_where_all_namespaces_grant_them():
    """With roles of one's own some may be left out on purpose."""
    mirrored = {"mirrorToWorkload": True}
    assert set(alerts(mirrored)) - set(ALERTS) == {"StatusReporterMirrorsRefused"}
    assert set(alerts({**mirrored, "rbac.create": False})) == set(ALERTS)


def test_the_runbook_is_linked_where_it_can_be_read():
    """Each alert to its own section."""
    for name, rule in alerts({"prometheusRule.runbookUrl": "https://d.example/a"}).items():
        assert rule["annotations"]["runbook_url"] == f"https://d.example/a#{name.lower()}"
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{name.lower()}"


def test_a_cause_is_an_alert_after_the_time_that_was_asked_for():
    """And how grave it is, is for the user to say."""
    values = {"prometheusRule.causes": {"for": "1h", "severity": "page"}}
    rule = alerts(values)["StatusReporterCauseFires"]
    assert (rule["for"], rule["labels"]["severity"]) == ("1h", "page")
    assert "for 1h or longer" in rule["annotations"]["summary"]


@pytest.mark.parametrize("nothing", ["", None])
def test_those_who_read_events_need_no_alert_of_causes(nothing):
    """An empty time is no alert."""
    rules = alerts({"prometheusRule.causes.for": nothing})
    assert set(ALERTS) - set(rules) == {"StatusReporterCauseFires"}


def left_out(values=None):
    """Return the reasons whose firing is no alert."""
    expression = alerts(values)["StatusReporterCauseFires"]["expr"]
    (names,) = re.findall(r'reason!~"([^"]*)"', expression)
    return names.split("|")


NOTICES = [each.name for each in BUILT_IN if each.type is EventType.NORMAL and not each.says_ready]


@pytest.mark.parametrize("nothing", [[], None])
def test_a_notice_is_no_alert(nothing):
    """It fires for as long as somebody wants it: a canary, a model that is switched off."""
    assert left_out({"disableReasons": nothing}) == NOTICES


def test_reasons_that_are_disabled_are_no_alerts():
    """They write no Event either."""
    disabled = ["clusterBBRNotReady", "clusterStatusUnknown"]
    assert left_out({"disableReasons": disabled}) == NOTICES + disabled
