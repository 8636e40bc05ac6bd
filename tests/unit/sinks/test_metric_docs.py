"""The metrics that are exported are those that docs/alerts.md describes and that rules and dashboard read."""

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from reporter.metrics.samples.sample import Failure
from reporter.model.reason import EventType
from reporter.model.report import Disposition, Impact, ServingState, SkippedObject, SubjectState
from reporter.model.subject import Layer
from reporter.sinks.events.plan import Purpose
from reporter.sinks.mirror.plan import MirrorPurpose
from reporter.sinks.own_metrics import GAUGES, OK, LiveMetrics, Metrics, SubjectMetrics
from reporter.snapshot.snapshot import Served
from reporter.stacks.kthena.output import status_counter
from reporter.stacks.kthena.owning import Method
from tests.helm.dashboard import expressions
from tests.rules.cases import alerts, rendered
from tests.unit.docs.pages import code, page, table
from tests.unit.sinks.page.reports import EPP, finding, model, report

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
DOCUMENTED = {
    code(name)[0]: (type_, set(code(labels)))
    for name, type_, labels, _, _ in table(page("alerts.md"), "metric")
}


class Busy:
    """A daemon of which every metric has a sample."""

    def report(self):
        impaired = SubjectState(model("a"), ServingState.NOT_SERVING, since=NOW, cause=EPP)
        return report(
            finding(EPP, model("a"), impact=Impact(1)),
            skipped=(SkippedObject("pods", "a", "b", "no name"),),
            states=(impaired,),
        )

    def watches(self):
        watch = {"resource": "pods", "state": "served", "confirmed": True, "age_seconds": 1.0}
        return [SimpleNamespace(**watch, objects=1, relists=1, failures=0)]

    def gauges(self):
        return dict.fromkeys(GAUGES, 1)


def metrics(now=lambda: NOW):
    made = Metrics("1", "abc", now)
    made.requested("list", "pods", "200")
    made.event_written(Purpose.FIRE, "written")
    status_counter(made.registry, lambda: 0).labels(Method.APPLY, "written").inc()
    made.mirror_written(MirrorPurpose.TELL, "written")
    return made


def families(made):
    """Return type and labels of each metric, by the name that the page gives it."""
    found = {}
    pages = (LiveMetrics(made, Busy()), SubjectMetrics(Busy().report, 9))
    for family in text_string_to_metric_families(b"".join(map(generate_latest, pages)).decode()):
        if family.name.endswith("_created"):
            continue
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        found[name] = (family.type, labels)
    return found


EXPORTED = families(metrics())
SERIES = {
    name.removesuffix("_total") + suffix: labels | ({"le"} if suffix == "_bucket" else set())
    for name, (type_, labels) in EXPORTED.items()
    for suffix in SUFFIXES[type_]
}


def test_every_metric_is_documented_with_its_type_and_labels_and_no_other():
    assert DOCUMENTED == EXPORTED


def test_every_documented_metric_has_a_unit_and_a_meaning():
    for name, _, _, unit, meaning in table(page("alerts.md"), "metric"):
        assert unit, name
        assert meaning, name


RECORDED = [
    (rule["record"], rule["expr"])
    for group in rendered()["groups"]
    for rule in group["rules"]
    if "record" in rule
]
SERIES |= {name: {"reporter", "namespace", "subject", "state", "reason"} for name, _ in RECORDED}
READ = [*((name, rule["expr"]) for name, rule in alerts().items()), *RECORDED, *expressions()]
GIVEN_BY_PROMETHEUS = {"namespace", "job", "pod"}


def selectors(expression):
    """Name of the series and its matchers, of each selector."""
    return re.findall(r"(status_reporter[_:][\w:]+)\{(.*?)\}", expression)


def test_rules_and_dashboard_read_series_that_are_exported():
    assert [
        where
        for where, expression in READ
        if not len(selectors(expression)) == len(re.findall("status_reporter[_:]", expression)) > 0
    ] == []
    assert {name for _, each in READ for name, _ in selectors(each)} <= SERIES.keys()


def test_rules_and_dashboard_select_by_labels_that_series_have():
    assert [
        (where, name, label)
        for where, expression in READ
        for name, matchers in selectors(expression)
        for label, _ in _matchers(matchers)
        if label not in SERIES[name] | GIVEN_BY_PROMETHEUS
    ] == []


def test_rules_and_dashboard_group_by_labels_that_series_have():
    unknown = []
    for where, expression in READ:
        known = GIVEN_BY_PROMETHEUS.union(*(SERIES[name] for name, _ in selectors(expression)))
        grouped = re.findall(r"(?:by|on|without) \((.*?)\)", expression)
        labels = {label.strip() for each in grouped for label in each.split(",")}
        unknown += [(where, label) for label in labels - known]
    assert unknown == []


TOLD = {
    label.replace("`", ""): {each for each in code(values) if not each.startswith("modelServing")}
    for label, values in table(page("alerts.md"), "label")
}
"""The values of each label, as the page has them."""

VALUES = {
    ("status_reporter_findings", "disposition"): set(Disposition),
    ("status_reporter_findings", "layer"): set(Layer),
    ("status_reporter_firing_findings", "layer"): set(Layer),
    ("status_reporter_firing_findings", "type"): set(EventType),
    ("status_reporter_cause_models", "layer"): set(Layer),
    ("status_reporter_cause_models", "state"): {ServingState.NOT_SERVING, ServingState.DEGRADED},
    ("status_reporter_subject_state", "layer"): set(Layer),
    ("status_reporter_subject_state", "state"): set(ServingState),
    ("status_reporter_resource_state", "state"): {each.value for each in Served},
    ("status_reporter_scrapes_total", "outcome"): {OK, *(each.name.lower() for each in Failure)},
    ("status_reporter_event_writes_total", "outcome"): TOLD["outcome of writes of Events"],
    ("status_reporter_modelserving_status_writes_total", "outcome"): TOLD["outcome of writes of statuses"],
}  # fmt: skip


def test_rules_and_dashboard_ask_for_values_that_labels_have():
    asked = [
        (where, (name, label), value)
        for where, expression in READ
        for name, matchers in selectors(expression)
        for label, values in _matchers(matchers)
        for value in values.split("|")
    ]
    assert [
        (where, key, value) for where, key, value in asked if value not in VALUES.get(key, {value})
    ] == []
    assert {key for _, key, _ in asked} & VALUES.keys()


def _matchers(text):
    return re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"', text)


def test_values_of_labels_are_those_that_are_told():
    """Whoever writes a rule of their own finds them on the page."""
    values = {
        "layer": set(Layer), "purpose": {each.name.lower() for each in Purpose},
        "purpose of mirrors": {each.name.lower() for each in MirrorPurpose},
        "state of a resource": {each.value for each in Served},
        "state of a subject": set(ServingState), "type": set(EventType), "method": set(Method),
        "outcome of scrapes": {OK, *(each.name.lower() for each in Failure)},
    }  # fmt: skip
    assert {label: TOLD[label] - {"roles"} for label in values} == values


def test_a_delay_runs_from_the_start_of_the_episode():
    """By the clock of the API server; an episode that begins in the future took no time."""
    made = metrics()
    for seconds in (62, 1000, -5):
        made.observe_delay(NOW - timedelta(seconds=seconds))
    text = generate_latest(LiveMetrics(made, Busy())).decode()
    assert "status_reporter_event_delay_seconds_sum 1062.0" in text
    assert 'status_reporter_event_delay_seconds_bucket{le="60.0"} 1.0' in text
    assert 'status_reporter_event_delay_seconds_bucket{le="65.0"} 2.0' in text
    assert "status_reporter_event_delay_seconds_count 3.0" in text
