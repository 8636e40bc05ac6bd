"""The dumps in examples/modelservice: one in which all is well, one with a fault in each."""

import json
from pathlib import Path

import pytest

from reporter.cli.main import main

EXAMPLES = Path(__file__).parents[5] / "examples" / "modelservice"
FIRING = {
    ("modelserviceObjectMissing", "llama-3.3-70b"),
    ("modelservicePodsNotReady", "mistral-7b"),
    ("modelserviceEPPNotReady", "qwen3-0.6b"),
    ("modelserviceDrift", "qwen3-0.6b"),
    ("modelserviceDrift", "llama-3.3-70b"),
    ("modelserviceDeletionStuck", "phi-4"),
}


def checked(name, capsys):
    status = main(["check", "--from", str(EXAMPLES / name), "-o", "json"])
    return status, json.loads(capsys.readouterr().out)


def test_healthy(capsys):
    status, report = checked("healthy", capsys)
    assert (status, report["findings"]) == (0, [])
    names = {"llama-3.3-70b", "qwen3-0.6b"}
    assert {each["subject"].rpartition("/")[2] for each in report["ready"]} == names
    assert {each["name"] for each in report["derived"]} == names
    assert {each["status"]["phase"] for each in report["derived"]} == {"Ready"}


def test_broken(capsys):
    status, report = checked("broken", capsys)
    told = {(each["reason"], each["subject"].rpartition("/")[2]) for each in report["findings"]}
    assert (status, told, report["ready"]) == (1, FIRING, [])
    phases = {each["name"]: each["status"]["phase"] for each in report["derived"]}
    assert phases == {"llama-3.3-70b": "Ready", "mistral-7b": "Running", "qwen3-0.6b": "Ready"}


@pytest.mark.parametrize("name", ["healthy", "broken"])
def test_nothing_is_malformed(name, capsys):
    assert checked(name, capsys)[1]["skipped"] == []
