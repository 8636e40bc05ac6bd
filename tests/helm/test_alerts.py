"""The alert rules rest on what the daemon exports; the lists of its listeners' test are the measure."""

import re

import pytest

from reporter.cli.configure import ProgramSettings
from reporter.daemon.state import LEAST_SECONDS, SLOW_PASSES
from reporter.setting_types import ScrapeVia
from reporter.sinks.events.writer import EventWriter
from reporter.sinks.scrape_metrics import OK
from tests.daemon.test_listeners import METRICS
from tests.helm.charts import NAMESPACE, render

ON = {"serviceMonitor.enabled": True, "prometheusRule.enabled": True}
GIVEN_BY_PROMETHEUS = {"namespace", "job", "pod"}
SUFFIX = {"counter": "_total", "gauge": "", "histogram": "_count"}
EXPORTED = {f"{name}{SUFFIX[type_]}": labels for name, (type_, labels) in METRICS.items()}


def alerts(values=None):
    """Return the rules by name."""
    (group,) = render({**ON, **(values or {})}).one("PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


ALERTS = alerts()


def test_there_is_an_alert_for_each_way_to_be_blind_or_mute():
    """Nobody leads, several do, no pass, Events refused or waiting, a resource unknown, no scrapes."""
    assert set(ALERTS) == {
        "StatusReporterNobodyLeads",
        "StatusReporterSeveralLead",
        "StatusReporterPassesLate",
        "StatusReporterEventsRefused",
        "StatusReporterEventsWaiting",
        "StatusReporterResourceUnknown",
        "StatusReporterClockOff",
        "StatusReporterScrapesAllFail",
        "StatusReporterScrapesOftenFail",
    }


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_reads_metrics_and_labels_that_exist(name):
    """An expression over a name that nobody exports never fires."""
    expression = ALERTS[name]["expr"]
    selectors = re.findall(r"(status_reporter_\w+)\{(.*?)\}", expression)
    assert len(selectors) == expression.count("status_reporter_")
    for metric, matchers in selectors:
        labels = dict(re.findall(r'(\w+)="([^"]*)"', matchers))
        assert labels.keys() - GIVEN_BY_PROMETHEUS <= EXPORTED[metric]
        assert labels["namespace"] == NAMESPACE
        assert labels["job"] == "prod-status-reporter-metrics"
    grouped = re.findall(r"by \((.*?)\)", expression)
    known = GIVEN_BY_PROMETHEUS.union(*(EXPORTED[metric] for metric, _ in selectors))
    assert {label.strip() for each in grouped for label in each.split(",")} <= known
    assert expression.count("(") == expression.count(")")


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_is_wrong_and_what_to_look_at(name):
    """Its labels in the text are labels that its expression keeps."""
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "description"}
    shown = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    assert all(label in rule["expr"] or label in GIVEN_BY_PROMETHEUS for label in shown)


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
    late = SLOW_PASSES * ProgramSettings().resync_seconds
    assert alerts({"resyncSeconds": None})["StatusReporterPassesLate"]["expr"].endswith(f"> {late}")


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
    period = ProgramSettings(scrape_via=via, scrape_interval_seconds=interval).scrape_period
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
