"""What the charts state: versions, tables, notes, and how one chart is part of the other."""

import json
import re
import shutil

import pytest
import yaml

from reporter import __version__
from reporter.catalogue.resources import COMPONENT, LABEL_PREFIX
from reporter.cli.daemon_report import LOCAL
from reporter.stacks import BUILT_IN
from tests.helm.charts import (
    NAMESPACE,
    REPORTER,
    UMBRELLA,
    lint,
    load,
    name_of,
    namespace_of,
    render,
)
from tests.helm.values_table import leaves, readme
from tests.tables import Stack
from tools.generated import values_schema

SUBCHART = "productionstack-status-reporter"


def metadata(chart, name="Chart.yaml"):
    return yaml.safe_load((chart / name).read_text())


@pytest.mark.parametrize("chart", [REPORTER, UMBRELLA], ids=lambda chart: chart.name)
def test_the_chart_and_the_program_have_one_version(chart):
    """A chart installs the program that it was tested with."""
    assert metadata(chart)["appVersion"] == __version__
    assert metadata(chart)["version"] == __version__


def test_the_umbrella_takes_in_the_chart_beside_it():
    """By file, with a switch, and locked to its version."""
    (dependency,) = metadata(UMBRELLA)["dependencies"]
    assert dependency == {
        "name": SUBCHART,
        "version": __version__,
        "repository": f"file://../{SUBCHART}",
        "condition": f"{SUBCHART}.enabled",
    }
    (locked,) = metadata(UMBRELLA, "Chart.lock")["dependencies"]
    assert locked["version"] == __version__


@pytest.mark.parametrize("chart", [REPORTER, UMBRELLA], ids=lambda chart: chart.name)
def test_the_readme_names_every_value_and_its_default(chart):
    """`python -m tests.helm.values_table` writes the table again."""
    assert (chart / "README.md").read_text() == readme(chart)


def test_the_schema_knows_every_value_and_every_reason():
    """A default that the schema refuses, or a reason that it does not know, stops an installation.

    `make docs` renders the names of reasons, thresholds and stacks into it.
    """
    schema = (REPORTER / "values.schema.json").read_text()
    assert values_schema(schema, BUILT_IN) == schema
    values = metadata(REPORTER, "values.yaml")
    properties = json.loads(schema)["properties"]
    assert values.keys() == properties.keys() - {"enabled"}
    assert values["stacks"].keys() == properties["stacks"]["properties"].keys() == set(Stack)


@pytest.mark.parametrize("chart", [REPORTER, UMBRELLA], ids=lambda chart: chart.name)
def test_lint_has_nothing_to_say(chart, umbrella):
    """As charts are, without values."""
    linted = lint(chart=umbrella if chart is UMBRELLA else chart)
    assert linted.returncode == 0, linted.stdout
    assert "WARNING" not in linted.stdout


def test_the_umbrella_installs_the_same_objects(umbrella):
    """The same alone or below a parent, except for the values that the parent sets."""
    alone, below = render(), render(chart=umbrella)
    assert below.identities() == alone.identities()
    changed = set(below.flags) - set(alone.flags)
    components = "--components=bbr=on,gateway-auth=on,keda-scaler=on"
    places = {"--bbr-namespace=kaito-system", "--keda-scaler-namespace=keda"}
    assert changed == {components, *places}


def test_stacks_are_switched_below_the_umbrella(umbrella):
    """A parent chart that knows the stacks sets them for its reporter."""
    values = {"stacks": {"kaito": True, "kserve": False}, "modelServing": {"status": "roles"}}
    below = render({SUBCHART: values}, chart=umbrella)
    assert (
        "--stacks=dialects=auto,kaito=on,kserve=off,kthena=auto,llmisvc=auto,otterscale=auto,workloads=auto"
        in below.flags
    )
    assert below.one("ClusterRole")["rules"] == render(values).one("ClusterRole")["rules"]


def test_the_umbrellas_switch_installs_nothing(umbrella):
    """`enabled: false` takes all of it away."""
    assert list(render({f"{SUBCHART}.enabled": False}, chart=umbrella)) == []


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({f"{SUBCHART}.replica": 3}, "Additional property replica is not allowed"),
        (
            {f"{SUBCHART}.leaderElection.enabled": False},
            "leaderElection.enabled=true, as several replicas would all write, is required",
        ),
        ({f"{SUBCHART}.enabled": "yes"}, "enabled: Invalid type. Expected: boolean"),
        ({"status-reporter.enabled": True}, "Additional property status-reporter is not allowed"),
    ],
)
def test_wrong_values_below_the_umbrella_fail_lint(umbrella, values, says):
    """A subchart's schema holds in its parent too."""
    linted = lint(values, chart=umbrella)
    assert linted.returncode != 0
    assert says in linted.stdout


def test_globals_of_the_umbrella_reach_the_subchart_unharmed(umbrella):
    """Other subcharts of a stack use them."""
    assert lint({"global.imageRegistry": "a"}, chart=umbrella).returncode == 0


@pytest.fixture(name="notes", scope="module")
def _notes(tmp_path_factory):
    """Return what renders the notes, which `helm template` leaves out, as a ConfigMap."""
    chart = tmp_path_factory.mktemp("notes") / REPORTER.name
    shutil.copytree(REPORTER, chart)
    (chart / "templates" / "shown.yaml").write_text(
        "kind: ConfigMap\nmetadata: {name: notes}\n"
        'data: {text: {{ include "status-reporter.notes" . | toJson }} }\n'
    )

    def show(values=None):
        return render(values, chart=chart).one("ConfigMap", "notes")["data"]["text"]

    return show


def test_the_notes_name_what_is_there(notes):
    """Every command of the notes works as it stands."""
    rendered, text = render(), notes()
    deployment = rendered.deployment
    assert f"get events -l {LABEL_PREFIX}state=firing" in text
    assert f"--field-selector source={COMPONENT}" in text
    assert f"kubectl -n kube-system get lease {COMPONENT}" in text
    port = LOCAL.rpartition(":")[2]
    forward = (
        f"kubectl -n {namespace_of(deployment)} port-forward deploy/{name_of(deployment)} {port}"
    )
    assert f"{forward}:8082" in text
    assert f"helm -n {NAMESPACE} test prod" in text


@pytest.mark.parametrize(
    ("values", "absent", "present"),
    [
        ({}, "No roles were created", "The node provisioner is not looked at"),
        ({"metrics.enabled": False}, "helm -n", ""),
        ({"replicas": 1, "leaderElection.enabled": False}, "get lease", ""),
        ({"leaderElection.id": "mine"}, COMPONENT + "\n\nWhat it sees", "get lease mine"),
        ({"reportBindAddress": "0"}, "port-forward", "the report is switched off"),
        ({"reportBindAddress": "127.0.0.1:9000"}, ":8082\n", "8082:9000"),
        ({}, "has a Service", ""),
        (
            {"reportService.enabled": True, "reportBindAddress": ":8082"},
            "",
            "The report has a Service, prod-status-reporter-report.",
        ),
        ({"rbac.create": False}, "", "No roles were created for it"),
        ({}, "model pods", ""),
        ({"scrape.via": "off"}, "pods/proxy", "The metrics of model pods are not read"),
        ({"scrape.via": "apiserver-proxy"}, "are not read", "GET any port of any pod (pods/proxy)"),
        ({"scrape.via": "apiserver-proxy", "rbac.create": False}, "pods/proxy", ""),
        ({"disableReasons": ["clusterBBRNotReady"]}, "", "no Events for: clusterBBRNotReady."),
        (
            {},
            "switched off (stacks)",
            "looks at: dialects (auto), kaito (auto), kserve (auto), kthena (auto), llmisvc (auto), otterscale (auto), workloads (auto).",
        ),
        ({"stacks.kserve": False}, "kserve (", "switched off (stacks): kserve."),
        ({f"stacks.{each}": "off" for each in Stack}, "", "looks at: none."),
        ({}, "of ModelServings", ""),
        (
            {"modelServing.status": "roles"},
            "the whole status",
            "writes status.roleStatuses of ModelServings (modelServing.status is roles)",
        ),
        ({"modelServing.status": "full"}, "roleStatuses", "writes the whole status of"),
        ({}, "Reasons of your own", ""),
        (
            {
                "customComponents": [
                    {"reason": "clusterA", "layer": "cluster", "crd": {"name": "a.b.c"}},
                    {"reason": "clusterB", "layer": "cluster", "crd": {"name": "a.b.d"}},
                ]
            },
            "",
            "Reasons of your own (customComponents): clusterA, clusterB.",
        ),
        ({}, "logSignatures", ""),
        ({"logSignatures": "a: {}"}, "", "only where logs are: podLogs is false."),
        ({"logSignatures": "a: {}", "podLogs": True}, "podLogs is false", "(logSignatures) are read."),
        ({}, "once more", ""),
        ({"mirrorToWorkload": True}, "", "may create and patch Events in every namespace"),
        ({"mirrorToWorkload": True}, "", "describe inferenceset <name>"),
        ({"mirrorToWorkload": True, "stacks": {"kaito": "off", "kserve": "off"}}, "inferenceset", "describe modelserving <name>"),
        ({"mirrorToWorkload": True, "rbac.create": False}, "may create", "(mirrorToWorkload):"),
        ({"controlPlane.nodeProvisioner": {"name": "gpu", "namespace": "gpu"}}, "node provisioner", ""),
    ],
)  # fmt: skip
def test_the_notes_promise_nothing_that_is_switched_off(notes, values, absent, *, present):
    """Notes that describe what the code no longer does mislead whoever has just installed it."""
    text = notes(values)
    assert not absent or absent not in text
    assert present in text


@pytest.mark.parametrize(
    ("values", "warns"),
    [
        ({}, True),
        ({"image.repository": "ours/status-reporter"}, True),
        ({"image.registry": "registry.example"}, False),
        ({"image.repository": "localhost/status-reporter"}, False),
        ({"global.imageRegistry": "registry.example:5000/path"}, False),
    ],
)
def test_the_notes_warn_of_an_image_without_a_registry(notes, values, warns):
    assert ("without a registry: nodes pull it from docker.io" in notes(values)) is warns


def test_the_notes_name_alertmanager_and_what_would_wake_twice(notes):
    """The second only where there are alerts of causes by metric too."""
    told = {"alertmanager.urls": ["http://am.monitoring:9093"]}
    rules = {"serviceMonitor.enabled": True, "prometheusRule.enabled": True}
    assert "http://am.monitoring:9093" not in notes(rules)
    assert "It sends alerts to http://am.monitoring:9093, with the label" in notes(told)
    twice = "use the inhibition rule"
    silent = {"prometheusRule.causes.for": ""}
    assert [twice in notes({**told, **each}) for each in ({}, rules, {**rules, **silent})] == [
        False, True, False,
    ]  # fmt: skip


def test_the_notes_render_for_every_combination(notes):
    """Notes that fail make the installation fail."""
    said = {row["name"]: notes(row.get("values")) for row in load("combinations.yaml")}
    assert [name for name, text in said.items() if "What is wrong now" not in text] == []


PAGES = [
    REPORTER.parents[1] / "docs" / "install.md",
    REPORTER / "README.md",
    UMBRELLA / "README.md",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_values_that_a_page_sets_exist(page):
    """A command that is copied from the documentation is not refused."""
    known = {path for path, _ in leaves(metadata(REPORTER, "values.yaml"))}
    open_maps = {path for path, value in leaves(metadata(REPORTER, "values.yaml")) if value == {}}
    named = [
        assignment.partition("=")[0].removeprefix(f"{SUBCHART}.")
        for each in re.findall(r"--set (\S+)", page.read_text())
        for assignment in each.split(",")
    ]
    assert named
    assert [
        name for name in named if name not in known and name.rpartition(".")[0] not in open_maps
    ] == []


def test_the_table_of_values_of_note_names_values_that_exist():
    """A value that was renamed is renamed in the installation guide too."""
    known = {path for path, _ in leaves(metadata(REPORTER, "values.yaml"))}
    section = PAGES[0].read_text().split("## Values of note")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = [name.rstrip("*.") for row in rows for name in re.findall(r"`(.+?)`", row)]
    assert len(named) > 8
    for name in named:
        assert any(path == name or path.startswith(f"{name}.") for path in known), name
