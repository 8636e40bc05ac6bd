"""The last day of episodes."""

from datetime import timedelta

import pytest

from reporter.model.instant import rfc3339
from reporter.model.reason import EventType
from reporter.model.report import Disposition
from reporter.resolution.records import records_of
from reporter.sinks import history as history_module
from reporter.sinks.events.plan import finding_event, ready_event
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import LIMITS, page_html
from reporter.sinks.page.view import ReportOrigin
from tests.tables import rows
from tests.unit.resolution.building import snapshot
from tests.unit.sinks.page.reports import KAITO, NOW, PODS, finding, later, model, ready

FIRING, CLEARING = Disposition.FIRING, Disposition.CLEARING
SUPPRESSED, PENDING = Disposition.SUPPRESSED, Disposition.PENDING
MUTED = Disposition.MUTED


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def after(*reports):
    history = EpisodeHistory()
    for each in reports:
        history = history.after(each)
    return history


def strip(*reports):
    return page_view(reports[-1], ReportOrigin(), after(*reports)).strip


def said(row):
    return ", ".join(each.words for each in row.episodes)


def kaito(disposition=FIRING, since=0):
    return finding(KAITO, disposition=disposition, since=at(since))


BEFORE, AGO = later(60, kaito()), "12:00:00 to 12:01:30 (90s)"


@rows(
    ("reports", "told"),
    {
        "goes on": ([BEFORE], "since 12:00:00 (60s)"),
        "clearing goes on": ([BEFORE, later(90, kaito(CLEARING))], "since 12:00:00 (90s)"),
        "over": ([BEFORE, later(90)], AGO),
        "suppressed is over": ([BEFORE, later(90, kaito(SUPPRESSED))], AGO),
        "muted goes on": ([BEFORE, later(90, kaito(MUTED))], "since 12:00:00 (90s), muted"),
        "fires again after a mute, it is one episode": ([BEFORE, later(90, kaito(MUTED)), later(300, kaito())], "since 12:00:00 (5m)"),
        "muted until it was over": ([later(60, kaito(MUTED)), later(90)], AGO),
        "again": ([BEFORE, later(90), later(300, kaito(since=200))], f"{AGO}, since 12:03:20 (100s)"),
        "again between two looks": ([BEFORE, later(300, kaito(since=200))], "12:00:00 to 12:03:20 (3m20s), since 12:03:20 (100s)"),
        "it turns out to have begun before": ([BEFORE, later(300, kaito(since=-200))], "since 11:56:40 (8m20s)"),
        "never fired": ([later(60, kaito(PENDING)), later(90)], ""),
        "within the day": ([BEFORE, later(90), later(90 + 86_399)], f"2026-11-20 12:00 to {AGO[12:]}"),
        "a day ago": ([BEFORE, later(90), later(90 + 86_400)], ""),
        "the day is given for what is old": ([later(60, kaito(since=-100_000))], "since 2026-11-19 08:13 (27h)"),
    },
)  # fmt: skip
def test_episodes_are_told(reports, told):
    assert [said(row) for row in strip(*reports).rows] == ([told] if told else [])


def test_bars_lie_within_the_day():
    """An episode that began earlier is cut off at the left."""
    reports = later(0, kaito(since=-90_000)), later(600), later(1200, kaito(since=900))
    (row,) = strip(*reports).rows
    assert [(each.begin, each.end, each.goes_on) for each in row.episodes] == [
        (0, 85_800, False),
        (86_100, 86_400, True),
    ]


def test_it_says_since_when_it_counts():
    """Ends before the first report are unknown; a single pass knows of no end at all."""
    assert strip(later(60), later(90)).counts_from == at(60)
    assert EpisodeHistory.of(later(60, kaito())).counts_from is None


def test_what_goes_on_comes_before_what_is_over():
    a, b = finding(PODS, model("a")), finding(PODS, model("b"))
    drawn = strip(later(0, a, b), later(10, b), later(20), later(30, kaito())).rows
    assert [row.subject.rpartition("/")[2] for row in drawn] == ["cluster", "b", "a"]


def test_what_is_muted_leaves_the_lines_to_what_is_not():
    a, b = finding(PODS, model("a")), finding(PODS, model("b"))
    muted = finding(KAITO, disposition=MUTED)
    drawn = strip(later(0, muted, a, b), later(10, muted, b)).rows
    assert [row.subject.rpartition("/")[2] for row in drawn] == ["b", "a", "cluster"]
    assert drawn[-1].mark.name == "muted"


def test_the_history_is_bounded(monkeypatch):
    """The newest episodes are kept, and those that are not drawn are counted."""
    monkeypatch.setattr(history_module, "MOST", 40)
    many = [finding(PODS, model(f"m{n:03}")) for n in range(100)]
    history = after(later(0, *many), later(10, *many[50:]), later(20))
    assert len(history.over) == 40
    assert {each.key.subject.name for each in history.over} == {f"m{n:03}" for n in range(60, 100)}
    shown = page_view(later(20), ReportOrigin(live=True), history)
    assert f" {40 - LIMITS['rows']} more are not drawn." in page_html(shown)
    assert len(shown.strip.rows) == 40


def record(found, last, state="over"):
    """The Event of a finding, as it is on record at the end of its episode."""
    event = finding_event(found, found.since, "somebody")
    event["metadata"]["labels"]["status-reporter.io/state"] = state
    event["lastTimestamp"] = rfc3339(at(last))
    return event


def restarted(events, *reports):
    """The strip of a daemon whose first report is the first of these."""
    found = records_of(snapshot(events=events))
    now = reports[-1]
    history = after(*reports).with_records(found, now.catalogue, now.now)
    return page_view(now, ReportOrigin(), history).strip


ENDED, LAST_SEEN = record(kaito(), 300), record(kaito(), 300, "firing")
ABOUT = "12:00:00 to about 12:05:00 (5m)"


@rows(
    ("events", "reports", "told"),
    {
        "it ended before the restart": ([ENDED], [later(1200)], ABOUT),
        "nobody was there when it ended": ([LAST_SEEN], [later(1200)], ABOUT),
        "it goes on": ([LAST_SEEN], [later(1200, kaito())], "since 12:00:00 (20m)"),
        "it was muted before the restart, and goes on": ([ENDED], [later(1200, kaito(MUTED))], "since 12:00:00 (20m), muted"),
        "what was seen is better known": ([ENDED], [later(600, kaito()), later(1200)], "12:00:00 to 12:20:00 (20m)"),
        "another replica dated it a little later": ([record(kaito(since=1), 2)], [BEFORE, later(90)], AGO),
        "another replica dated it a little earlier": ([record(kaito(since=-1), 0)], [later(60, kaito(since=2))], "since 12:00:02 (58s)"),
        "several times": (
            [ENDED, record(kaito(since=600), 900)], [later(1200, kaito(since=1000))],
            f"{ABOUT}, 12:10:00 to about 12:15:00 (5m), since 12:16:40 (3m20s)",
        ),
        "a day ago": ([ENDED], [later(300 + 86_400)], ""),
        "of a clock that is ahead": ([record(kaito(since=60), 90)], [later(30)], ""),
    },
)  # fmt: skip
def test_events_on_record_tell_what_was_before(events, reports, told):
    """A restart or a new leader does not empty the day."""
    found = restarted(events, *reports)
    assert [said(row) for row in found.rows] == ([told] if told else [])
    assert found.recorded


def test_an_event_that_says_ready_is_no_episode():
    event = ready_event(ready(model("a")), NOW, "somebody")
    assert restarted([event], later(60)).rows == ()


@pytest.mark.parametrize(
    ("type_", "mark"), [(EventType.WARNING, "firing"), (EventType.NORMAL, "notice")]
)
def test_the_type_of_an_event_says_how_it_looks(type_, mark):
    """It looks as it did at the time."""
    (row,) = restarted([record(finding(KAITO, type=type_, since=NOW), 300)], later(600)).rows
    assert row.mark.name == mark


@pytest.mark.parametrize(
    ("type_", "count"), [(EventType.WARNING, 1), (EventType.NORMAL, 0)], ids=["fault", "unclear"]
)
def test_a_reason_that_is_not_in_the_catalogue_any_more(type_, count):
    """A fault was a fault all the same; whether anything else lasted is unknown."""
    events = [record(finding("customGone", type=type_, since=NOW), 300)]
    assert len(restarted(events, later(600)).rows) == count


def test_a_link_leads_to_any_episode_of_the_day():
    """If everything is asked for; otherwise the last ones are enough."""
    reports = [later(n * 60, *([kaito(since=n * 60)] if n % 2 else [])) for n in range(1, 22)]
    history = after(*reports)
    shown = page_view(reports[-1], ReportOrigin(live=True), history)
    ids = [f'id="{each.id}"' for each in (*history.over, *history.going_on.values())]
    whole = page_html(shown, whole=True)
    assert [each for each in ids if each not in whole] == []
    assert sum(each in page_html(shown) for each in ids) == 5
