"""Where each value ends up, and what is refused."""

import re

import pytest
import yaml

from tests.helm.charts import REPORTER, lint, load, render, template
from tests.tables import of_inferencesets as t

ROWS = load("rendered.yaml")
REFUSED = load("refused.yaml")


def at(document: object, path: str | list[str]) -> object:
    """Return what stands at a path, None if nothing does."""
    for part in path.split(".") if isinstance(path, str) else path:
        if isinstance(document, list):
            document = document[int(part)]
        elif isinstance(document, dict):
            document = document.get(part)
        else:
            return None
    return document


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['values']} {row['in']} {row['at']}")
def test_a_value_ends_up_in_its_field(row):
    """What the README promises is what the API server gets."""
    assert at(render(row["values"]).one(row["in"]), row["at"]) == row["is"]


def together(rows):
    """Put rows together whose values do not meet: helm names all that a schema refuses at once."""
    batches = []
    for row in rows:
        keys = {key.partition(".")[0] for key in row["values"]}
        for batch in batches:
            if batch["keys"].isdisjoint(keys):
                break
        else:
            batches.append(batch := {"keys": set(), "values": {}, "rows": []})
        batch["keys"] |= keys
        batch["values"] |= row["values"]
        batch["rows"].append(row)
    return batches


def taken(rows, call):
    """Return the rows that are not refused by their name: not together, and not alone either."""
    left = []
    for batch in together(rows):
        done = call(batch["values"])
        said = done.stdout + done.stderr
        left += [row for row in batch["rows"] if done.returncode == 0 or row["says"] not in said]
    tried = [(row, call(row["values"])) for row in left]
    return [
        row
        for row, done in tried
        if done.returncode == 0 or row["says"] not in done.stdout + done.stderr
    ]


@pytest.mark.parametrize("call", [lint, template])
def test_a_wrong_value_is_refused_and_its_key_is_named(call):
    """A typo is found before it reaches the cluster, without running lint."""
    assert taken(REFUSED, call) == []


def test_a_row_that_is_not_refused_would_be_found():
    """Also beside those that are."""
    fine = {"values": {"replicas": 3}, "says": "replicas"}
    assert taken([*REFUSED[:3], fine], template) == [fine]


def test_every_object_of_the_schema_is_closed():
    """An unknown key is refused at every level, but for labels, what Kubernetes defines, and the files
    of dialects, which the program reads strictly."""
    schema = yaml.safe_load((REPORTER / "values.schema.json").read_text())
    open_ones = {
        path
        for path, node in walk(schema)
        if node.get("type") == "object" and "additionalProperties" not in node
    }
    assert open_ones == {
        "global",
        "dialects[]",
        "dialects[].kind",
        "extraEnv[].valueFrom",
        "affinity",
        "tolerations[]",
        "topologySpreadConstraints[]",
    }


def walk(node, path=""):
    yield path, node
    for key, each in node.get("properties", {}).items():
        yield from walk(each, f"{path}.{key}".lstrip("."))
    if isinstance(node.get("items"), dict):
        yield from walk(node["items"], f"{path}[]")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        *(
            (
                {"reportService.enabled": True, "reportBindAddress": address},
                f"reportBindAddress is {address}: a Service needs an address that other pods reach",
            )
            for address in ("127.0.0.1:8082", "localhost:1", "[::1]:8082", "0")
        ),
        (
            {"controlPlane.weightDownload.windowSeconds": 86400, "scrape.via": "apiserver-proxy"},
            "scrape.intervalSeconds is 60: it must be 87 or more",
        ),
        (
            {
                "runtime.thresholds": {"stalled-without-demand-seconds": 9990.5},
                "scrape.intervalSeconds": 10,
            },
            "scrape.intervalSeconds is 10: it must be 11 or more",
        ),
        (
            {"grace": {"inferencesetEngineStalled": 20000}},
            "scrape.intervalSeconds is 15: it must be 21 or more, because the longest window is 20000 s",
        ),
        (
            {"grace": {"inferencesetWeightDownloadSlow": 20000}},
            "scrape.intervalSeconds is 15: it must be 21 or more, because the longest window is 20000 s",
        ),
        (
            {"serviceMonitor.enabled": True, "serviceMonitor.interval": "5s"},
            "serviceMonitor.scrapeTimeout is 10s: it must not be more than interval, which is 5s",
        ),
        (
            {"controlPlane.weightDownload.metricPort": 8000, "scrape.port": 9000},
            "metricPort is 8000 and scrape.port is 9000: they are two names of one port",
        ),
        ({"changeWindowSeconds": 0}, "changeWindowSeconds is gone: changes of the last 30 minutes"),
        ({"budgets": {"nodeBootSeconds": 900}}, "budgets is gone: use grace, with node-boot"),
        ({"runtime.windows": {}}, "runtime.windows is gone: use grace"),
        ({"scrape.selector": "app"}, "scrape.selector is gone: pods are found by the label"),
        ({"controlPlane.kthenaNamespace": ["a"]}, "controlPlane.kthenaNamespace is gone: use components.kthena"),
        ({"controlPlane.lwsDeployment": ""}, "controlPlane.lwsDeployment is gone: use components.lws"),
        (
            {"modelServing.status": "roles", "stacks.kthena": "off"},
            "modelServing.status is roles and stacks.kthena is off: no ModelServing is looked at",
        ),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_together_are_not_installed(values, says):
    """A schema cannot compare values; the template does, with the program's own rule."""
    rendered = template(values)
    assert rendered.returncode != 0
    assert says in rendered.stderr


def test_former_values_reach_the_check_that_says_what_to_use():
    """The schema would only say that they are not allowed."""
    schema = yaml.safe_load((REPORTER / "values.schema.json").read_text())
    for path in yaml.safe_load((REPORTER / "files" / "gone.yaml").read_text()):
        *parents, key = path.split(".")
        node = schema
        for parent in parents:
            node = node["properties"][parent]
        assert key not in node["properties"]
        assert any(re.fullmatch(pattern, key) for pattern in node["patternProperties"]), path


@pytest.mark.parametrize(
    "values",
    [
        # Neither has a window.
        {"grace": {"clusterBBRNotReady": 86400, "model-startup": 86400}},
        {"serviceMonitor.enabled": True, "serviceMonitor.interval": "1m30s"},
        {"serviceMonitor.enabled": True, "serviceMonitor.interval": "1m", "serviceMonitor.scrapeTimeout": "60000ms"},
        {"image.repository": "registry.example:5000/a_b/status-reporter"},
        {"controlPlane.istiodDeployment": "istiod.v1-a"},
    ],
)  # fmt: skip
def test_values_that_look_alike_are_installed(values):
    """The chart refuses only what would fail later."""
    done = template(values)
    assert done.returncode == 0, done.stderr


def test_the_chart_knows_whose_grace_is_a_window():
    """The program takes such a grace into account, so the chart's check of the interval does too."""
    listed = yaml.safe_load((REPORTER / "files" / "windowed-reasons.yaml").read_text())
    assert listed == [t.DOWNLOAD_STALLED, *t.RUNTIME_NAMES]


@pytest.mark.parametrize("values", [{"global": {"anything": 1}}, {"enabled": True}])
def test_what_helm_gives_a_subchart_is_allowed(values):
    """The parent's globals and its switch arrive among the subchart's values."""
    assert lint(values).returncode == 0
