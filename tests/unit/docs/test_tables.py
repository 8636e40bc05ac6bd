"""Tables of the pages that repeat what the code or the chart says."""

import re

import pytest
import yaml

from reporter.catalogue.reasons import REASONS
from reporter.catalogue.resources import ALL, CLUSTER_WIDE
from reporter.cli.configure import ProgramSettings, flag_of
from reporter.cli.flags import _OTHER_NAMES
from reporter.kube.informer import Timing
from reporter.model.report import EventType
from reporter.probes.cluster.crds import required_crds
from reporter.settings import EvaluationSettings
from tests.unit.docs.pages import CHART, code, page, section, table


def _text(value):
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


FLAGS = table(page("migrating.md"), "flag")


@pytest.mark.parametrize("row", FLAGS, ids=lambda row: row[0])
def test_default_of_a_flag_that_go_has_too(row):
    fields = {
        flag: info
        for name, info in ProgramSettings.model_fields.items()
        for flag in (flag_of(name), *_OTHER_NAMES.get(name, ()))
    }
    (flag,) = code(row[0])
    (default,) = code(row[2]) or [""]
    assert default == _text(fields[flag].default)


def test_every_added_reason_is_listed_as_added():
    """What Go has stands in the table or is a shared Deployment; the rest has been added."""
    text = section(page("migrating.md"), "## Reasons")
    _, _, added = text.partition("**Added**")
    of_go = {name for row in table(text, "reason") for name in code(row[0])} | {
        reason.name
        for reason in REASONS
        if reason.name.startswith("cluster") and reason.name.endswith("NotReady")
    }
    assert len(of_go) == 15
    assert set(code(added)) >= {reason.name for reason in REASONS} - of_go
    assert not set(code(added)) & of_go


def test_normal_reasons_are_named():
    rows = table(section(page("migrating.md"), "## Events"), "")
    row = next(row for row in rows if row[0] == "type")
    assert set(code(row[2])) == {r.name for r in REASONS if r.type is EventType.NORMAL}


def test_permissions_are_those_of_the_chart():
    """The ClusterRole is held to the resource table elsewhere; here the page is."""
    rows = table(section(page("operations.md"), "## Permissions"), "API group")
    told = {
        (next(iter(code(group)), ""), plural, verbs)
        for group, plurals, verbs, where in rows
        if where == "ClusterRole"
        for plural in plurals.split(", ")
    }
    assert told == {(each.group, each.plural, "list, watch") for each in CLUSTER_WIDE}


def test_versions_are_those_of_the_resource_table():
    rows = table(section(page("compatibility.md"), "## What is read"), "kind")
    told = {kind: versions for kinds, versions, _ in rows for kind in kinds.split(", ")}
    assert told == {each.crd_name or each.plural: ", ".join(each.versions) for each in ALL}


OFF = {"": {}, "KAITO": {"kaito_deployment": ""}, "Istio": {"istiod_deployment": ""}} | {
    "KEDA": {"keda_namespace": ()},
    "API keys": {"gateway_auth_deployment": ""},
}


@pytest.mark.parametrize("component", OFF)
def test_required_kinds_and_what_switches_them_off(component):
    text = section(page("compatibility.md"), "## What is read")
    told = {kind: unless for kind, _, unless in table(text, "kind") if unless}
    told["clustertriggerauthentications.keda.sh"] = "unless KEDA is off"
    wanted = {kind for kind, unless in told.items() if not component or component not in unless}
    settings = EvaluationSettings(**OFF[component])
    assert {crd.name for crd in required_crds(settings)} == wanted


def test_alerts_are_those_of_the_chart():
    rule = (CHART / "templates" / "prometheusrule.yaml").read_text()
    alerts = dict(re.findall(r"alert: (\w+).*?severity: (\w+)", rule, re.DOTALL))
    text = section(page("operations.md"), "## Alerts")
    assert {code(row[0])[0]: row[1] for row in table(text, "alert")} == alerts
    assert set(re.findall(r"^\*\*`(\w+)`\*\*", text, re.MULTILINE)) == alerts.keys()


def test_sizes_are_the_measured_ones():
    """The figures of the sizing table stand in the page that the bench fills."""
    measured = dict(
        re.findall(
            r"^ +(\S.*?)  +(?:ms|MB|%) +((?:[\d.]+ +){2}[\d.]+)",
            page("performance.md"),
            re.MULTILINE,
        )
    )
    names = (
        "resident memory at the end",
        "peak memory",
        "part of a processor",
        "start until ready",
        "pass after one change",
    )
    rows = table(section(page("operations.md"), "## Sizing"), "InferenceSets")
    columns = list(zip(*rows, strict=True))[1:]
    assert columns == [tuple(measured[name].split()) for name in names]


def test_memory_is_that_of_the_chart():
    values = yaml.safe_load((CHART / "values.yaml").read_text())["resources"]
    assert "cpu" not in values["limits"]
    told = f"{values['requests']['cpu']} of CPU and {values['requests']['memory']}"
    assert told in page("operations.md")
    assert f"limits memory to {values['limits']['memory']}" in page("operations.md")


@pytest.mark.parametrize("name", ["compatibility.md", "architecture.md"])
def test_size_of_a_page_of_a_list(name):
    assert f"pages of {Timing().page}" in page(name)


def test_budgets_are_the_defaults():
    row = next(row for row in table(page("operations.md"), "often set") if "budget" in row[0])
    defaults = [
        str(EvaluationSettings.model_fields[flag[2:].replace("-", "_")].default)
        for flag in code(row[0])
    ]
    assert f"({', '.join(defaults)})" in row[1]
