"""The dashboard is one that Grafana can show, and a ConfigMap that its sidecar collects."""

import json
import re

from reporter.model.report import ServingState
from tests.helm.charts import NAMESPACE, render
from tests.helm.dashboard import FILE, expressions

ON = {"dashboard.enabled": True}
DASHBOARD = json.loads(FILE.read_text())


def test_the_config_map_holds_the_file_and_the_label_of_the_sidecar():
    """Byte for byte what can be imported by hand."""
    rendered = render(ON).one("ConfigMap", "-dashboard")
    assert rendered["metadata"]["namespace"] == NAMESPACE
    assert rendered["metadata"]["labels"]["grafana_dashboard"] == "1"
    ((name, text),) = rendered["data"].items()
    assert name == "prod-status-reporter.stack.json"
    assert json.loads(text) == DASHBOARD


def test_the_labels_are_those_of_the_sidecar_at_hand():
    """Not every Grafana is of the same chart."""
    values = ON | {"dashboard.labels": {"grafana_dashboard": None, "team": "models"}}
    labels = render(values).one("ConfigMap", "-dashboard")["metadata"]["labels"]
    assert labels["team"] == "models"
    assert "grafana_dashboard" not in labels


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    """Grafana would show one on top of the other."""
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


def test_each_state_of_a_model_has_a_number_and_a_word():
    """The states over time are drawn by them."""
    (panel,) = (each for each in DASHBOARD["panels"] if each["type"] == "state-timeline")
    drawn = re.findall(r'(\d) \* status_reporter_subject_state\{[^}]*state="([^"]*)"\}', str(panel))
    assert {state for _, state in drawn} == set(ServingState)
    (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
    assert mapping["options"].keys() == {number for number, _ in drawn}


def test_a_panel_says_what_it_shows():
    """In words, and from the data source that is chosen."""
    panels = [each for each in DASHBOARD["panels"] if each["type"] != "row"]
    assert [
        each["title"]
        for each in panels
        if not each["description"].endswith(".")
        or each["datasource"]["uid"] != "${datasource}"
        or not each["targets"]
    ] == []
    assert len({each["title"] for each in panels}) == len(panels) > 0


def test_every_expression_is_about_the_release_that_is_chosen():
    """Two releases on one Prometheus do not mix."""
    for title, expression in expressions():
        named = len(re.findall(r"status_reporter[_:]", expression))
        assert named, title
        assert len(re.findall(rf'(namespace|reporter)="{NAMESPACE}["/]', expression)) == named, (
            title
        )
        assert "$" not in expression, title
