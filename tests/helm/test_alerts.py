"""The alert rules follow the values. When they fire: tests/rules; what they read: test_metric_docs.py."""

import re

import pytest

from reporter.catalogue.resources import EVENTS
from reporter.cli.configure import FullProgramSettings
from reporter.daemon.state import LEAST_SECONDS, SLOW_PASSES
from reporter.model.reason import EventType
from reporter.model.subject import Layer
from reporter.setting_types import ScrapeVia
from reporter.stacks import BUILT_IN
from tests.helm.charts import render
from tests.rules.cases import filled
from tests.unit.docs.pages import ROOT, anchors

ON = {"serviceMonitor.enabled": True, "prometheusRule.enabled": True}
GIVEN_BY_PROMETHEUS = {"namespace", "job", "pod"}
STATUSES = {
    "StatusReporterStatusesContested",
    "StatusReporterStatusesRefused",
    "StatusReporterStatusesWaiting",
}


def alerts(values=None):
    """Return the rules by name."""
    groups = render({**ON, **(values or {})}).one("PrometheusRule")["spec"]["groups"]
    rules = (rule for group in groups for rule in group["rules"])
    return {rule["alert"]: rule for rule in rules if "alert" in rule}


ALERTS = alerts()
CAUSES = [name for name in ALERTS if "Cause" in name]
STOPPING = [name for name in CAUSES if "Stops" in name]


def test_an_alert_says_what_is_wrong_and_what_to_look_at():
    """And how grave it is."""
    assert {rule["labels"]["severity"] for rule in ALERTS.values()} == {"critical", "warning"}
    said = {"summary", "description", "runbook"}
    of_causes = said | {"impact", "reason_doc"}
    assert [
        name
        for name, rule in ALERTS.items()
        if set(rule["annotations"]) != (of_causes if name in CAUSES else said)
    ] == []


def test_labels_that_the_text_of_an_alert_shows_are_kept_by_its_expression():
    """Otherwise the text has a gap where the name should be."""
    assert [
        (name, label)
        for name, rule in ALERTS.items()
        for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
        if label not in rule["expr"] and label not in GIVEN_BY_PROMETHEUS
    ] == []


@pytest.mark.parametrize("resync", [60, 10, None])
def test_a_pass_is_late_when_the_health_endpoint_says_so(resync):
    """One rule for the kubelet, the alert and `helm test`; null is the program's default."""
    seconds = FullProgramSettings().resync_seconds if resync is None else resync
    late = max(LEAST_SECONDS, SLOW_PASSES * seconds)
    rule = alerts({"resyncSeconds": resync})["StatusReporterPassesLate"]
    assert rule["expr"].endswith(f" > {late:g}")
    pod = render({"resyncSeconds": resync}).one("Pod")["spec"]
    assert pod["containers"][0]["args"][-1] == f"{late:g}"


def test_the_watch_that_may_be_silent_is_left_out_by_its_name():
    """A watch of Events has no bookmarks, and in a healthy cluster none of ours is written."""
    age = re.search(
        r"watch_age_seconds\{([^}]*)\} > 300", ALERTS["StatusReporterWatchStale"]["expr"]
    )
    assert age[1].endswith(f'resource!="{EVENTS}"')


SCRAPES = ("StatusReporterScrapesAllFail", "StatusReporterScrapesOftenFail")


@pytest.mark.parametrize("name", SCRAPES)
@pytest.mark.parametrize(
    ("values", "seconds"),
    [({}, 600), ({"scrape.via": "apiserver-proxy"}, 600), ({"scrape.intervalSeconds": 1800}, 7200)],
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
    """Its metrics stop changing then."""
    assert set(ALERTS) - set(alerts({"scrape.via": "off"})) == set(SCRAPES)


def test_the_service_monitor_selects_the_service_of_the_metrics():
    """Otherwise Prometheus scrapes nothing, and every alert but one stays silent."""
    rendered = render(ON)
    monitor, service = rendered.one("ServiceMonitor"), rendered.one("Service")
    assert monitor["metadata"]["namespace"] == service["metadata"]["namespace"]
    selector = monitor["spec"]["selector"]["matchLabels"]
    assert selector.items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}


@pytest.mark.parametrize(("percent", "fast"), [(99.5, "0.072"), (99, "0.144"), (99.95, "0.0072")])
def test_an_objective_says_how_fast_its_budget_may_go(percent, fast):
    """Off until it is set; 14.4 times the rate that is left by it."""
    values = {"prometheusRule.objective.enabled": True, "prometheusRule.objective.percent": percent}
    found = alerts(values)
    assert set(found) - set(ALERTS) == {
        "StatusReporterObjectiveBurnsFast",
        "StatusReporterObjectiveBurnsSlowly",
    }
    assert f" > {fast} and " in found["StatusReporterObjectiveBurnsFast"]["expr"]
    assert alerts(values | {"prometheusRule.served": False}) == found


def test_statuses_have_alerts_where_they_are_written():
    """Otherwise their metrics stop changing."""
    for mode in ("roles", "full"):
        assert set(alerts({"modelServing.status": mode})) - set(ALERTS) == STATUSES


def test_mirrors_have_an_alert_where_all_namespaces_grant_them():
    """Users with their own roles may leave some out on purpose."""
    mirrored = {"mirrorToWorkload": True}
    assert set(alerts(mirrored)) - set(ALERTS) == {"StatusReporterMirrorsRefused"}
    assert set(alerts({**mirrored, "rbac.create": False})) == set(ALERTS)


def test_the_runbook_is_linked_where_it_can_be_read():
    """Each alert to its own section."""
    for name, rule in alerts({"prometheusRule.runbookUrl": "https://d.example/a"}).items():
        assert rule["annotations"]["runbook_url"] == f"https://d.example/a#{name.lower()}"
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{name.lower()}"


def test_a_cause_is_an_alert_after_the_time_that_was_asked_for():
    """The user decides how severe it is."""
    causes = {"for": "1h", "severity": "ticket"}
    causes |= {
        "stopsModels": {"for": "2m", "severity": "page"},
        "stopsItself": {"severity": "call"},
    }
    rules = alerts({"prometheusRule.causes": causes})
    assert {name: (rules[name]["for"], rules[name]["labels"]["severity"]) for name in CAUSES} == {
        "StatusReporterClusterCauseStopsModels": ("2m", "page"),
        "StatusReporterClusterCause": ("1h", "ticket"),
        "StatusReporterHarnessCauseStopsModels": ("2m", "page"),
        "StatusReporterHarnessCause": ("1h", "ticket"),
        "StatusReporterModelCauseStopsIt": ("1h", "call"),
        "StatusReporterModelCause": ("1h", "ticket"),
    }


def test_what_stops_many_models_is_critical_and_nothing_else_of_the_stack():
    """Somebody has to get up for this alert."""
    critical = {name for name in CAUSES if ALERTS[name]["labels"]["severity"] == "critical"}
    assert critical == {
        "StatusReporterClusterCauseStopsModels",
        "StatusReporterHarnessCauseStopsModels",
    }


@pytest.mark.parametrize("nothing", ["", None])
def test_those_who_read_events_need_no_alert_of_causes(nothing):
    """An empty time is no alert; nor is there one about what these rest on."""
    rules = alerts({"prometheusRule.causes.for": nothing})
    assert set(ALERTS) - set(rules) == {*CAUSES, "StatusReporterSeriesLeftOut"}
    assert rules.keys() < ALERTS.keys()


@pytest.mark.parametrize("nothing", ["", None])
def test_a_cause_that_stops_models_may_count_as_any_other(nothing):
    """Then the other alert of its layer is about it too."""
    rules = alerts({"prometheusRule.causes.stopsModels.for": nothing})
    assert set(ALERTS) - set(rules) == set(STOPPING) - {"StatusReporterModelCauseStopsIt"}
    assert "unless" not in rules["StatusReporterClusterCause"]["expr"]
    assert "unless" in rules["StatusReporterModelCause"]["expr"]


def test_a_notice_is_no_alert():
    """It fires for as long as somebody intends it: a canary, a model that is switched off."""
    for name in CAUSES:
        firing = re.findall(r"firing_findings\{([^}]*)\}", ALERTS[name]["expr"])
        assert firing, name
        assert all(each.endswith(f'type="{EventType.WARNING}"') for each in firing)


def test_reasons_that_are_disabled_are_no_alerts():
    """They write no Event either."""
    disabled = ["clusterBBRNotReady", "clusterStatusUnknown"]
    rules = alerts({"disableReasons": disabled})
    for name in CAUSES:
        firing = re.findall(r"firing_findings\{([^}]*)\}", rules[name]["expr"])
        assert all(
            each.endswith('reason!~"clusterBBRNotReady|clusterStatusUnknown"') for each in firing
        )


def test_the_reason_is_linked_where_its_page_can_be_read():
    """Those of models by what their names begin with."""
    rules = alerts({"prometheusRule.docsUrl": "https://d.example/docs/"})
    for name in CAUSES:
        annotations = rules[name]["annotations"]
        assert annotations["reason_url"] == f"https://d.example/{annotations['reason_doc']}"
    for reason in BUILT_IN:
        if reason.says_ready:
            continue
        text = rules[_BY_LAYER[reason.layer]]["annotations"]["reason_doc"]
        path, _, anchor = filled(text, {"$labels.reason": reason.name}).partition("#")
        assert anchor in anchors((ROOT / path).read_text()), (path, anchor)


_BY_LAYER = {
    Layer.CLUSTER: "StatusReporterClusterCause",
    Layer.HARNESS: "StatusReporterHarnessCause",
    Layer.DEPLOYMENT: "StatusReporterModelCause",
}
