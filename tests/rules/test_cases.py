"""The cases are complete. That they hold is for `make rules`, as promtool is not Python."""

import pytest

from tests.rules.cases import CASES, alerts, unit_tests
from tests.rules.tool import NoPromtoolError, promtool

ALERTS = alerts()


def test_each_alert_is_seen_firing_and_silent():
    """A case in which it only ever fires, or never, says little of its expression."""
    seen = {
        name: {
            bool(fires) for case in CASES if case["alert"] == name for fires in case["at"].values()
        }
        for name in ALERTS
    }
    assert {name: states for name, states in seen.items() if states != {True, False}} == {}


def test_every_case_is_of_an_alert_that_there_is():
    """Promtool takes an alert that does not exist for one that is silent."""
    assert {case["alert"] for case in CASES} == ALERTS.keys()


def test_a_summary_is_expected_as_it_is_read():
    """With the values of the moment, as text."""
    tests = unit_tests("rules.yaml")["tests"]
    expected = [
        alert["exp_annotations"]
        for test in tests
        for moment in test.get("alert_rule_test", ())
        for alert in moment["exp_alerts"]
    ]
    assert expected
    assert not any("{{" in text for texts in expected for text in texts.values())


def test_a_promtool_that_is_named_and_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("PROMTOOL", "/nowhere/promtool")
    with pytest.raises(NoPromtoolError, match="name one, or unset it"):
        promtool()
