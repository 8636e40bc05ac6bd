"""`customComponents`: the file that the program reads, the rights that it takes, what is refused."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from reporter.catalogue.resources import VERBS
from reporter.cli.configure import load_settings
from reporter.diagnosis.signatures import signatures_with
from reporter.stacks import BUILT_IN
from reporter.stacks.dialects.reading import read_dialects
from tests.helm.charts import REPORTER, load, render, template
from tests.tables import CLUSTER_WIDE
from tools.generated import reason_names

ENTRIES = [each["entry"] for each in load("custom_right.yaml")]
WRONG = yaml.safe_load(
    (Path(__file__).parents[1] / "unit" / "settings" / "custom_wrong.yaml").read_text()
)
ALL = {"customComponents": ENTRIES}
FOLDER = "/etc/status-reporter"


def settings(tmp_path, content):
    path = tmp_path / "config.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return load_settings({}, str(path))


def test_the_program_reads_what_the_values_say(tmp_path):
    """The file in the ConfigMap is the values, as they stand there."""
    given = settings(tmp_path, {"custom-components": ENTRIES}).custom_components
    rendered = settings(tmp_path, render(ALL).one("ConfigMap")["data"]["config.yaml"])
    assert rendered.custom_components == given
    assert len(given) == len(ENTRIES)


def test_the_daemon_is_given_the_file():
    rendered = render(ALL)
    assert f"--config={FOLDER}/config.yaml" in rendered.flags
    (mount,) = rendered.container["volumeMounts"]
    (volume,) = rendered.pod["volumes"]
    assert mount == {"name": volume["name"], "mountPath": FOLDER, "readOnly": True}
    (name,) = (each["metadata"]["name"] for each in rendered.of("ConfigMap"))
    assert volume["configMap"] == {"name": name}


@pytest.mark.parametrize("annotations", [{}, {"a": "b"}])
def test_a_change_rolls_the_pods(annotations):
    """The program reads the file when it starts."""

    def marks(entries):
        values = {"customComponents": entries, "podAnnotations": annotations}
        return render(values).deployment["spec"]["template"]["metadata"]["annotations"]

    one, other = marks(ENTRIES[:1]), marks(ENTRIES[:2])
    assert one.keys() == {*annotations, "checksum/config"}
    assert one != other
    assert one == marks(ENTRIES[:1])


SIGNATURES = """\
z-first: {class: config, match: 'license for (?P<host>\\S++) has expired', means: 'the license for {host} has expired', do: Renew it.}
a-second: {class: config, match: 'license expired', means: 'a license has expired', do: Renew it.}
"""


def test_signatures_of_logs_are_read_as_they_stand(tmp_path):
    """The order of rows matters, so the values contain the file itself."""
    rendered = render({"logSignatures": SIGNATURES, "podLogs": True})
    assert f"--log-signatures={FOLDER}/log-signatures.yaml" in rendered.flags
    assert not any(flag.startswith("--config") for flag in rendered.flags)
    (data,) = (each["data"] for each in rendered.of("ConfigMap"))
    path = tmp_path / "log-signatures.yaml"
    path.write_text(data.pop(path.name))
    assert data == {}
    assert [each.id for each in signatures_with(path)][:2] == ["z-first", "a-second"]
    assert rendered.container["volumeMounts"][0]["mountPath"] == FOLDER


DIALECT = {
    "dialect": 1,
    "project": "Acme",
    "kind": {"group": "acme.example.org", "versions": ["v1"], "kind": "ChatServer", "plural": "chatservers"},
    "also-reads": {
        "pool": {"kind": {"group": "ray.io", "versions": ["v1"], "kind": "RayCluster", "plural": "rayclusters"}, "name": "{name}"},
        "cache": {"kind": {"group": "acme.example.org", "versions": ["v1"], "kind": "Cache", "plural": "caches"}, "name": "{name}"},
    },
    "roles": [{"name": "server", "pods": {"acme.example.org/server": "{name}"}, "wanted": ".spec.replicas | 1"}],
}  # fmt: skip


def test_dialects_are_a_file_and_rights(tmp_path):
    """Each kind that a declaration reads is granted once; kinds that are read anyway are not granted again."""
    rendered = render({"dialects": [DIALECT]})
    assert f"--dialects={FOLDER}/dialects.yaml" in rendered.flags
    path = tmp_path / "dialects.yaml"
    path.write_text(rendered.one("ConfigMap")["data"][path.name])
    (dialect,) = read_dialects(path)
    assert dialect.subject_kind == "chatserver"
    more = granted({"dialects": [DIALECT]})
    assert sorted((Counter(more) - Counter(granted({}))).elements()) == [
        ("acme.example.org", plural, verb)
        for plural in ("caches", "chatservers")
        for verb in ("list", "watch")
    ]


def test_both_files_lie_side_by_side():
    rendered = render({"logSignatures": SIGNATURES, **ALL})
    assert set(rendered.one("ConfigMap")["data"]) == {"config.yaml", "log-signatures.yaml"}
    assert len(rendered.pod["volumes"]) == 1


@pytest.mark.parametrize(
    "values", [{}, {"customComponents": []}, {"customComponents": None}, {"logSignatures": None}]
)
def test_without_any_there_is_no_file(values):
    """None is what an older release knows nothing of, with `--reuse-values`."""
    rendered = render(values)
    assert not any(flag.startswith("--config") for flag in rendered.flags)
    assert rendered.of("ConfigMap") == []
    assert "volumes" not in rendered.pod
    assert "annotations" not in rendered.deployment["spec"]["template"]["metadata"]


def granted(values):
    return [
        (group, resource, verb)
        for rule in render(values).one("ClusterRole")["rules"]
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def test_what_is_read_is_granted_and_nothing_else(tmp_path):
    """Each kind once, also where several declarations or the catalogue itself read it."""
    catalogue = settings(tmp_path, {"custom-components": ENTRIES}).catalogue
    own = {(each.group, each.plural) for each in catalogue.resources if each not in CLUSTER_WIDE}
    anyway = {(each.group, each.plural) for each in CLUSTER_WIDE}
    added = granted(ALL)[:]
    for each in granted({}):
        added.remove(each)
    assert sorted(added) == sorted((*each, verb) for each in own - anyway for verb in VERBS)
    assert own & anyway, "an example reads what a stack reads too"


def test_what_only_a_stack_reads_is_granted_without_it():
    """A condition of InferenceServices is read whether KServe is looked at or not."""
    entry = next(each for each in ENTRIES if each["reason"].startswith("inferenceservice"))
    right = ("serving.kserve.io", "inferenceservices", "list")
    values = {"customComponents": [entry]}
    assert granted(values).count(right) == 1
    assert granted({**values, "stacks.kserve": "off"}).count(right) == 1
    assert granted({"stacks.kserve": "off"}).count(right) == 0


@pytest.mark.parametrize("row", load("custom_right.yaml"), ids=lambda row: row["entry"]["reason"])
def test_what_the_program_takes_the_chart_takes(tmp_path, row):
    entries = [*row.get("beside", []), row["entry"]]
    assert settings(tmp_path, {"custom-components": entries}).custom_components
    assert template({"customComponents": entries}).returncode == 0


def refused_by(entries):
    """Return the part of the chart that refuses the entries."""
    done = template({"customComponents": entries})
    if done.returncode == 0:
        return "nobody"
    assert "customComponents" in done.stderr
    return "schema" if "meet the specifications of the schema" in done.stderr else "template"


@pytest.mark.long
def test_what_the_program_refuses_the_chart_refuses():
    """The schema and the template refuse what they can; the program refuses the rest at start."""
    found = [(row, refused_by(row["entries"])) for row in WRONG]
    assert [(row, by) for row, by in found if by != row.get("chart", "schema")] == []


NAME = ENTRIES[0]["reason"]


@pytest.mark.parametrize(
    "values",
    [
        {"grace": {NAME: 5}, "disableReasons": [NAME, "clusterBBRNotReady"]},
        {"grace": {"clusterBBRNotReady": 5}},
    ],
)
def test_reasons_of_the_values_may_be_named(values):
    assert template({**ALL, **values}).returncode == 0


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"disableReasons": [NAME]}, f"disableReasons names {NAME}, which is not a reason"),
        ({"disableReasons": ["clusterBBRDown"]}, "reason; did you mean clusterBBRNotReady?"),
        ({"disableReasons": ["inferencesetEppNotRedy"]}, "did you mean inferencesetEPPNotReady?"),
        ({"disableReasons": ["zz"]}, "disableReasons names zz, which is not a reason\n"),
        ({"grace": {NAME: 5}}, "does not match"),
        (
            {**ALL, "disableReasons": ["clusterVectorStoreNotRedy"]},
            "disableReasons names clusterVectorStoreNotRedy, which is not a reason",
        ),
        ({**ALL, "grace": {"clusterVectorStoreNotRedy": 5}}, "grace names clusterVectorStoreNotRedy, which is not a reason"),
        ({**ALL, "disableReasons": ["nodeNotReady"]}, "did you mean clusterNodeNotReady?"),
        (
            {**ALL, "extraArgs": ["--config=/mine.yaml"]},
            "extraArgs has --config=/mine.yaml, and customComponents use a file of --config too",
        ),
        (
            {"customComponents": [{**ENTRIES[0], "after": "clusterBBRNotRedy"}]},
            f"customComponents[0].after ({NAME}) is clusterBBRNotRedy, which is not another reason",
        ),
        (
            {"customComponents": [{**ENTRIES[0], "suppresses": [NAME]}]},
            f"customComponents[0].suppresses ({NAME}) names {NAME}, which is not another reason",
        ),
        (
            {"customComponents": [*ENTRIES[:1], *ENTRIES[:1]]},
            f"customComponents[1].reason is {NAME}, which is taken: choose another name",
        ),
    ],
)  # fmt: skip
def test_names_that_are_not_there(values, says):
    done = template(values)
    assert done.returncode != 0
    assert says in done.stderr


@pytest.mark.parametrize("entries", [[], ENTRIES])
def test_the_alert_says_where_reasons_are_explained(entries):
    """`explain` knows the reasons in the values only with the file."""
    values = {"serviceMonitor.enabled": True, "prometheusRule.enabled": True}
    rendered = render({"customComponents": entries, **values})
    group, *_ = rendered.one("PrometheusRule")["spec"]["groups"]
    said = [
        rule["annotations"]["description"] for rule in group["rules"] if "Cause" in rule["alert"]
    ]
    assert said
    assert all("status-reporter explain {{ $labels.reason }}" in each for each in said)
    assert {f"with --config {FOLDER}/config.yaml" in each for each in said} == {bool(entries)}


def test_the_parent_chart_hands_them_on(umbrella):
    """Under the name of the subchart, as all its values."""
    rendered = render(
        {f"{REPORTER.name}.{key}": value for key, value in ALL.items()}, chart=umbrella
    )
    own = render(ALL).one("ConfigMap")["data"]
    assert rendered.one("ConfigMap")["data"] == own


def test_the_names_in_the_chart_are_those_of_the_catalogue():
    """`make docs` renders them again."""
    assert (REPORTER / "files" / "reasons.yaml").read_text() == reason_names(BUILT_IN)
