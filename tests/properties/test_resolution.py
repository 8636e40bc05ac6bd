"""Properties of the resolution that hold for every sequence of passes."""

import pickle
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from reporter.model.finding import Evaluation
from reporter.model.instant import Instant
from reporter.model.report import Disposition
from reporter.resolution import Memory, resolve
from reporter.stacks.settings import FullEvaluationSettings
from tests.properties.passes import NOON, SUBJECTS, Pass, calm, sequences, settings_
from tests.properties.reference_resolver import ReferenceResolver
from tests.tables import BY_NAME


def run(passes, settings):
    """Yield each pass with its resolution."""
    memory = Memory()
    for each in passes:
        resolution = resolve(
            each.evaluation, each.snapshot, memory, now=each.now, settings=settings
        )
        memory = resolution.memory
        yield each, resolution


def essence(key, row):
    """What the rules decide about a finding, without its words, as one line."""
    fires_at = row.fires_at and row.fires_at - NOON
    return (
        f"{key.reason} {key.subject} {key.involved.name}: {row.disposition!s} since "
        f"{row.since - NOON} fires at {fires_at} by {row.by} {'stale' * row.stale}"
    )


@given(sequences(), settings_())
def test_the_rules_are_kept(passes: list[Pass], settings: FullEvaluationSettings):
    """The resolution decides as the rules do when they are followed word by word."""
    reference = ReferenceResolver()
    for number, (given_, resolution) in enumerate(run(passes, settings)):
        wanted = reference.resolve(
            given_.evaluation, given_.snapshot, given_.now, settings=settings
        )
        found = sorted(essence(each.key, each) for each in resolution.report.findings)
        expected = sorted(essence(key, row) for key, row in wanted.items())
        assert found == expected, f"pass {number}"


@given(sequences(), settings_(), st.randoms(use_true_random=False))
def test_the_order_of_findings_means_nothing(passes, settings, random):
    """The same findings in another order give the same report."""
    shuffled = []
    for each in passes:
        findings = list(each.evaluation.findings)
        random.shuffle(findings)
        ready = tuple(reversed(each.evaluation.ready))
        evaluation = Evaluation(tuple(findings), ready, each.evaluation.subjects[::-1])
        shuffled.append(Pass(evaluation, each.snapshot, each.now))
    reports = [resolution.report for _, resolution in run(passes, settings)]
    assert reports == [resolution.report for _, resolution in run(shuffled, settings)]


@given(sequences(), settings_())
def test_no_finding_is_lost(passes, settings):
    """Each key that is seen has one line, unless its only findings are there to sustain others."""
    for given_, resolution in run(passes, settings):
        listed = [each.key for each in resolution.report.findings]
        assert len(listed) == len(set(listed))
        seen = {each.key for each in given_.evaluation.findings if not each.sustains}
        assert seen <= set(listed)


@given(sequences(), settings_())
def test_messages_fit_into_an_event(passes, settings):
    """Every message is one line of valid UTF-8 within the API server's limit."""
    for _, resolution in run(passes, settings):
        for each in resolution.report.findings:
            assert len(each.message.encode()) <= 1024
            assert "\n" not in each.message
            assert "http://" not in each.message
            assert "https://" not in each.message


@given(sequences(), settings_())
def test_a_second_look_changes_nothing(passes, settings):
    """A pass with the same input at the same moment gives the same report and wakes as early."""
    for given_, first in run(passes, settings):
        again = resolve(
            given_.evaluation, given_.snapshot, first.memory, now=given_.now, settings=settings
        )
        assert again.report == first.report
        assert again.wake_in == first.wake_in


@given(sequences(jumps=False), settings_())
def test_nothing_changes_before_the_timer(passes, settings):
    """Until `wake_in` has passed the report stays, if the cluster does; without it, for good."""
    for given_, resolution in run(passes, settings):
        wake_in = resolution.wake_in
        assert wake_in is None or wake_in > timedelta(0)
        wait = timedelta(days=2) if wake_in is None else wake_in - timedelta(microseconds=1)
        now = Instant(given_.now.wall + wait, given_.now.boot + wait)
        later = resolve(
            given_.evaluation, given_.snapshot, resolution.memory, now=now, settings=settings
        )
        before = {each.key: each for each in resolution.report.findings}
        assert {each.key: each for each in later.report.findings} == before
        assert later.wake_in is None or wake_in is not None


@given(sequences(troubled=False), settings_())
def test_the_memory_does_not_grow(passes, settings):
    """The same states time and again leave as much in mind after ten rounds as after three."""
    sizes = []
    memory = Memory()
    start, end = passes[0].now, passes[-1].now
    for round_ in range(10):
        offset = (end.boot - start.boot + timedelta(seconds=61)) * round_
        for each in passes:
            now = Instant(each.now.wall + offset, each.now.boot + offset)
            memory = resolve(
                each.evaluation, each.snapshot, memory, now=now, settings=settings
            ).memory
        # Of the steps there is one of each name, with what it was given last.
        assert len(memory.steps) < 20
        sizes.append(len(pickle.dumps(replace(memory, steps={}))))
    assert max(sizes[3:]) <= 2 * max(sizes[:4])


@given(sequences(), settings_())
def test_quiet_at_last(passes, settings):
    """Two hours after the last fault nothing is left but what is told to be ready."""
    *_, (last, resolution) = run(passes, settings)
    memory = resolution.memory
    well = calm(last.now)
    for hours in (0, 1, 2):
        wait = timedelta(hours=hours)
        now = Instant(last.now.wall + wait, last.now.boot + wait)
        resolution = resolve(well.evaluation, well.snapshot, memory, now=now, settings=settings)
        memory = resolution.memory
    assert resolution.report.findings == ()
    assert not memory.episodes
    assert not memory.governing
    assert not memory.released
    assert resolution.wake_in is None
    assert {each.subject for each in resolution.report.ready} == set(SUBJECTS)


@given(sequences(), settings_())
def test_dispositions_explain_themselves(passes, settings):
    """`by` names somebody where somebody holds, suppresses or outranks, and what is pending may wait."""
    explained = {Disposition.HELD, Disposition.SUPPRESSED, Disposition.SECONDARY}
    for _, resolution in run(passes, settings):
        for each in resolution.report.findings:
            waits = bool(each.by) and each.disposition is Disposition.PENDING
            assert waits or bool(each.by) == (each.disposition in explained)
            assert not each.primary or each.disposition is Disposition.FIRING
            if each.fires_at is not None:
                assert each.disposition in {Disposition.PENDING, Disposition.HELD}


@given(sequences(), settings_())
def test_nothing_is_ready_and_at_fault(passes, settings):
    for _, resolution in run(passes, settings):
        faulty = {
            each.subject for each in resolution.report.findings if BY_NAME[each.reason].blocks_ready
        }
        assert faulty.isdisjoint(each.subject for each in resolution.report.ready)
