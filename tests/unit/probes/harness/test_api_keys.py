"""API keys that their operator refused."""

import pytest

from reporter.catalogue.resources import APIKEYS
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_harness
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    document,
    namespace,
    snapshot_of,
)

REASON = "modelharnessAPIKeyReconcileFailed"
REFUSED = condition("Ready", "False", "SecretExists", "Secret llm-api-key is not ours")
READY = condition("Ready", "True", "Reconciled")


def key(*patches, phase=None, conditions=()):
    status = {"status": {"phase": phase, "conditions": list(conditions)}}
    return document("APIKey", "default", "my-models", status, *patches)


def probe(*docs, **options):
    snapshot = snapshot_of(namespace("my-models", managed=True), *docs, **options)
    evaluation = evaluate_harness(snapshot, FullEvaluationSettings())
    return [each for each in evaluation.findings if each.reason == REASON]


def test_refused():
    """Ready=False with the operator's own words."""
    (finding,) = probe(key(phase="Pending", conditions=[REFUSED]))
    assert str(finding.related) == "APIKey my-models/default"
    assert finding.message == (
        "APIKey my-models/default was not reconciled: SecretExists: Secret llm-api-key is not ours"
    )
    assert finding.cause == "SecretExists"
    assert (finding.transition, finding.created) == (SINCE_AT, CREATED_AT)


def test_expired():
    """An expired key refuses its users, whatever Ready says; the text tells it."""
    (finding,) = probe(key(phase="Expired", conditions=[READY]))
    assert (finding.cause, finding.transition) == ("expired", None)
    (finding,) = probe(key(phase="Expired", conditions=[REFUSED]))
    assert "(phase Expired)" in finding.message


def test_pending():
    """The fallback where the operator sets no Ready: its age is that of the key."""
    (finding,) = probe(key(phase="Pending"))
    assert (finding.cause, finding.transition) == ("Pending", None)
    assert finding.created == CREATED_AT


SILENT = {
    "active": key(phase="Active", conditions=[READY]),
    "active without conditions": key(phase="Active"),
    "no conditions yet": key(),
    "not judged yet": key(conditions=[condition("Ready", "Unknown")]),
    "ready with a phase that is late": key(phase="Pending", conditions=[READY]),
    "being deleted": key(DELETING, phase="Expired", conditions=[REFUSED]),
    "elsewhere": key({"metadata": {"namespace": "other"}}, conditions=[REFUSED]),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """A key that works, is young, on its way out, or in no workload namespace."""
    assert probe(SILENT[name]) == []


def test_unknown():
    assert probe(key(conditions=[REFUSED]), unknown={APIKEYS: FORBIDDEN}) == []


def test_key_material_is_redacted():
    """A condition that quotes a key does not carry it into an Event."""
    text = "duplicate of sk-abcdefghijklmnopqrst"
    (finding,) = probe(key(conditions=[condition("Ready", "False", "Duplicate", text)]))
    assert "abcdefghijklmnopqrst" not in finding.message
