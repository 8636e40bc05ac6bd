"""`check -o html`."""

import json
import re
import shutil
from io import BytesIO, TextIOWrapper

import pytest

from reporter.cli.main import main
from tests.unit.sinks.page.test_strip import kaito, record


def test_the_page_is_one_file_that_tells_what_the_text_tells(run, examples):
    """The same causes in the same order, the same exit status."""
    broken = examples / "broken-stack"
    status, html, err = run("check", "--from", broken, "-o", "html")
    assert (status, err) == (1, "")
    _, text, _ = run("check", "--from", broken)
    assert html.startswith("<!doctype html>")
    assert html.endswith("</html>\n")
    heads = re.findall(r"<h3 data-copy>(.*?)</h3>", html)
    causes = re.findall(r"^([a-z]\w+)  \S+  (?:for|age) ", text, re.MULTILINE)
    assert [each.replace("<wbr>", "") for each in heads] == causes
    assert len(causes) == 5
    assert "<script" not in html
    assert "the newest time in the dump" in html
    assert "kubectl -n kaito-system describe deployment kaito-workspace" in html


def test_the_last_day_is_told_by_the_events_of_a_dump(run, healthy, tmp_path):
    """What they say is over has a bar; without Events the page says that it cannot know."""
    now = ("--now", "2026-11-20T12:30:00Z", "-o", "html")
    dump = tmp_path / "dump"
    shutil.copytree(healthy, dump, ignore=shutil.ignore_patterns("events.yaml"))
    _, without, _ = run("check", "--from", dump, *now)
    assert "Only what fires now is known" in without
    (dump / "events.json").write_text(json.dumps(record(kaito(), 300)))
    _, html, _ = run("check", "--from", dump, *now)
    day = html.partition('id="day"')[2]
    assert "12:00:00 to about 12:05:00 (5m)" in day
    assert "Times are UTC." in day
    assert "Only what fires now is known" not in day


@pytest.mark.parametrize("output", ["html", "json"])
def test_what_says_that_it_is_utf_8_is_so_in_any_locale(broken, monkeypatch, output):
    """A locale of one byte for each character knows nothing of what the page is drawn with."""
    written = BytesIO()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(written, "ascii"))
    assert main(["check", "--from", str(broken), "-o", output]) == 1
    text = written.getvalue().decode("utf-8")
    assert ("·" in text) == (output == "html")


def test_no_locale_breaks_a_text_off(broken, tmp_path, monkeypatch):
    """What a message from the cluster holds and the locale cannot express is an escape."""
    dump = tmp_path / "dump"
    shutil.copytree(broken, dump)
    gateways = dump / "gateways.yaml"
    gateways.write_text(gateways.read_text().replace("Failed to assign", "Unmöglich: assign"))
    written = BytesIO()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(written, "ascii"))
    assert main(["check", "--from", str(dump)]) == 1
    assert rb"Unm\xf6glich" in written.getvalue()
