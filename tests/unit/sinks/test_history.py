"""The story of faults: what each hit, what had changed before, what ended it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from reporter.model.instant import rfc3339
from reporter.model.report import Disposition, Impact, SpecChange
from reporter.model.subject import ObjectRef, Subject
from reporter.sinks.history import MOST, EpisodeHistory
from reporter.stacks.workloads.reasons import WORKLOAD_KIND
from tests.tables import rows
from tests.unit.sinks.page.reports import KAITO, NOW, finding, later

DEPLOYMENT = ObjectRef("apps/v1", "Deployment", "kaito-system", "kaito-workspace")
OTHER = ObjectRef("apps/v1", "Deployment", "other", "other")


def change(seconds, ref=DEPLOYMENT, after="1"):
    at = NOW + timedelta(seconds=seconds)
    return SpecChange(
        object=ref, at=at, by="kubectl-scale", field="spec.replicas", before="0", after=after
    )


def kaito(**more):
    return replace(finding(KAITO, since=NOW), related=DEPLOYMENT, **more)


@rows(
    ("changes", "ended_after"),
    {
        "last": ([change(100)], "spec.replicas 0 to 1 by kubectl-scale at 12:01:40Z"),
        "the last of several": ([change(50, after="0"), change(100)], "spec.replicas 0 to 1 by kubectl-scale at 12:01:40Z"),
        "of another object": ([change(100, OTHER)], None),
        "before the fault": ([change(-5)], None),
        "nothing was seen": ([], None),
    },
)  # fmt: skip
def test_it_says_after_what_change_a_fault_ended(changes, ended_after):
    """A fact and no proof: the last change of its objects while it lasted."""
    history = EpisodeHistory().after(later(60, kaito())).after(later(120), changes)
    (told,) = history.document(NOW)["episodes"]
    assert told["endedAfter"] == ended_after


def test_what_another_cause_explains_now_says_so():
    suppressed = kaito(disposition=Disposition.SUPPRESSED, by=("clusterNodeNotReady",))
    history = EpisodeHistory().after(later(60, kaito())).after(later(90, suppressed), [change(80)])
    (told,) = history.document(NOW)["episodes"]
    assert told["became"] == "suppressed by clusterNodeNotReady"
    assert told["endedAfter"] is None


def test_the_worst_impact_is_kept():
    """How many it hit in the end says little of an outage."""
    reports = [
        later(60, kaito(impact=Impact(3, 1, 2))),
        later(90, kaito(impact=Impact(0, 2, 1))),
        later(120),
    ]
    history = EpisodeHistory()
    for each in reports:
        history = history.after(each)
    (told,) = history.document(NOW)["episodes"]
    assert told["impact"] == {"notServing": 3, "degraded": 1, "namespaces": 2}


def test_namespaces_share_what_is_kept():
    """A tenant whose models fail again and again displaces no other's episode."""
    of_one = kaito(subject=Subject(WORKLOAD_KIND, "quiet", "m"))
    of_many = [kaito(subject=Subject(WORKLOAD_KIND, "loud", f"m-{n}")) for n in range(MOST + 9)]
    history = EpisodeHistory().after(later(60, of_one)).after(later(90, *of_many)).after(later(120))
    assert len(history.over) == MOST
    assert history.over[0].key.subject.namespace == "quiet"
    assert history.over[-1].key.subject.name == of_many[-1].subject.name


@pytest.mark.parametrize(("seconds", "episodes"), [(-0.2, 1), (0.2, 1), (20, 2)])
def test_a_standby_tells_one_episode_from_when_the_leader_saw_it(seconds, episodes):
    """Each replica sees a fault begin a little apart, and the Event says when the leader did."""
    moved = replace(kaito(), since=NOW + timedelta(seconds=seconds))
    history = EpisodeHistory().after(later(60, kaito())).after(later(90, moved))
    told = history.document(NOW)["episodes"]
    assert len(told) == episodes
    assert told[0]["began"] == rfc3339(moved.since)


def test_replicas_give_an_episode_the_same_link():
    """A link that was sent still leads there after a failover."""
    one = EpisodeHistory().after(later(60, kaito())).after(later(90))
    other = EpisodeHistory().after(later(75, kaito()))
    ids = {each.document(NOW)["episodes"][0]["id"] for each in (one, other)}
    assert len(ids) == 1
