"""Names of the objects of a ModelService, and names that are too long."""

import pytest

from reporter.stacks.otterscale.manifests import names

SANITISED = [
    ("qwen3", "qwen3"),
    ("qwen3-0.6b-fp8-dynamic", "qwen3-0-6b-fp8-dynamic"),
    ("MyModel_1.0", "mymodel-1-0"),
    ("0.6b", "m-0-6b"),
    ("1", "m-1"),
    ("", "modelservice"),
    ("---", "modelservice"),
    ("模型", "modelservice"),
    ("a..b", "a-b"),
    ("a--b", "a-b"),
    ("a.-_b", "a-b"),
    ("-9-", "m-9"),
    ("Llama 3.1", "llama3-1"),
    ("meta/llama:8b", "metallama8b"),
    ("modèle", "modle"),
    ("qwen3.", "qwen3"),
    ("m-7b", "m-7b"),
    ("7b", "m-7b"),
    ("x" * 70, "x" * 70),
    # A dropped character does not keep separators apart; a digit of another script is dropped.
    ("a-é-b", "a-b"),
    ("٣b", "b"),
]


@pytest.mark.parametrize(("text", "label"), SANITISED)
def test_sanitised(text, label):
    assert names.sanitised(text) == label


NAMES = [
    (names.decode_deployment, "qwen3-0.6b-decode"),
    (names.prefill_deployment, "qwen3-0.6b-prefill"),
    (names.inference_pool, "qwen3-0.6b"),
    (names.http_route, "qwen3-0.6b"),
    (names.epp, "qwen3-0-6b-epp"),
    (names.epp_config_map, "qwen3-0-6b-epp-config"),
    (lambda name: names.epp_cluster_role("models", name), "models-qwen3-0-6b-epp"),
]


@pytest.mark.parametrize(("function", "expected"), NAMES, ids=[each for _, each in NAMES])
def test_names(function, expected):
    assert function("qwen3-0.6b") == expected


@pytest.mark.parametrize(("one", "other"), [("a.b", "a-b"), ("a-b", "a--b"), ("7b", "m-7b")])
def test_two_services_may_share_an_endpoint_picker(one, other):
    assert names.epp(one) == names.epp(other)


def test_two_services_may_share_a_cluster_role():
    assert names.epp_cluster_role("a", "b-c") == names.epp_cluster_role("a-b", "c")
