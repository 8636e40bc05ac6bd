"""What becomes of an Event on record while its finding is muted."""

import pytest

from reporter.model.report import Disposition
from reporter.resolution.records import MUTED_ANNOTATION
from reporter.sinks.events.plan import STATE_LABEL, finding_event
from tests.unit.sinks.events.test_plan import NOW, SETTINGS, finding, planned, report, stored

MUTED, FIRING, CLEARING, SUPPRESSED = (
    Disposition.MUTED, Disposition.FIRING, Disposition.CLEARING, Disposition.SUPPRESSED
)  # fmt: skip


def on_record(state, *, marked):
    """The record of the finding, with or without the note that it is muted."""
    body = finding_event(finding(), NOW, "pod")
    if marked:
        body["metadata"]["annotations"][MUTED_ANNOTATION] = "true"
    return stored(body, state=state)


def patched(record, *findings):
    """State and note that are written; nothing where nothing is."""
    writes = planned(report(*findings), [record], SETTINGS, instance="pod").writes
    metadata = [each.body["metadata"] for each in writes]
    return [
        (each["labels"][STATE_LABEL], each.get("annotations", {}).get(MUTED_ANNOTATION, "as it is"))
        for each in metadata
    ]


@pytest.mark.parametrize(
    ("state", "marked", "disposition", "writes"),
    [
        ("firing", False, MUTED, [("over", "true")]),
        ("stale", False, MUTED, [("over", "true")]),
        ("over", True, MUTED, []),
        ("over", False, MUTED, []),
        ("over", True, FIRING, [("firing", None)]),
        ("over", False, FIRING, [("firing", "as it is")]),
        ("over", True, CLEARING, []),
        ("over", True, SUPPRESSED, [("over", None)]),
        ("over", True, None, [("over", None)]),
        ("over", False, None, []),
        ("firing", False, None, [("over", "as it is")]),
    ],
)
def test_event_on_record(state, marked, disposition, *, writes):
    """It is over, with a note for those who start later; the note goes when the episode does."""
    findings = [finding(disposition)] if disposition else []
    assert patched(on_record(state, marked=marked), *findings) == writes


def test_a_muted_finding_has_no_event():
    assert planned(report(finding(MUTED)), [], SETTINGS, instance="pod").writes == ()


def test_the_note_is_believed_of_an_event_that_is_over_only():
    """Somebody may copy it to one that fires."""
    assert on_record("over", marked=True).muted
    assert not on_record("firing", marked=True).muted
    assert not on_record("over", marked=False).muted
