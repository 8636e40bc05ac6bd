"""`check --with`: what manifests would bring, before they are applied."""

import json

import pytest

RANGE = """
apiVersion: kaito.sh/v1beta1
kind: InferenceSet
metadata:
  name: phi-4-mini
  namespace: chat-models
  annotations:
    scaledobject.kaito.sh/auto-provision: "true"
    scaledobject.kaito.sh/min-replicas: "5"
    scaledobject.kaito.sh/max-replicas: "3"
"""
NO_CLASS = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: chat-models-gw, namespace: chat-models}
spec: {gatewayClassName: istoi}
"""
NO_GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: phi-4-mini-route, namespace: chat-models}
spec: {parentRefs: [{name: chat-models-gatewya}]}
"""
TO_ZERO = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: kaito-workspace, namespace: kaito-system}
spec: {replicas: 0}
"""


@pytest.fixture(name="ask")
def _ask(run, tmp_path):
    """What `check` says of a dump with manifests: exit status, and the report."""

    def ask(dump, text, *flags):
        path = tmp_path / "new.yaml"
        path.write_text(text)
        status, out, err = run("check", dump, "--with", path, "-o", "json", *flags)
        assert err == ""
        return status, json.loads(out)

    return ask


def dispositions(report):
    return {(each["reason"], each["subject"]): each["disposition"] for each in report["findings"]}


@pytest.mark.parametrize(
    ("text", "reason", "subject", "says"),
    [
        (RANGE, "inferencesetScalingMisconfigured", "inferenceset/chat-models/phi-4-mini", "max-replicas 3 is below min-replicas 5"),
        (NO_CLASS, "modelharnessGatewayClassMissing", "namespace/chat-models", "has the class istoi, which does not exist"),
        (NO_GATEWAY, "inferencesetRouteNotReady", "inferenceset/chat-models/phi-4-mini", "chat-models-gatewya does not exist"),
        (TO_ZERO, "clusterKaitoControllerNotReady", "cluster", "scaled to zero"),
    ],
)  # fmt: skip
def test_what_no_controller_can_mend_fires_at_once(ask, healthy, text, reason, *, subject, says):
    """A reference that leads nowhere, and a range that is none, are told before they are applied."""
    status, report = ask(healthy, text)
    assert status == 1
    assert dispositions(report)[reason, subject] == "firing"
    assert any(says in each["message"] for each in report["findings"])
    assert subject not in {each["subject"] for each in report["ready"]}


def test_what_waits_for_a_controller_is_pending(ask, healthy):
    """A status of before says nothing of more replicas; the model is neither ready nor at fault."""
    more = "apiVersion: kaito.sh/v1beta1\nkind: InferenceSet\n"
    more += "metadata: {name: mistral-7b, namespace: search-models}\nspec: {replicas: 4}\n"
    status, report = ask(healthy, more)
    assert status == 0
    subject = "inferenceset/search-models/mistral-7b"
    assert dispositions(report) == {("inferencesetModelPodsNotReady", subject): "pending"}
    assert {each["subject"]: each["state"] for each in report["subjects"]}[subject] == "unknown"


def test_a_model_that_is_new_starts(ask, healthy):
    new = "apiVersion: kaito.sh/v1beta1\nkind: InferenceSet\n"
    new += "metadata: {name: new, namespace: chat-models}\nspec: {replicas: 2}\n"
    status, report = ask(healthy, new)
    assert status == 0
    assert set(dispositions(report).values()) == {"pending"}


def test_a_repair_is_seen(ask, broken):
    _, report = ask(broken, RANGE.replace('"3"', '"7"'))
    reasons = {each["reason"] for each in report["findings"]}
    assert "inferencesetScalingMisconfigured" not in reasons


def test_what_it_brings_and_takes_away_is_said(run, healthy, broken, tmp_path):
    path = tmp_path / "new.yaml"
    path.write_text(RANGE)
    out = " ".join(run("check", healthy, "--with", path)[1].split())
    brings = "inferencesetScalingMisconfigured of inferenceset/chat-models/phi-4-mini (firing)"
    assert f"This brings {brings}." in out
    path.write_text(RANGE.replace('"3"', '"7"'))
    out = " ".join(run("check", broken, "--with", path)[1].split())
    gone = "inferencesetScalingMisconfigured of inferenceset/chat-models/phi-4-mini."
    assert f"This ends {gone}" in out
    path.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: new}\n")
    out = " ".join(run("check", broken, "--with", path)[1].split())
    assert "This brings no finding and ends none." in out


def test_a_file_that_cannot_be_read_is_no_green_light(run, healthy, tmp_path):
    path = tmp_path / "new.yaml"
    path.write_text("a: [")
    for name in (path, tmp_path / "missing.yaml"):
        status, out, err = run("check", healthy, "--with", name)
        assert (status, out) == (2, "")
        assert "--with: " in err
    status, _, err = run("check", "-", "--with", "-")
    assert status == 2
    assert "standard input can be read only once" in err
