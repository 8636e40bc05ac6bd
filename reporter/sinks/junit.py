"""The report as JUnit XML, for pipelines that show test results.

A ready subject is a passed test, and a firing finding is a failure. Every other finding is skipped,
with its disposition, and so is a subject that has no verdict yet. A resource that cannot be read or
seen is an error, and so is a model that has no verdict because of it.
"""

from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reporter.model.catalogue import Catalogue
from reporter.model.instant import rfc3339
from reporter.model.report import Report, ResolvedFinding
from reporter.model.text import clean
from reporter.sinks import words

_SUITE: Final = "status-reporter"
_NOT_IN_XML: Final = str.maketrans("", "", "\ufffe\uffff")
"""Characters that a clean text may contain and XML forbids."""

_RESULTS: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def report_junit(report: Report) -> str:
    """Return the report as one test suite; equal reports give equal text."""
    suite = Element("testsuite", name=_SUITE)
    for ready in sorted(report.ready, key=lambda each: each.subject):
        _case(suite, str(ready.subject), ready.reason)
    for finding in report.findings:
        _finding(_case(suite, str(finding.subject), _name(finding)), finding, report.catalogue)
    without = words.models_without_verdict(report)
    for subject in words.without_verdict(report):
        case = _case(suite, str(subject), "ready")
        if subject in without.models:
            unread = ", ".join(f"{each.resource} ({each.cause})" for each in without.unread)
            message = _text(f"{words.NO_VERDICT}: could not be read: {unread}")
            SubElement(case, "error", message=message, type="unknown")
        else:
            SubElement(case, "skipped", message=words.NO_VERDICT)
    for unknown in sorted(report.unknown):
        case = _case(suite, "resources", unknown.resource)
        SubElement(case, "error", message=_text(unknown.cause), type="unknown")
    suite.set("tests", str(len(suite)))
    for key, tag in _RESULTS.items():
        suite.set(key, str(sum(case.find(tag) is not None for case in suite)))
    suite.set("time", "0")
    suite.set("timestamp", rfc3339(report.now).removesuffix("Z"))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _case(suite: Element, of: str, name: str) -> Element:
    return SubElement(suite, "testcase", classname=_text(of), name=_text(name), time="0")


def _name(finding: ResolvedFinding) -> str:
    involved = finding.involved
    parts = (involved.kind.lower(), involved.namespace, involved.name)
    return f"{finding.reason} ({'/'.join(part for part in parts if part)})"


def _finding(case: Element, finding: ResolvedFinding, catalogue: Catalogue) -> None:
    if finding.fires and finding.is_blind:
        error = SubElement(case, "error", message=_text(finding.cause), type=finding.reason)
        error.text = _text(finding.message)
        return
    if finding.fires:
        failure = SubElement(case, "failure", message=_text(finding.cause), type=finding.reason)
        to_do = words.action_of(finding, catalogue)
        failure.text = f"{_text(finding.message)}\nTo do: {_text(to_do)}"
        if finding.mutes:
            failure.text += f"\nNot reported here: {_text(words.where_muted(finding))}"
        return
    by = f" by {', '.join(finding.by)}" if finding.by else ""
    became = words.where_muted(finding) or f"{finding.disposition}{by}"
    SubElement(case, "skipped", message=f"{became}: {_text(finding.cause)}")


def _text(text: str) -> str:
    return clean(text).translate(_NOT_IN_XML)
