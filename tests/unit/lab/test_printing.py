"""What the demo prints, in a pipe and on a terminal."""

import re
from datetime import UTC, datetime

import pytest

from lab.demo.event_stream import SeenEvent, say, say_command, say_event, say_header
from reporter.model.finding import FindingKey
from reporter.model.objects import Event, Reference
from reporter.model.objects.core import EventMetadata
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.resolution.records import Record, RecordState


@pytest.fixture(name="seen")
def _seen():
    """A long Warning."""
    namespace = Reference(kind="Namespace", name="kaito-system")
    said = Event(
        metadata=EventMetadata(name="e", namespace="kube-system"),
        reason="clusterKaitoControllerNotReady",
        type="Warning",
        message="Deployment kaito-system/kaito-workspace is down: scaled to zero " * 3,
        involved_object=namespace,
    )
    ref = ObjectRef("v1", "Namespace", "", "kaito-system")
    key = FindingKey(said.reason, CLUSTER, ref)
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    record = Record(said, key, now, RecordState.FIRING, ref, now)
    return SeenEvent(record, new=True)


def test_a_pipe_has_the_lines_of_kubectl(monkeypatch, capsys, seen):
    """One line for an Event, in columns, without colours."""
    say_header()
    say_event(seen)
    say("# 1. told")
    head, line, told = capsys.readouterr().out.splitlines()
    assert head.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert line == seen.line()
    assert told == "# 1. told"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_has_lines_that_fit(monkeypatch, capsys, seen, columns):
    """In colour, unless NO_COLOR is set; a remark stays one, and a command can be copied."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    say_header()
    say(f"# 1. {'a long remark ' * 20}\n")
    say_event(seen)
    say_command(
        "kubectl get events -n kube-system --field-selector source=productionstack-status-reporter -w"
    )
    out = capsys.readouterr().out
    assert "\x1b[1;31mclusterKaitoControllerNotReady\x1b[0m" in out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert max(map(len, plain.splitlines())) <= max(columns, 64)
    remark, _, rest = plain.partition("\n\n")
    assert all(line.startswith("#") for line in remark.splitlines())
    assert "LAST SEEN" not in plain
    assert "kubectl get events" in rest
    monkeypatch.setenv("NO_COLOR", "1")
    say_event(seen)
    assert "\x1b" not in capsys.readouterr().out
