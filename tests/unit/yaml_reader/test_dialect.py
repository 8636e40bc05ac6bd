"""What Kubernetes makes of a scalar, and what we make of it.

`kubernetes.json` was recorded from `yaml.YAMLToJSON([]byte("v: " + scalar))` of sigs.k8s.io/yaml
v1.6.0 with go.yaml.in/yaml/v2 v2.4.2.
"""

import json
from pathlib import Path

import pytest
import yaml

from reporter.yaml_reader import reading
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import read_yaml

RECORDED = json.loads((Path(__file__).parent / "kubernetes.json").read_text())
TEXT_HERE = {"y", "Y", "n", "N", ".inf", "+.inf", "-.inf", ".nan", ".1_0"}
TAGGED_OTHERWISE = {
    "!!binary aGk=": "aGk=",
    '!!binary "!"': "!",
    **dict.fromkeys(("!custom 1", "!custom {a: b}", "!!set {a, b}", "!!omap [a: 1]")),
    "!!python/name:os.system ''": None,
}


@pytest.fixture(params=["libyaml", "PyYAML's own"])
def _parser(request, monkeypatch):
    """The parser that is used where there is a libyaml, and the one where there is none."""
    if request.param == "PyYAML's own":
        monkeypatch.setattr(reading, "_Parser", yaml.SafeLoader)


def read(scalar):
    try:
        return read_yaml(f"v: {scalar}")["v"]
    except Unreadable:
        return None


@pytest.mark.usefixtures("_parser")
def test_a_scalar_is_what_kubernetes_makes_of_it():
    """More than a hundred spellings have the value, of the same type, that kubectl sees."""
    wrong = {}
    for scalar, recorded in RECORDED.items():
        if scalar in TEXT_HERE or scalar in TAGGED_OTHERWISE:
            continue
        expected, found = recorded.get("value"), read(scalar)
        if isinstance(found, float) and type(expected) is int:
            expected = float(expected)  # JSON does not tell 1000 from 1e3
        if (type(found), found) != (type(expected), expected):
            wrong[scalar] = (expected, found)
    assert not wrong


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize("scalar", sorted(TEXT_HERE))
def test_what_stays_text(scalar):
    """Where Kubernetes sees a boolean, or nothing that JSON has, the text says more."""
    assert read(scalar) == scalar
    assert RECORDED[scalar] != {"value": scalar}


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize("scalar", TAGGED_OTHERWISE)
def test_tags_that_are_not_ours(scalar):
    """A tag that asks for another kind of object is refused; binary data stays in base 64."""
    assert read(scalar) == TAGGED_OTHERWISE[scalar]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{yes: a, 0x10: b, 1e3: c, ~: d, on: e}", {"yes": "a", "0x10": "b", "1e3": "c", "~": "d", "on": "e"}),
        ("{x: 3, <<: {x: 1, z: 1}}", {"x": 3, "z": 1}),
        ("{'<<': {x: 1}}", {"<<": {"x": 1}}),
        ("{!!merge '<<': {x: 1}}", {"x": 1}),
        ("{&k a: 1, b: *k, c: {*k : 2}}", {"a": 1, "b": "a", "c": {"a": 2}}),
    ],
)  # fmt: skip
def test_keys(text, value):
    """A key is the text that is written, and only `<<` without quotes merges."""
    assert read_yaml(text) == value
