"""Names and settings that do not work."""

import pytest

from reporter.stacks.otterscale.manifests.names import OperatorSettings
from tests.unit.probes.building import DELETING, merged
from tests.unit.stacks.otterscale.probes.otterscale import (
    children,
    evaluation,
    found,
    healthy,
    modelservice,
)


def told(docs, name, ns="models"):
    """What is told of names and settings, by reason."""
    findings = evaluation(docs, name=name, ns=ns).findings
    wanted = ("modelserviceInvalid", "modelserviceMisconfigured")
    return {
        each.reason.removeprefix("modelservice"): each.message
        for each in findings
        if each.reason in wanted
    }


def pair(one, other, ns=("models", "models"), **spec):
    return [modelservice(name=one, ns=ns[0], **spec), modelservice(name=other, ns=ns[1], **spec)]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("x" * 63, "endpoint picker " + "x" * 63 + "-epp would have 67 characters"),
        ("x" * 60, "would have 64 characters"),
        ("0" + "x" * 57, "would have 64 characters"),
        ("x" * 64, "its name has 64 characters, and labels hold 63 at most"),
        ("a." + "x" * 200, "its name has 202 characters"),
        ("x" * 59, None),
        ("x" * 54 + "...." + "x" * 4, None),
    ],
)
def test_length(name, part):
    messages = told([modelservice(name=name)], name)
    assert (part is None and messages == {}) or part in messages["Invalid"]


SAME = [("a.b", "a-b"), ("a-b", "a--b"), ("a.b", "a--b"), ("7b", "m-7b")]


@pytest.mark.parametrize(("one", "other"), [*SAME, *(each[::-1] for each in SAME)])
def test_two_with_the_same_endpoint_picker(one, other):
    docs = pair(one, other)
    assert f"ModelService {other} has the same endpoint picker" in told(docs, one)["Invalid"]


@pytest.mark.parametrize(
    "docs",
    [
        pair("a.b", "a.c"),
        pair("a.b", "a-b", ns=("models", "others")),
        [modelservice(name="a.b"), merged(modelservice(name="a-b"), DELETING)],
    ],
    ids=["other names", "other namespaces", "one that is being deleted"],
)
def test_no_collision(docs):
    assert told(docs, "a.b") == {}


def test_a_pool_that_is_deleted_in_every_pass():
    """A ModelService is called like the endpoint picker of another one: only the first suffers."""
    docs = pair("qwen", "qwen-epp")
    assert told(docs, "qwen") == {}
    message = told(docs, "qwen-epp")["Invalid"]
    assert "deletes InferencePool qwen-epp whenever it reconciles ModelService qwen" in message


def test_many_rivals_are_counted():
    names = ["a.b", "a-b", "a--b", "a---b", "a----b", "a-.b"]
    docs = [modelservice(name=each) for each in names]
    assert "ModelService a----b, a---b, a--b and 2 more" in told(docs, "a.b")["Invalid"]


def test_the_cluster_role_of_two():
    docs = pair("b-c", "c", ns=("a", "a-b"))
    message = told(docs, "b-c", "a")["Misconfigured"]
    assert "ClusterRole a-b-c-epp also belongs to ModelService a-b/c" in message


def test_no_cluster_role_without_a_pool_section():
    docs = pair("b-c", "c", ns=("a", "a-b"), inferencePool=None)
    assert told(docs, "b-c", "a") == {}


def test_no_cluster_role_where_metrics_need_no_token():
    made = children("b-c", "a", OperatorSettings(metrics_endpoint_auth=False))
    assert told([*pair("b-c", "c", ns=("a", "a-b")), *made], "b-c", "a") == {}


def test_two_of_one_namespace_are_told_once():
    """They share the ClusterRole too, and that is the least of it."""
    assert told(pair("a.b", "a-b"), "a.b").keys() == {"Invalid"}


NIXL = [{"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "8000"}]


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"routingProxy": None}, "spec.prefill without spec.routingProxy"),
        ({"routingProxy": {"targetPort": 8000}}, "spec.routingProxy.targetPort is spec.engine.port, 8000"),
        ({"engine": {"port": 8200}}, "spec.routingProxy.targetPort is spec.engine.port, 8200"),
        ({"engine": {"env": NIXL}}, "VLLM_NIXL_SIDE_CHANNEL_PORT is spec.engine.port, 8000"),
        ({"engine": {"env": NIXL}, "routingProxy": None, "prefill": None}, None),
        ({"routingProxy": None, "prefill": None}, None),
        ({"prefill": None}, None),
    ],
)  # fmt: skip
def test_combinations(spec, part):
    docs = healthy(**spec)
    if part is None:
        assert found(docs) == []
    else:
        assert found(docs) == [("Misconfigured", "ModelService models/qwen3")]
        assert part in told(docs, "qwen3")["Misconfigured"]
