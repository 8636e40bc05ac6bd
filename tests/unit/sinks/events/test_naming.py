"""Names and labels of Events: valid for the API server, and one name for one episode only."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.model.finding import FindingKey
from reporter.model.subject import CLUSTER_KIND, ObjectRef, Subject
from reporter.sinks.events.plan import event_name, label_value, ready_name
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, MODEL_EPP
from tests.tables import BY_NAME
from tests.unit.sinks.events.test_plan import ready

SINCE = datetime(2026, 11, 20, 12, tzinfo=UTC)
SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

names = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?", fullmatch=True)
subjects = st.one_of(
    st.just(Subject(CLUSTER_KIND)),
    st.builds(Subject.of_namespace, names),
    st.builds(Subject, st.just(INFERENCESET_KIND), names, names),
)
involved = st.builds(ObjectRef, st.just("v1"), st.just("Namespace"), st.just(""), names)
keys = st.builds(FindingKey, st.sampled_from(sorted(BY_NAME)), subjects, involved)
moments = st.datetimes(
    min_value=datetime(2020, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2040, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    timezones=st.just(UTC),
)
episodes = st.tuples(keys, moments)


@given(episodes)
def test_every_name_is_a_dns_subdomain(episode):
    """Both views of the Event API accept the name."""
    name = event_name(*episode)
    assert len(name) <= 253
    assert SUBDOMAIN.fullmatch(name)


@given(episodes, episodes)
def test_two_episodes_never_share_a_name(one, other):
    """Equal names mean the same key and the same start."""
    assert (event_name(*one) == event_name(*other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("team", "a-qwen"), ("team-a", "qwen")),
        (("team", "a.qwen"), ("team", "a-qwen")),
        (("a" * 60, "b" * 200), ("a" * 60, "b" * 201)),
    ],
)
def test_names_do_not_collide(one, other):
    """Two subjects have two names, even where both become the same characters."""
    space = ObjectRef("v1", "Namespace", "", "x")

    def name(subject):
        return event_name(FindingKey(MODEL_EPP, Subject(INFERENCESET_KIND, *subject), space), SINCE)

    assert name(one) != name(other)


def test_a_recurrence_has_a_name_of_its_own():
    """A second incident is a new object, not a higher count of the first."""
    space = ObjectRef("v1", "Namespace", "", "x")
    key = FindingKey(MODEL_EPP, Subject(INFERENCESET_KIND, "x", "m"), space)
    later = SINCE + timedelta(microseconds=1)
    assert event_name(key, SINCE) != event_name(key, later)


def test_each_recovery_is_told_under_a_name_of_its_own():
    """Ready after one Warning is not Ready after another."""

    one, other = (ready(episode=each) for each in ("x.m.one", "x.m.other"))
    assert ready_name(one) != ready_name(other)


@given(st.text(max_size=300))
def test_every_label_value_is_valid(text):
    value = label_value(text)
    assert len(value) <= 63
    assert LABEL.fullmatch(value)


@given(names, names)
def test_label_values_keep_names_apart(one, other):
    assert (label_value(one) == label_value(other)) == (one == other)
