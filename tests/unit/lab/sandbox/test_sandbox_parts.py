"""The small parts of the sandbox, from tables."""

import pytest

from lab.sandbox import ApiError
from lab.sandbox.bodies import decode_body
from lab.sandbox.lists import parse_labels
from lab.sandbox.objects import values_at
from lab.sandbox.schema import apply_defaults, prune, validate
from lab.sandbox.workloads import deployment_status


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        ("", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a=1", {}, False),
        ("a!=1", {}, True),
        ("a in (1, 2),b", {"a": "2", "b": ""}, True),
        ("a notin (1)", {}, True),
        ("a notin (1)", {"a": "1"}, False),
        ("!a", {"a": "1"}, False),
        ("a=", {"a": ""}, True),
    ],
)
def test_label_selector(selector: str, labels, matches):
    """Terms are joined by and; not-equal and notin match where the label is missing."""
    assert matches is parse_labels(selector).matches(labels)


DOCUMENT = {
    "spec": {"size": 3, "list": [{"n": "a"}, {"n": "b"}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    "metadata": {"annotations": {"example.com/x": "y"}},
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".spec.size", [3]),
        ("{.spec.size}", [3]),
        (".spec.list[*].n", ["a", "b"]),
        (".spec.list[1].n", ["b"]),
        (".spec.list[7].n", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Nope')].status", []),
        (r".metadata.annotations.example\.com/x", []),
        (".metadata.annotations['example.com/x']", ["y"]),
        (".nope.nope", []),
        (".spec[", []),
    ],
)
def test_jsonpath(path: str, values):
    """The paths that printer columns use are found; what is not understood finds nothing."""
    assert values == values_at(DOCUMENT, path)


SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
                "mode": {"type": "string", "enum": ["a", "b"], "nullable": True},
                "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3, "minLength": 1},
                "port": {"x-kubernetes-int-or-string": True},
                "share": {"type": "number"},
                "list": {
                    "type": "array",
                    "items": {"type": "string"},
                    "maxItems": 2,
                    "minItems": 1,
                },
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"size": 1}, None),
        ({}, "spec.size"),
        ({"size": 0}, "spec.size"),
        ({"size": 10}, "spec.size"),
        ({"size": True}, "spec.size"),
        ({"size": 1.5}, "spec.size"),
        ({"size": 2.0}, None),
        ({"size": None}, "spec.size"),
        ({"size": 1, "mode": "c"}, "spec.mode"),
        ({"size": 1, "mode": None}, None),
        ({"size": 1, "name": "A"}, "spec.name"),
        ({"size": 1, "name": "abcd"}, "spec.name"),
        ({"size": 1, "port": "http"}, None),
        ({"size": 1, "port": []}, "spec.port"),
        ({"size": 1, "share": 1}, None),
        ({"size": 1, "list": []}, "spec.list"),
        ({"size": 1, "list": ["a", 2]}, "spec.list[1]"),
        ({"size": 1, "list": ["a", "b", "c"]}, "spec.list"),
        ({"size": 1, "map": {"a": "b"}}, "spec.map.a"),
        ({"size": 1, "free": {"any": [1]}}, None),
    ],
    ids=str,
)
def test_schema(spec, field: str | None):
    """Objects are judged by types, bounds, enumerations and patterns."""
    assert ([field] if field else []) == [error.field for error in validate({"spec": spec}, SCHEMA)]


def test_pruning_and_defaults():
    """Unknown fields go, except where they are preserved; missing ones get defaults."""
    obj = {
        "kind": "K",
        "metadata": {"name": "n"},
        "spec": {"color": 1, "free": {"any": 1}, "map": {"a": 1}},
        "extra": 1,
    }
    assert prune(obj, SCHEMA) == ["spec.color", "extra"]
    apply_defaults(obj, SCHEMA)
    assert obj == {
        "kind": "K",
        "metadata": {"name": "n"},
        "spec": {"free": {"any": 1}, "map": {"a": 1}, "size": 1},
    }


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b"k8s\0", b"k8s\0\xff\xff", b"k8s\0\n\x0a\x0a\x02v1\x12\x04Lies"]
)
def test_bad_protobuf(raw: bytes):
    """What is no known protobuf body is a 415, whatever the bytes are."""
    with pytest.raises(ApiError) as caught:
        decode_body(raw)
    assert caught.value.code == 415


@pytest.mark.parametrize(
    ("wanted", "ready", "strategy", "available"),
    [
        (0, 0, {}, "True"),
        (1, 0, {}, "False"),
        (4, 3, {}, "True"),
        (4, 2, {}, "False"),
        (3, 2, {"rollingUpdate": {"maxUnavailable": 1}}, "True"),
        (3, 2, {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}, "True"),
        (3, 2, {"type": "Recreate"}, "False"),
    ],
)
def test_available(wanted: int, ready: int, strategy, *, available: str):
    """A Deployment is available while at most maxUnavailable pods are missing."""
    default = {"rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    obj = {"metadata": {}, "spec": {"replicas": wanted, "strategy": strategy or default}}
    pods = [
        {"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    ] * ready
    now = "2026-11-20T10:00:00Z"
    status = deployment_status(obj, pods, now=now, replica_set="r", rollout=False)
    found = {item["type"]: item["status"] for item in status["conditions"]}
    assert available == found["Available"]
