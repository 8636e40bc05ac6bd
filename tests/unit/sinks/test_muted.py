"""A muted finding is shown everywhere, with where it is muted and until when."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.model.report import Disposition, Mute, MuteFault
from reporter.model.subject import ObjectRef
from reporter.sinks.report_json import MUTES_LISTED, report_json
from reporter.sinks.report_text import report_text
from reporter.sinks.words import where_muted
from tests.unit.sinks.events.test_plan import NOW, SETTINGS, finding, report

SPACE = ObjectRef("v1", "Namespace", "", "chat")
PLACES = (
    Mute(ObjectRef("v1", "Pod", "chat", "p"), ("inferencesetEPPNotReady",)),
    Mute(SPACE, ("inferencesetEPPNotReady",), NOW + timedelta(hours=1)),
)
WHERE = "Pod chat/p, Namespace chat until 2026-11-20T13:00:00Z"
FAULT = MuteFault(SPACE, 'no reason is called "inferencesetEPP"; did you mean <b>?')


def muted(**changes):
    return finding(Disposition.MUTED, mutes=PLACES, primary=False, **changes)


def shown(*findings):
    return replace(report(*findings), mutes=PLACES, mute_faults=(FAULT,))


@pytest.mark.parametrize(
    ("mutes", "disposition", "words"),
    [
        (PLACES, Disposition.MUTED, f"muted on {WHERE}"),
        (PLACES[:1], Disposition.FIRING, "others muted on Pod chat/p"),
        (PLACES * 3, Disposition.MUTED, f"muted on {WHERE}, Pod chat/p, 3 more"),
        ((), Disposition.FIRING, ""),
    ],
)
def test_where_it_is_muted(mutes, disposition, words):
    assert where_muted(finding(disposition, mutes=mutes)) == words


def test_in_text():
    lines = report_text(shown(muted())).splitlines()
    assert lines[0].endswith("; 1 muted.")
    assert lines[0].startswith("Nothing fires")
    (line,) = [each for each in lines if each.startswith("    muted")]
    assert line.endswith(f"  muted on {WHERE}")
    assert f"    Namespace chat: {FAULT.text}" in lines
    assert "    Namespace chat until 2026-11-20T13:00:00Z: inferencesetEPPNotReady" in lines


def test_in_json():
    document = json.loads(report_json(shown(muted()), SETTINGS))
    (found,) = document["findings"]
    space = {"apiVersion": "v1", "kind": "Namespace", "name": "chat"}
    pod = {"apiVersion": "v1", "kind": "Pod", "namespace": "chat", "name": "p"}
    until = "2026-11-20T13:00:00Z"
    assert found["disposition"] == "muted"
    assert found["mutes"] == [{"object": pod, "until": None}, {"object": space, "until": until}]
    assert document["mutes"][1] == {
        "object": space, "until": until, "reasons": ["inferencesetEPPNotReady"],
    }  # fmt: skip
    assert document["muteFaults"] == [{"object": space, "text": FAULT.text}]
    assert document["events"] == []


@pytest.mark.parametrize(("count", "more"), [(MUTES_LISTED, None), (MUTES_LISTED + 3, 3)])
def test_a_finding_lists_some_mutes_in_json_and_counts_the_others(count, more):
    """Each of thousands of pods may carry one; the list of all is the report's."""
    many = PLACES[:1] * count
    of = replace(report(finding(Disposition.MUTED, mutes=many)), mutes=many)
    document = json.loads(report_json(of, SETTINGS))
    (found,) = document["findings"]
    assert (len(found["mutes"]), found.get("moreMutes")) == (MUTES_LISTED, more)
    assert len(document["mutes"]) == count
