"""The cases of `cases.yaml` as promtool reads them, over the rules that the chart renders."""

import re
from pathlib import Path

import yaml

from tests.helm.charts import NAMESPACE, Document, render

CASES = yaml.load(
    (Path(__file__).parent / "cases.yaml").read_text(), yaml.BaseLoader
)  # all text: `0x9` is no number

VALUES = {
    "serviceMonitor.enabled": True,
    "prometheusRule.enabled": True,
    "prometheusRule.runbookUrl": "https://docs.example/alerts",
    "modelServing.status": "full",
    "mirrorToWorkload": True,
    "disableReasons": ["clusterBBRNotReady"],
}
"""Renders every rule that there is."""

_JOB = "prod-status-reporter-metrics"
_SERIES = re.compile(r"(\w+)(?:\{(.*)\})?")


def rendered() -> dict[str, object]:
    """Return the groups of rules."""
    return render(VALUES).one("PrometheusRule")["spec"]


def alerts() -> dict[str, Document]:
    """Return the rules by name."""
    return {rule["alert"]: rule for group in rendered()["groups"] for rule in group["rules"]}


def unit_tests(rules: str) -> dict[str, object]:
    """Return all cases as one file of tests of a file of rules."""
    by_name = alerts()
    return {
        "rule_files": [rules],
        "evaluation_interval": "1m",
        "tests": [_test(case, by_name[case["alert"]]) for case in CASES],
    }


def _test(case: Document, rule: Document) -> Document:
    return {
        "name": f"{case['alert']}: {case['case']}",
        "interval": "1m",
        "input_series": [
            {"series": _series(name), "values": values} for name, values in case["series"].items()
        ],
        "alert_rule_test": [
            {
                "alertname": case["alert"],
                "eval_time": at,
                "exp_alerts": [_alert(each, rule) for each in fires],
            }
            for at, fires in case["at"].items()
        ],
    }


def _series(text: str) -> str:
    """Return a series with its labels and those that Prometheus gives it."""
    name, labels = _SERIES.fullmatch(text).groups()
    given = f'namespace="{NAMESPACE}", job="{_JOB}"'
    return f"status_reporter_{name}{{{', '.join(filter(None, (given, labels)))}}}"


def _alert(expected: Document, rule: Document) -> Document:
    """Return an alert that must fire: its summary is the case's, the rest of its texts the rule's."""
    labels = {str(key): str(value) for key, value in expected.get("labels", {}).items()}
    if "pod" in labels:
        kept = {"namespace": NAMESPACE, "job": _JOB} if expected.get("series") != "false" else {}
        labels |= kept
    texts = {name: _filled(text, labels) for name, text in rule["annotations"].items()}
    return {
        "exp_labels": {**labels, **rule["labels"]},
        "exp_annotations": {**texts, "summary": expected["summary"]},
    }


def _filled(text: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: labels[match[1]], text)
