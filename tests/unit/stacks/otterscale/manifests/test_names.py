"""Names of the objects of a ModelService, and names that are too long."""

import pytest

from reporter.stacks.otterscale.manifests import names
from tests.unit.stacks.otterscale.manifests.building import documents, service

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
    ("Deployment", "qwen3-0.6b-decode"),
    ("Deployment", "qwen3-0.6b-prefill"),
    ("Deployment", "qwen3-0-6b-epp"),
    ("InferencePool", "qwen3-0.6b"),
    ("HTTPRoute", "qwen3-0.6b"),
    ("ConfigMap", "qwen3-0-6b-epp-config"),
    ("ClusterRole", "models-qwen3-0-6b-epp"),
]


@pytest.mark.parametrize(("kind", "name"), NAMES, ids=[each for _, each in NAMES])
def test_names(kind, name):
    picker = {"inferencePool": {"endpointPicker": {}}}
    assert (kind, name) in documents(service("qwen3-0.6b", prefill={}, **picker))
