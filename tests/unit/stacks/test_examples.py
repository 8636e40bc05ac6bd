"""The example dumps: what `check` says of each, and which status is derived of its objects."""

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.probes.building import says

TOLD = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


@pytest.fixture(name="checked")
def _checked(run, examples):
    """The exit code and the report of a dump."""

    def checked(folder):
        code, output, _ = run("check", "--from", str(examples / folder), "-o", "json")
        return code, json.loads(output)

    return checked


@pytest.mark.parametrize("folder", TOLD)
def test_example(checked, folder):
    """Each cause once, with what it does to requests; and what is ready, whatever a controller says."""
    wanted, kind = TOLD[folder], folder.partition("/")[0]
    code, report = checked(folder)
    assert (code, report["skipped"]) == (wanted["exit"], [])
    fires, beside = {}, {}
    for each in report["findings"]:
        subject = each["subject"].removeprefix(f"{kind}/{wanted['in']}/")
        reason = each["reason"].removeprefix(kind)
        if each["disposition"] == "firing":
            assert (
                fires.setdefault(subject, {}).setdefault(reason, each["message"]) == each["message"]
            )
        else:
            beside.setdefault(subject, {})[reason] = each["disposition"]
    expected = wanted.get("fires", {})
    assert {name: {*told} for name, told in fires.items()} == {
        name: {*e} for name, e in expected.items()
    }
    assert beside == wanted.get("beside", beside)
    for name, told in expected.items():
        for reason, text in told.items():
            title, _, rest = fires[name][reason].partition(": ")
            assert title.endswith(f" {wanted['in']}/{name}")
            assert says(rest, text) if text.startswith("...") else rest.startswith(text)
    ready = [each["subject"] for each in report["ready"] if each["subject"] != "cluster"]
    assert ready == [f"{kind}/{wanted['in']}/{name}" for name in wanted["ready"]]


@pytest.mark.parametrize("folder", [name for name, each in TOLD.items() if "stored" in each])
def test_a_derived_status_is_the_stored_one(checked, examples, folder):
    """The controllers were played by other code than what derives the status: both agree."""
    fields = TOLD[folder]["stored"]
    path = examples / folder / f"{folder.partition('/')[0]}s.yaml"
    stored = {
        each["metadata"]["name"]: each["status"]
        for each in yaml.safe_load(path.read_text())["items"]
    }
    derived = {each["name"]: each["status"] for each in checked(folder)[1]["derived"]}
    assert derived.keys() == stored.keys()
    for name, status in stored.items():
        found = derived[name]
        if not fields:
            assert found == status
        assert {key: found[key] for key in fields} == {key: status[key] for key in fields}
        assert truth(found) == truth(status)


def truth(status):
    return {each["type"]: each["status"] for each in status["conditions"]}


@pytest.mark.parametrize("folder", [name for name, each in TOLD.items() if "phases" in each])
def test_the_phase_that_is_derived(checked, folder):
    derived = checked(folder)[1]["derived"]
    assert {each["name"]: each["status"]["phase"] for each in derived} == TOLD[folder]["phases"]
