"""Tables of the pages that repeat what the code or the chart says."""

import re

import pytest
import yaml

from reporter.cli.configure import _OTHER_NAMES, FullProgramSettings, flag_of
from reporter.kube.informer import Timing
from reporter.model.reason import EventType
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND
from reporter.probes.cluster.parts import required_crds
from reporter.setting_types import BUDGETS
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.rules.cases import alerts
from tests.tables import ALL, BY_NAME, CLUSTER_WIDE, REASONS
from tests.unit.docs.pages import CHART, PAGES, ROOT, anchors, code, page, section, table


def _text(value):
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


def test_defaults_of_the_flags_that_go_has_too():
    """Whoever comes from Go is told what is different without a setting."""
    defaults = {
        flag: _text(info.default)
        for name, info in FullProgramSettings.model_fields.items()
        for flag in (flag_of(name), *_OTHER_NAMES.get(name, ()))
    }
    rows = table(page("migrating.md"), "flag")
    told = {flag: next(iter(code(row[2])), "") for row in rows for (flag,) in [code(row[0])]}
    assert told == {flag: defaults.get(flag, "no such flag") for flag in told}
    assert len(told) == len(rows) > 0


OF_KAITO = {CLUSTER_KIND, NAMESPACE_KIND, INFERENCESET_KIND}


def test_the_reasons_of_go_are_those_that_are_here_too():
    """Whoever migrates finds each of the 15 that there were; all others have been added."""
    of_go = [
        name
        for row in table(section(page("migrating.md"), "## Reasons"), "reason")
        for name in code(row[0])
    ]
    assert set(of_go) <= BY_NAME.keys()
    assert {BY_NAME[name].subject_kind for name in of_go} <= OF_KAITO
    assert len(of_go) == len(set(of_go)) == 15


def test_normal_reasons_are_named():
    rows = table(section(page("migrating.md"), "## Events"), "")
    row = next(row for row in rows if row[0] == "type")
    normal = {each.name for each in REASONS if each.type is EventType.NORMAL}
    assert set(code(row[2])) == {name for name in normal if BY_NAME[name].subject_kind in OF_KAITO}


def test_permissions_are_those_of_the_chart():
    """The ClusterRole is held to the resource table elsewhere; what a stack reads is on its page."""
    rows = table(section(page("operations.md"), "## Permissions"), "API group")
    told = [
        (next(iter(code(group)), ""), plural)
        for group, plurals, verbs, where in rows
        if (verbs, where) == ("list, watch", "ClusterRole")
        for plural in plurals.split(", ")
    ]
    always = [(each.group, each.plural) for each in CLUSTER_WIDE if not each.stack]
    assert sorted(told) == sorted(always)


def test_permissions_that_take_more_than_a_stack_are_named():
    """Those of its `on` mode, and those that a setting asks for."""
    rows = table(section(page("operations.md"), "## Permissions"), "API group")
    told = {
        plural: "".join(code(where)[:1])
        for _, plurals, _, where in rows
        if ", only with" in where
        for plural in plurals.split(", ")
    }
    assert {each.plural: f"stacks.{each.stack}" for each in CLUSTER_WIDE if each.wide}.items() <= (
        told.items()
    )
    for each in CLUSTER_WIDE:
        if each.opt_in:
            first, *others = each.opt_in.split("_")
            setting = f"controlPlane.{first}{''.join(word.title() for word in others)}"
            assert told[each.plural] == setting


def test_versions_are_those_of_the_resource_table():
    rows = table(section(page("compatibility.md"), "## What is read"), "kind")
    told = {kind: versions for kinds, versions, _ in rows for kind in kinds.split(", ")}
    assert told == {each.crd_name or each.plural: ", ".join(each.versions) for each in ALL}


def test_kinds_that_are_missed_and_the_parts_that_they_follow():
    text = section(page("compatibility.md"), "## What is read")
    told = {
        kind: {*code(parts)}
        for kinds, _, parts in table(text, "kind")
        if parts
        for kind in kinds.split(", ")
    }
    told["clustertriggerauthentications.keda.sh"] = {"keda"}
    wanted: dict[str, set[str]] = {}
    for crd in required_crds(FullEvaluationSettings()):
        wanted.setdefault(crd.name, set()).add(crd.part)
    assert told == wanted


def test_alerts_are_those_of_the_chart():
    rules = alerts()
    text = page("alerts.md")
    told = {code(row[0])[0]: row[1] for row in table(text, "alert")}
    assert told == {name: rule["labels"]["severity"] for name, rule in rules.items()}
    assert set(re.findall(r"^## (StatusReporter\w+)$", text, re.MULTILINE)) == rules.keys()
    for rule in rules.values():
        where, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert anchor in anchors(PAGES[where])


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
        "resident memory after start",
        "resident memory at the end",
        "peak memory",
        "50 changes/s: part of a processor",
        "start until ready",
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
    rows = table(page("operations.md"), "often set")
    (flag,) = (code(row[0])[0] for row in rows if "budgets" in row[1])
    assert flag == "--grace " + ",".join(f"{name}={seconds}" for name, seconds in BUDGETS.items())


KUBECTL_CALLS_IT = {"namespaces": "ns", "services.serving.knative.dev": "ksvc"}
"""Short names that only one kind has."""


def test_the_dump_with_kubectl_has_every_kind():
    """A kind that the recipe forgets is unknown; a plural of two groups stands for one of them only."""
    recipe, _, _ = section(page("check.md"), "### With kubectl").partition("Pages of model pods")
    block = "\n".join(line for line in recipe.splitlines() if line.startswith("    "))
    named = set(re.findall(r"[a-z0-9][a-z0-9.-]*", block))
    groups: dict[str, set[str]] = {}
    for each in ALL:
        groups.setdefault(each.plural, set()).add(each.group)
    kinds = {str(each): each.plural for each in ALL}
    forgotten = {
        full
        for full, plural in kinds.items()
        if not named & {full, KUBECTL_CALLS_IT.get(full, full)}
        and (len(groups[plural]) > 1 or plural not in named)
    }
    assert forgotten == set()


def test_the_dump_with_kubectl_needs_no_secrets():
    """Somebody who adds them gives away more than the dump needs."""
    assert "Do not add Secrets." in section(page("check.md"), "### With kubectl")


def test_older_releases_are_those_that_scenarios_play():
    text = (ROOT / "tests" / "scenarios" / "versions.yaml").read_text()
    played = set(re.findall(r"- id: (.+?-[0-9.]+)-", text))
    told = [next(iter(code(row[0]))) for row in table(page("compatibility.md"), "release")]
    assert sorted(told) == sorted(played)
