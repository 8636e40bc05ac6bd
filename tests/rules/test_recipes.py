"""The recipes of docs/alerts.md fit what there is. That they route is for `make rules`, by amtool."""

import re

import pytest
import yaml

from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE
from reporter.model.finding import FindingKey
from reporter.model.subject import CLUSTER, Layer, ObjectRef, Subject
from reporter.sinks.alerts import labels_of
from reporter.stacks import BUILT_IN
from tests.rules.cases import CASES, alerts
from tests.rules.recipes import ALERTMANAGER, EVENT_EXPORTER, ROUTES, matches
from tests.tables import BY_NAME

ALERTS = alerts()
CONFIG = yaml.safe_load(ALERTMANAGER.read_text())
FIRED = [
    {"alertname": case["alert"], **each.get("labels", {}), **ALERTS[case["alert"]]["labels"]}
    for case in CASES
    for fires in case["at"].values()
    for each in fires
]
"""Alerts as they fire in the cases of the rules, with all of their labels."""


def sent(reason, severity):
    """Return the labels of an alert that the reporter sends itself."""
    row = BUILT_IN[reason]
    subject = (
        CLUSTER if row.layer is Layer.CLUSTER else Subject(row.subject_kind, "chat-models", "a")
    )
    involved = ObjectRef("v1", "Namespace", "", subject.namespace or "kaito-system")
    key = FindingKey(reason, subject, involved)
    return dict(labels_of(key, severity, BUILT_IN, cluster=""))


SENT = [
    sent(row["labels"]["reason"], row["labels"]["severity"])
    for row in ROUTES
    if "source" in row["labels"]
]
"""What the reporter sends itself of what is routed."""


def test_what_is_routed_are_alerts_as_they_fire():
    """With the labels and the severity that the chart gives them."""
    for row in ROUTES:
        labels = row["labels"]
        of_same_name = [each for each in FIRED + SENT if each["alertname"] == labels["alertname"]]
        assert of_same_name, labels
        severities = {each["severity"] for each in of_same_name}
        assert labels["severity"] in severities
        routed_by = labels.keys() & {"layer", "reason", "source", "subject"}
        assert all(routed_by <= each.keys() for each in of_same_name), labels


def test_every_receiver_has_something_sent_to_it():
    """A receiver that nothing is routed to is a typing error."""
    receivers = {each["name"] for each in CONFIG["receivers"]}
    assert {row["to"] for row in ROUTES} == receivers


def test_a_cause_that_is_sent_is_not_told_by_its_metric_too():
    """Each alert of a cause by metric, while ours has the same labels to compare by; none about the reporter itself."""
    rule, *_ = CONFIG["inhibit_rules"]
    causes = [each for each in FIRED if "reason" in each]
    dropped = [each for each in FIRED if matches(rule["target_matchers"], each)]
    assert [each for each in causes if each not in dropped and each.get("subject")] == []
    assert all("Cause" in each["alertname"] for each in dropped)
    for each in dropped:
        ours = sent(each["reason"], each["severity"])
        assert matches(rule["source_matchers"], ours)
        assert ours.keys() >= set(rule["equal"]) - {"cluster"}


@pytest.mark.parametrize("rule", CONFIG["inhibit_rules"], ids=str)
def test_an_inhibition_has_a_source_that_fires_with_the_labels_that_must_be_equal(rule):
    """Alertmanager takes labels that are missing on both sides for equal."""
    sources = [each for each in FIRED + SENT if matches(rule["source_matchers"], each)]
    assert sources
    equal = set(rule.get("equal", ())) - {"cluster"}
    assert all(each.get(label) for each in sources for label in equal)


def test_what_cannot_be_read_is_told_once():
    """By the alert about the resource, not by the one about the reason too."""
    _, rule, _ = CONFIG["inhibit_rules"]
    targets = [each for each in FIRED if matches(rule["target_matchers"], each)]
    assert {each["reason"] for each in targets} == {"clusterStatusUnknown"}


def test_nothing_of_ours_inhibits_another_cause_of_ours():
    """A symptom does not fire in the first place."""
    ours = [
        [each for each in SENT if matches(rule["target_matchers"], each)]
        for rule in CONFIG["inhibit_rules"]
    ]
    assert ours == [[], [], []]
    *_, rule = CONFIG["inhibit_rules"]
    assert [each for each in FIRED if matches(rule["target_matchers"], each)] == []


def test_the_exporter_takes_our_events_by_their_component_once():
    """Mirrors have the same one, in the namespaces of models."""
    config = yaml.safe_load(EVENT_EXPORTER.read_text())
    rules = [rule for route in config["route"]["routes"] for rule in route["match"]]
    assert {rule["component"] for rule in rules} == {f"^{COMPONENT}$"}
    assert {rule["namespace"] for rule in rules} == {f"^{EVENT_NAMESPACE}$"}
    assert {rule["receiver"] for rule in rules} == {each["name"] for each in config["receivers"]}
    patterns = [rule["reason"] for rule in rules if "reason" in rule]
    assert all(any(re.search(each, name) for name in BY_NAME) for each in patterns)
