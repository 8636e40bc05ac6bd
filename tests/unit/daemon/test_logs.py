"""What the log says of a report."""

from msgspec.structs import replace
from structlog.testing import capture_logs

from reporter.catalogue import resources as r
from reporter.daemon.logs import LINES, MUTES_LOGGED, ChangeLog
from reporter.model.report import Disposition, Mute
from reporter.model.subject import Subject
from tests.unit.sinks.events.test_plan import finding, report


def test_a_line_names_few_of_many_mutes():
    """Each of thousands of pods may carry one, and each new one makes a line."""
    pods = (r.PODS.ref_named("demo", f"p{number}") for number in range(2000))
    mutes = tuple(Mute(each, ("inferencesetModelPodsNotReady",)) for each in pods)
    with capture_logs() as lines:
        ChangeLog().note(report(replace(finding(Disposition.MUTED), mutes=mutes)))
    (line,) = (each for each in lines if each["event"] == "finding")
    assert line["mutes"] == [f"Pod demo/p{number}" for number in range(MUTES_LOGGED)]


def test_thousands_of_changes_are_some_lines_and_a_count():
    """What fires comes first; to log each would stop the daemon for a while."""
    many = [finding(Disposition.PENDING, subject=Subject("s", "n", str(n))) for n in range(LINES)]
    with capture_logs() as lines:
        ChangeLog().note(report(*many, finding()))
    told = [each for each in lines if each["event"] == "finding"]
    assert (len(told), told[0]["disposition"]) == (LINES, "firing")
    (more,) = (each for each in lines if each["event"] == "more_changes")
    assert (more["of"], more["count"]) == ("findings", 1)
