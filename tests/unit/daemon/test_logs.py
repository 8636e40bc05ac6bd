"""What the log says of a report."""

from dataclasses import replace

from structlog.testing import capture_logs

from reporter.catalogue import resources as r
from reporter.daemon.logs import MUTES_LOGGED, ChangeLog
from reporter.model.report import Disposition, Mute
from tests.unit.sinks.events.test_plan import finding, report


def test_a_line_names_few_of_many_mutes():
    """Each of thousands of pods may carry one, and each new one makes a line."""
    pods = (r.PODS.ref_named("demo", f"p{number}") for number in range(2000))
    mutes = tuple(Mute(each, ("inferencesetModelPodsNotReady",)) for each in pods)
    with capture_logs() as lines:
        ChangeLog().note(report(replace(finding(Disposition.MUTED), mutes=mutes)))
    (line,) = (each for each in lines if each["event"] == "finding")
    assert line["mutes"] == [f"Pod demo/p{number}" for number in range(MUTES_LOGGED)]
