"""The last hour of episodes."""

from datetime import timedelta

import pytest

from reporter.model.report import Disposition
from reporter.sinks.page import history as history_module
from reporter.sinks.page.build import page_view
from reporter.sinks.page.history import History
from reporter.sinks.page.strip import ROWS
from reporter.sinks.page.view import About
from tests.unit.sinks.page.reports import KAITO, NOW, PODS, finding, later, model

FIRING, CLEARING = Disposition.FIRING, Disposition.CLEARING
SUPPRESSED, PENDING = Disposition.SUPPRESSED, Disposition.PENDING


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def after(*reports):
    history = History()
    for each in reports:
        history = history.after(each)
    return history


def strip(*reports):
    return page_view(reports[-1], About(), after(*reports)).strip


def kaito(disposition=FIRING, since=0):
    return finding(KAITO, disposition=disposition, since=at(since))


@pytest.mark.parametrize(
    ("reports", "told"),
    [
        pytest.param([later(60, kaito())], ["since 12:00:00 (60s)"], id="goes on"),
        pytest.param(
            [later(60, kaito()), later(90, kaito(CLEARING))],
            ["since 12:00:00 (90s)"],
            id="clearing goes on",
        ),
        pytest.param([later(60, kaito()), later(90)], ["12:00:00 to 12:01:30 (90s)"], id="over"),
        pytest.param(
            [later(60, kaito()), later(90, kaito(SUPPRESSED))],
            ["12:00:00 to 12:01:30 (90s)"],
            id="suppressed is over",
        ),
        pytest.param(
            [later(60, kaito()), later(90), later(300, kaito(since=200))],
            ["12:00:00 to 12:01:30 (90s), since 12:03:20 (100s)"],
            id="again",
        ),
        pytest.param(
            [later(60, kaito()), later(300, kaito(since=200))],
            ["12:00:00 to 12:03:20 (3m20s), since 12:03:20 (100s)"],
            id="again between two looks",
        ),
        pytest.param([later(60, kaito(PENDING)), later(90)], [], id="never fired"),
        pytest.param(
            [later(60, kaito()), later(90), later(90 + 3599)],
            ["12:00:00 to 12:01:30 (90s)"],
            id="within the hour",
        ),
        pytest.param([later(60, kaito()), later(90), later(90 + 3600)], [], id="an hour ago"),
        pytest.param(
            [later(60, kaito(since=-100_000))],
            ["since 2026-11-19 08:13 (27h)"],
            id="the day is told of what is old",
        ),
    ],
)
def test_episodes_are_told(reports, told):
    """Begin, end and how long."""
    assert [row.told for row in strip(*reports).rows] == told


def test_bars_lie_within_the_hour():
    """What began before is cut at the left end."""
    reports = later(0, kaito(since=-7200)), later(600), later(1200, kaito(since=900))
    (row,) = strip(*reports).rows
    assert [(span.begin, span.end, span.open) for span in row.spans] == [
        (0, 3000, False),
        (3300, 3600, True),
    ]


def test_it_says_since_when_it_counts():
    """What had ended before the first report cannot be known; one look knows of no end at all."""
    assert strip(later(60), later(90)).counts_from == at(60)
    assert History.of(later(60, kaito())).counts_from is None


def test_what_goes_on_comes_before_what_is_over():
    """Then what ended last."""
    a, b = finding(PODS, model("a")), finding(PODS, model("b"))
    rows = strip(later(0, a, b), later(10, b), later(20), later(30, kaito())).rows
    assert [row.subject.rpartition("/")[2] for row in rows] == ["cluster", "b", "a"]


def test_the_history_is_bounded(monkeypatch):
    """The newest episodes stay, and what is not drawn is counted."""
    monkeypatch.setattr(history_module, "MOST", 40)
    many = [finding(PODS, model(f"m{n:03}")) for n in range(100)]
    history = after(later(0, *many), later(10, *many[50:]), later(20))
    assert len(history.over) == 40
    assert {each.finding.subject.name for each in history.over} == {
        f"m{n:03}" for n in range(60, 100)
    }
    shown = page_view(later(20), About(), history).strip
    assert (len(shown.rows), shown.more) == (ROWS, 40 - ROWS)
