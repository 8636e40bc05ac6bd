"""`check --from` with pages of model pods beside the objects (docs/check.md)."""

import json
from datetime import UTC, datetime, timedelta
from shutil import copytree

import pytest

from lab.simulation import Life, Phase, render
from tests.tables import of_inferencesets as t
from tests.tables import rows

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PHI = "chat-models/phi-4-mini-dbr9r-0"
KV_CACHE = (t.KV_CACHE, "inferenceset/chat-models/phi-4-mini")
QUICK = ("--grace", f"{t.KV_CACHE}=60")


@pytest.fixture(name="dump")
def _dump(tmp_path, healthy):
    """A folder with the healthy stack."""
    return copytree(healthy, tmp_path / "dump")


@pytest.fixture(name="save")
def _save(dump):
    """Saves what a pod in a phase serves at some seconds before noon; returns the folder."""

    def save(*ages, pod=PHI, phase=Phase.SATURATED, change=lambda text: text, **parameters):
        life = Life(NOON.timestamp() - max(ages) - 1)
        life.become(phase, NOON.timestamp() - max(ages) - 1, **parameters)
        for age in sorted(ages, reverse=True):
            at = int(NOON.timestamp() - age)
            life.advance(at)
            path = dump / "metrics" / pod / f"{at}.prom"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(change(render(life)))
        return dump

    return save


@pytest.fixture(name="check")
def _check(run):
    """Checks a folder; returns the report."""

    def check(folder, *argv):
        _, out, err = run("check", "--from", folder, "-o", "json", *argv)
        assert err == ""
        return json.loads(out)

    return check


def fired(report):
    return [(each["reason"], each["subject"]) for each in report["findings"]]


def test_pages_of_several_times_make_a_window(save, check):
    report = check(save(0, 20, 40, 60), *QUICK)
    assert fired(report) == [KV_CACHE]
    (finding,) = report["findings"]
    assert finding["disposition"] == "firing"
    assert "pod phi-4-mini-dbr9r-0: engine 0 KV cache at 95% or more for 60 s" in finding["message"]
    assert report["now"] == "2026-11-20T12:00:00Z"
    assert [each["reason"] for each in report["events"] if each["type"] == "Warning"] == [
        t.KV_CACHE
    ]
    assert report["skipped"] == []


@rows(
    "ages",
    {
        "a single page": (0,),
        "a part of the window": (0, 20, 40),
        "a hole in the window": (0, 10, 20, 30, 200, 210),
    },
)
def test_pages_that_make_no_window_raise_nothing(save, check, ages):
    """They end nothing either: the stack is as ready as without them."""
    report = check(save(*ages), *QUICK)
    assert fired(report) == []
    assert "inferenceset/chat-models/phi-4-mini" in {each["subject"] for each in report["ready"]}


def test_pages_from_hours_before_the_dump_say_nothing_of_it(save, check):
    folder = save(0, 20, 40, 60)
    assert fired(check(folder, *QUICK, "--now", "2026-11-20T12:05:00Z")) == [KV_CACHE]
    assert fired(check(folder, *QUICK, "--now", "2026-11-20T15:00:00Z")) == []


def test_page_that_cannot_be_read_counts_as_a_failed_scrape(save, check):
    """One among good ones is a gap that is bridged; nothing but such pages is a fault."""
    good = save(0, 20, 60)
    (good / "metrics" / PHI / f"{int(NOON.timestamp()) - 40}.prom").write_bytes(b"\x00<html>")
    assert fired(check(good, *QUICK)) == [KV_CACHE]
    bad = save(*range(0, 160, 20), change=lambda _: "<html>")
    report = check(bad, *QUICK)
    assert fired(report) == [(t.SCRAPE_FAILING, "inferenceset/chat-models/phi-4-mini")]
    assert "its metrics could not be read for 2 min: unreadable" in report["findings"][0]["message"]


def test_misnamed_file_is_skipped_by_name(save, check):
    folder = save(0, 20, 40, 60)
    (folder / "metrics" / PHI / "latest.prom").write_text("vllm:num_requests_running 1\n")
    report = check(folder, *QUICK)
    assert fired(report) == [KV_CACHE]
    assert report["skipped"] == [
        {
            "resource": "pods/metrics",
            "namespace": "chat-models",
            "name": "phi-4-mini-dbr9r-0",
            "cause": "latest.prom: not named <unix seconds>.prom",
        }
    ]


def test_newest_page_sets_the_time(save, check):
    late = NOON + timedelta(hours=1)
    at = int(late.timestamp())
    folder = save(0, 20)
    path = folder / "metrics" / PHI
    (path / f"{int(NOON.timestamp())}.prom").rename(path / f"{at}.prom")
    assert check(folder)["now"] == "2026-11-20T13:00:00Z"
