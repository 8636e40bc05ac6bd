"""The recipes of docs/alerts.md, and what they are tried with."""

import re
from pathlib import Path

import yaml

FOLDER = Path(__file__).parents[2] / "examples" / "alert-routing"
ALERTMANAGER = FOLDER / "alertmanager.yaml"
EVENT_EXPORTER = FOLDER / "event-exporter.yaml"
ROUTES = yaml.safe_load((Path(__file__).parent / "routes.yaml").read_text())
_MATCHER = re.compile(r'(?P<label>\w+) (?P<operator>=~|=) "(?P<value>[^"]*)"')


def matches(matchers: list[str], labels: dict[str, str]) -> bool:
    """Tell whether all matchers of Alertmanager hold for an alert; a pattern is for the whole value."""
    return all(_matches(_MATCHER.fullmatch(each), labels) for each in matchers)


def _matches(matcher: re.Match[str], labels: dict[str, str]) -> bool:
    value = labels.get(matcher["label"], "")
    if matcher["operator"] == "=":
        return value == matcher["value"]
    return re.fullmatch(matcher["value"], value) is not None
