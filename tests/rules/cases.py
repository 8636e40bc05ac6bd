"""The cases of `cases.yaml` as promtool reads them, over the rules that the chart renders."""

import re
from functools import cache
from pathlib import Path

import yaml

from tests.helm.charts import NAMESPACE, Document, render

_HERE = Path(__file__).parent
CASES = yaml.load((_HERE / "cases.yaml").read_text(), yaml.BaseLoader)  # `0x9` is no number
SERVED = yaml.load((_HERE / "served.yaml").read_text(), yaml.BaseLoader)

VALUES = {
    "serviceMonitor.enabled": True,
    "prometheusRule.enabled": True,
    "prometheusRule.runbookUrl": "https://docs.example/alerts",
    "prometheusRule.docsUrl": "https://docs.example/",
    "modelServing.status": "full",
    "mirrorToWorkload": True,
    "prometheusRule.objective.enabled": True,
    "alertmanager.urls": ["http://alertmanager.monitoring:9093"],
    "disableReasons": ["clusterBBRNotReady"],
}
"""Renders every rule that there is."""

_JOB = "prod-status-reporter-metrics"
_SERIES = re.compile(r"(\w+)(?:\{(.*)\})?")


@cache
def rendered() -> dict[str, object]:
    """Return the groups of rules."""
    return {"groups": render(VALUES).one("PrometheusRule")["spec"]["groups"]}


def alerts() -> dict[str, Document]:
    """Return the rules by name."""
    rules = (rule for group in rendered()["groups"] for rule in group["rules"])
    return {rule["alert"]: rule for rule in rules if "alert" in rule}


def unit_tests(rules: str) -> dict[str, object]:
    """Return all cases as one file of tests of a file of rules."""
    by_name = alerts()
    return {
        "rule_files": [rules],
        "evaluation_interval": "1m",
        "group_eval_order": _groups(),
        "tests": [
            *(_test(case, by_name[case["alert"]]) for case in CASES),
            *(_records(case) for case in SERVED if case["interval"] == "1m"),
        ],
    }


def hourly_tests(rules: str) -> dict[str, object]:
    """Return the cases of what is long: promtool evaluates each group at one interval, whatever its own."""
    return {
        "rule_files": [rules],
        "evaluation_interval": "1h",
        "group_eval_order": _groups(),
        "tests": [_records(case) for case in SERVED if case["interval"] == "1h"],
    }


def _groups() -> list[str]:
    """Return the groups in their order: what others read is recorded first."""
    return [group["name"] for group in rendered()["groups"]]


def _records(case: Document) -> Document:
    """Return a case of what is recorded: at a moment the value of each series of an expression."""
    return {
        "name": case["case"],
        "interval": case["interval"],
        "input_series": [
            {"series": _series(name), "values": values} for name, values in case["series"].items()
        ],
        "promql_expr_test": [
            {
                "expr": expression,
                "eval_time": at,
                "exp_samples": [
                    {"labels": labels, "value": float(value)} for labels, value in found.items()
                ],
            }
            for at, expressions in case["at"].items()
            for expression, found in expressions.items()
        ],
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
    known = {f"$labels.{name}": value for name, value in labels.items()}
    known["$value"] = expected.get("value", "")
    texts = {name: filled(text, known) for name, text in rule["annotations"].items()}
    return {
        "exp_labels": {**labels, **rule["labels"]},
        "exp_annotations": {**texts, "summary": expected["summary"]},
    }


def filled(text: str, known: dict[str, str]) -> str:
    """Return a text of an alert as Prometheus shows it, by what it knows of `$value` and `$labels`."""
    return re.sub(r"\{\{ (.*?) \}\}", lambda match: _piped(match[1], known), text)


def _piped(expression: str, known: dict[str, str]) -> str:
    """Return what Prometheus makes of a value and the functions behind it."""
    name, *functions = expression.split(" | ")
    value = known.get(name, "")
    for function in functions:
        match function.split():
            case ["toLower"]:
                value = value.lower()
            case ["reReplaceAll", pattern, replacement]:
                value = re.sub(pattern.strip('"'), replacement.strip('"'), value)
    return value
