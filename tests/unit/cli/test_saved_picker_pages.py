"""`check --from` with pages of endpoint pickers beside the objects: from the page to the report, for each stack."""

import json
import re
from datetime import UTC, datetime, timedelta
from shutil import copytree

import pytest

from reporter.catalogue.pickers import NO_ENDPOINTS
from reporter.metrics.scraping.targets import find_targets
from reporter.snapshot.dump import load_dump
from reporter.stacks import STACKS
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.metrics.pages.reading import PAGES

PICKED = [each.name for each in STACKS if each.pickers]
EXAMPLES = {
    "kaito": "healthy-stack",
    "otterscale": "modelservice/healthy",
    "llmisvc": "llminferenceservice/healthy",
}
SETTINGS = FullEvaluationSettings()
PAGE = (PAGES / "epp-router-metrics.txt").read_text()
BLIND = re.sub(r"(ready_\w+\{.*\}) 2", r"\1 0", PAGE)
NONE = re.sub(r"\n\w+queue_size\{model_.*", "", BLIND)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(name="dump", params=PICKED)
def _dump(request, tmp_path, examples):
    """A folder with a healthy example of a stack that has pickers."""
    dump = copytree(examples / EXAMPLES[request.param], tmp_path / "dump")
    pods = (dump / "pods.yaml").read_text()
    if "podIP" not in pods:
        pods = pods.replace("    phase: Running\n", "    phase: Running\n    podIP: 10.42.0.7\n")
        (dump / "pods.yaml").write_text(pods)
    return dump


def pickers(dump):
    """The pods whose pages are those of pickers that lead."""
    found = find_targets(load_dump([dump], SETTINGS.catalogue).snapshot, SETTINGS) or ()
    return [
        each for each in found if each.ready and each.picked is not None and each.picked.ready_since
    ]


def save(dump, page, ages=range(0, 75, 15)):
    """Save what the first picker serves at some seconds before noon; return it."""
    picker = pickers(dump)[0]
    folder = dump / "metrics" / picker.namespace / picker.name
    folder.mkdir(parents=True)
    for age in ages:
        at = NOON - timedelta(seconds=age)
        (folder / f"{int(at.timestamp())}.prom").write_text(page)
    return picker


@pytest.fixture(name="check")
def _check(run):
    """Checks a folder as of noon; returns the findings about pickers, and the states of subjects."""

    def check(folder):
        _, out, err = run("check", "--from", folder, "-o", "json", "--now", "2026-11-20T12:00:00Z")
        assert err == ""
        report = json.loads(out)
        told = [each for each in report["findings"] if each["reason"].endswith(NO_ENDPOINTS)]
        return told, {each["subject"]: each["state"] for each in report["subjects"]}

    return check


@pytest.mark.parametrize(
    ("page", "says", "state"),
    [(NONE, "answers requests with 503", "not-serving"), (BLIND, "chooses blindly", "degraded")],
)
def test_a_picker_without_endpoints(dump, check, *, page, says, state):
    """It fires and names the picker; its model does not serve if it knows no pod, though all are Ready."""
    picker = save(dump, page)
    ((finding,), states) = check(dump)
    assert finding["reason"] == f"{picker.subject.kind}{NO_ENDPOINTS}"
    assert (finding["subject"], finding["disposition"]) == (str(picker.subject), "firing")
    assert f"endpoint picker pod {picker.name}: has " in finding["message"]
    assert says in finding["message"]
    assert states[str(picker.subject)] == state


@rows(
    ("page", "ages"),
    {
        "it has endpoints": (PAGE, range(0, 75, 15)),
        "the page of something else": ("go_goroutines 12\n", range(0, 75, 15)),
        "a single page": (NONE, (0,)),
    },
)
def test_what_raises_nothing(dump, check, *, page, ages):
    picker = save(dump, page, ages)
    told, states = check(dump)
    assert told == []
    assert states[str(picker.subject)] == "serving"
