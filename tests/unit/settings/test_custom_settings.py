"""`custom-components` in the file of `--config`: what is taken, and what each mistake is told as."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reporter.catalogue.custom.extend import ALLOWED
from reporter.cli.configure import FullProgramSettings, _explain, load_settings
from reporter.cli.main import main
from reporter.errors import UsageError
from reporter.model.catalogue import (
    CustomComponent,
    CustomCondition,
    CustomCrd,
    CustomWorkload,
    WorkloadKind,
)
from reporter.model.subject import Layer
from tests.hypothesis_profiles import examples

HERE = Path(__file__).parent
WRONG = yaml.safe_load((HERE / "custom_wrong.yaml").read_text())

RIGHT = """
custom-components:
  - reason: clusterVectorStoreNotReady
    layer: cluster
    after: clusterBBRNotReady
    grace-seconds: 30
    suppresses: [inferencesetRouteNotReady]
    why: requests are answered from the vector store
    summary: >
      The vector store
      is not available.
    action: kubectl -n vector-db describe statefulset qdrant
    workload: {kind: StatefulSet, name: qdrant, namespaces: [vector-db]}
  - reason: clusterCertManagerCRDMissing
    layer: cluster
    crd: {name: certificates.cert-manager.io}
  - reason: modelharnessCertificateNotReady
    layer: modelharness
    before:
    blocks_ready: false
    condition:
      {group: cert-manager.io, version: v1, plural: certificates, kind: Certificate, type: Paused, status: False}
"""


@pytest.fixture(name="file")
def _file(tmp_path):
    def write(content):
        path = tmp_path / "config.yaml"
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text)
        return str(path)

    return write


def refused(config):
    with pytest.raises(UsageError) as error:
        load_settings({}, config)
    return str(error.value).split("\n  ")


def test_what_a_declaration_becomes(file):
    """Keys in kebab-case or as in code; what is not given has its default."""
    first, second, third = load_settings({}, file(RIGHT)).custom_components
    assert first == CustomComponent(
        reason="clusterVectorStoreNotReady",
        layer=Layer.CLUSTER,
        after="clusterBBRNotReady",
        grace_seconds=30,
        suppresses=("inferencesetRouteNotReady",),
        why="requests are answered from the vector store",
        summary="The vector store is not available.",
        action="kubectl -n vector-db describe statefulset qdrant",
        workload=CustomWorkload(
            kind=WorkloadKind.STATEFULSET, name="qdrant", namespaces=("vector-db",)
        ),
    )
    assert second.crd == CustomCrd(name="certificates.cert-manager.io")
    assert third.blocks_ready is False
    assert third.condition == CustomCondition(
        group="cert-manager.io",
        version="v1",
        plural="certificates",
        kind="Certificate",
        type="Paused",
        status="False",
    )


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row["says"])
def test_each_mistake_is_one_line(file, row):
    config = file({"custom-components": row["entries"]})
    lines = refused(config)
    assert all(line.startswith(f"custom-components in {config}: entry ") for line in lines)
    assert any(row["says"] in line for line in lines)
    assert all(len(line) < 700 for line in lines)


def test_a_mistake_brings_no_others(file):
    several = [
        row["says"]
        for row in WRONG
        if len(refused(file({"custom-components": row["entries"]}))) > 1
    ]
    assert len(several) <= len(WRONG) / 6


CRD = {"layer": "cluster", "crd": {"name": "a.b.c"}}


def test_wrong_forms_hide_no_wrong_contents(file):
    entries = [
        {"reason": "clusterAReady", **CRD},
        {"reason": "clusterBNotReady", **CRD, "layer": "clster"},
        {"reason": "clusterCNotReady", **CRD, "after": "clusterBBRNotRedy"},
    ]
    lines = refused(file({"custom-components": entries}))
    keys = [line.partition(": entry ")[2].partition(":")[0] for line in lines]
    assert keys == [
        "1 (clusterAReady), reason", "2 (clusterBNotReady), layer", "3 (clusterCNotReady), after",
    ]  # fmt: skip


@pytest.mark.parametrize("wrong", [{"reason": "clusterBNotReady"}, {"reason": 5}, {}])
def test_what_rests_on_a_wrong_form_is_not_judged(file, wrong):
    """The name may be that of the entry that has to be corrected first."""
    other = {"reason": "clusterANotReady", **CRD, "after": "clusterBNotReady"}
    lines = refused(file({"custom-components": [other, {**wrong, **CRD, "layer": "clster"}]}))
    assert not [line for line in lines if ": entry 1" in line]


ENTRY = """
- reason: clusterANotReady
  layer: cluster
  crd: {name: a.b.c}
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"custom-components: {ENTRY}\ncustom-components: {ENTRY}", "'custom-components' is given"),
        (f"custom-components: {ENTRY}  layer: cluster", "the key 'layer' is given twice"),
        (f"custom-components: {ENTRY}\ncustom_components: {ENTRY}", "a setting is given twice"),
        (
            f"custom-components: {ENTRY}  grace-seconds: 5\n  grace_seconds: 60",
            "(entry 1: grace-seconds is given twice, with - and with _)",
        ),
        (f"custom-components: {ENTRY}  grace-seconds: true", "grace-seconds: 'true' is not allowed"),
        (f"custom-components: {ENTRY}  summary: {'a' * 5000}", "allowed: at most 200 bytes"),
    ],
)  # fmt: skip
def test_what_would_be_lost_or_misread_is_refused(file, text, says):
    """Of two keys YAML keeps the last one, without a word."""
    lines = refused(file(text))
    assert len(lines) == 1
    assert says in lines[0]


def test_an_entry_may_be_made_of_another(file):
    """By a merge; what is written beside it wins, and is no second key."""
    text = """
custom-components:
  - &a {reason: clusterANotReady, layer: cluster, crd: {name: a.b.c}}
  - {<<: *a, reason: clusterBNotReady}
"""
    reasons = [each.reason for each in load_settings({}, file(text)).custom_components]
    assert reasons == ["clusterANotReady", "clusterBNotReady"]


def test_aliases_do_not_make_the_message_grow(file):
    """Six lines of YAML can stand for more than half a million values."""
    text = "custom-components:\n  - &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in range(5):
        aliases = ", ".join([f"*a{level}"] * 9)
        text += f"  - &a{level + 1} [{aliases}]\n"
    lines = refused(file(text))
    assert len(lines) == 6
    assert all(len(line) < 700 for line in lines)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("clusterA", "'clusterA' is not allowed (not a list in a file)"),
        ({"reason": "clusterA"}, "{'reason': 'clusterA'} is not allowed (not a list in a file)"),
        ([{}] * 101, "is not allowed (101 entries)"),
    ],
)
def test_what_is_no_list_of_declarations(file, value, says):
    (line,) = refused(file({"custom-components": value}))
    assert says in line
    assert line.endswith("; allowed: a list of at most 100 declarations, in the file of --config")


def test_the_file_is_the_only_place(monkeypatch):
    """Neither a flag nor a variable could hold them."""
    monkeypatch.setenv("STATUS_REPORTER_CUSTOM_COMPONENTS", "[]")
    (line,) = refused(None)
    assert line.startswith("STATUS_REPORTER_CUSTOM_COMPONENTS: '[]' is not allowed")
    assert main(["check", "--custom-components=[]"]) == 2


@pytest.mark.parametrize("command", [["run"], ["check"], ["explain"], ["explain", "clusterReady"]])
def test_every_command_refuses_a_wrong_file(file, capsys, command):
    config = file({"custom-components": [{"reason": "clusterA", "layer": "cluster"}]})
    assert main([*command, "--config", config]) == 2
    assert "entry 1 (clusterA), workload: missing" in capsys.readouterr().err


def test_mistakes_elsewhere_are_told_too(file):
    lines = refused(file({"custom-components": [{}], "emit": "x"}))
    assert [line.split(": ")[0].split(" in ")[0] for line in lines] == [
        "custom-components",
        "custom-components",
        "emit",
    ]


def test_settings_take_the_reasons_of_the_file(file):
    """By flag as well: `--grace` and `--disable-reasons` know them."""
    name = "clusterVectorStoreNotReady"
    settings = load_settings({"grace": f"{name}=5", "disable_reasons": name}, file(RIGHT))
    assert settings.grace == {name: 5}
    assert settings.disable_reasons == (name,)


@pytest.mark.parametrize("flag", ["grace", "disable_reasons"])
def test_a_misspelt_reason_of_the_file_is_told_with_the_near_one(file, flag):
    given = "clusterVectorStoreNotRedy" + ("=5" if flag == "grace" else "")
    with pytest.raises(UsageError, match=r"did you mean clusterVectorStoreNotReady\?"):
        load_settings({flag: given}, file(RIGHT))
    with pytest.raises(UsageError, match="is not a reason"):
        load_settings({flag: given.replace("Redy", "Ready")}, None)


def test_every_key_says_what_it_takes():
    parts = {
        "workload": CustomWorkload, "crd": CustomCrd, "condition": CustomCondition,
    }  # fmt: skip
    keys = {each.name.replace("_", "-") for each in fields(CustomComponent)} | {""}
    for part, type_ in parts.items():
        keys |= {f"{part}.{each.name.replace('_', '-')}" for each in fields(type_)}
    assert keys == ALLOWED.keys()


KEYS = sorted({part for key in ALLOWED for part in key.split(".")} - {""})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["cluster", "clusterA", "modelharness", "Deployment", "True", "a.b.c"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=6),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
@examples(3)
def test_whatever_stands_there_is_taken_or_refused(value):
    """In words; nothing else comes out of it."""
    try:
        FullProgramSettings(custom_components=value)
    except ValidationError as error:
        layers = ((str, {"custom_components": value}),)
        lines = _explain(error, layers)
        assert lines
        assert all("\n" not in line and "; allowed: " in line for line in lines)
