import json

import pytest

from reporter.catalogue.reasons import REASONS


def test_without_a_reason_all_are_listed(run):
    """One line for each reason, under its layer."""
    status, out, _ = run("explain")
    assert status == 0
    for reason in REASONS:
        assert f"  {reason.name} " in out
        assert reason.summary in out


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.name)
def test_each_reason_says_what_to_do(run, reason):
    """Meaning, trigger and action of every reason are shown, within 100 columns."""
    status, out, _ = run("explain", reason.name)
    assert status == 0
    flowing = " ".join(out.split())
    for text in (reason.summary, reason.trigger, reason.action):
        assert " ".join(text.split()) in flowing
    assert max(map(len, out.splitlines())) <= 100


def test_letter_case_does_not_matter(run):
    """A reason typed by hand is found."""
    assert run("explain", "CLUSTERREADY")[1] == run("explain", "clusterReady")[1]


def test_suppression_is_told_from_both_sides(run):
    """The upstream names what it suppresses, the downstream why it is suppressed."""
    upstream = " ".join(run("explain", "clusterIstioControlPlaneNotReady")[1].split())
    assert "Suppresses: modelharnessGatewayClassMissing" in upstream
    downstream = " ".join(run("explain", "modelharnessGatewayClassMissing")[1].split())
    assert "Suppressed by: clusterIstioControlPlaneNotReady, because istiod writes" in downstream


def test_json(run):
    """`-o json` is one object for a reason, a list for all."""
    one = json.loads(run("explain", "inferencesetInfraProvisioningFailed", "-o", "json")[1])
    assert one["graceSeconds"] == 180
    assert "clusterKaitoControllerNotReady" in [each["reason"] for each in one["suppressedBy"]]
    every = json.loads(run("explain", "-o", "json")[1])
    assert [each["reason"] for each in every] == [reason.name for reason in REASONS]
