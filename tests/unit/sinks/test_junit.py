"""The report as JUnit XML: what each part of it becomes, and that nothing breaks the document."""

from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from reporter.model.report import Disposition, Report, UnknownResource
from reporter.model.subject import Subject
from reporter.sinks.junit import report_junit
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.unit.sinks.events.test_plan import NOW, finding, ready, report


def suite(of: Report):
    (found,) = ET.fromstring(report_junit(of))
    return found


def test_a_subject_that_is_ready_has_passed():
    (case,) = suite(replace(report(), ready=(ready(due=False),)))
    assert list(case) == []


def test_what_fires_has_failed_with_what_to_do():
    (case,) = suite(report(finding()))
    (failure,) = case
    assert failure.tag == "failure"
    assert failure.get("type") == finding().reason
    assert "\nTo do: " in failure.text


@pytest.mark.parametrize("disposition", sorted(set(Disposition) - {Disposition.FIRING}))
def test_what_does_not_fire_is_skipped_with_what_became_of_it(disposition):
    (case,) = suite(report(finding(disposition)))
    (skipped,) = case
    assert skipped.tag == "skipped"
    assert skipped.get("message").startswith(str(disposition))


def test_a_subject_without_a_verdict_has_not_passed():
    """A model that starts: neither ready nor at fault, and not to be passed over."""
    starting = Subject(INFERENCESET_KIND, "team", "starting")
    found = suite(replace(report(), subjects=(starting,)))
    (case,) = found
    assert case.get("classname") == "inferenceset/team/starting"
    assert [(each.tag, each.get("message")) for each in case] == [("skipped", "no verdict")]
    assert found.get("skipped") == "1"


def test_what_could_not_be_read_is_an_error():
    found = suite(replace(report(), unknown=(UnknownResource("pods", "forbidden"),)))
    (error,) = found.findall("testcase/error")
    assert (found.get("errors"), error.get("message")) == ("1", "forbidden")


@given(st.text())
@example("\x00\x1b]]>&\ufffe\uffff")
def test_no_message_breaks_the_document(text):
    of = report(structs.replace(finding(), message=text, cause=text, since=NOW - timedelta(1)))
    (failure,) = suite(of).findall("testcase/failure")
    assert not set(failure.get("message") + failure.text) & {"\ufffe", "\uffff", "\x00", "\x1b"}
