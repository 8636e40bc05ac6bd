"""Which mirrors are written, when, when nothing is, and what they say."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue.reasons import CLUSTER_SHARED, HARNESS_READY
from reporter.model.objects import Event
from reporter.resolution.records import record_of
from reporter.sinks.mirror.plan import MirrorPurpose as Why
from reporter.sinks.mirror.plan import document as event_of
from reporter.sinks.mirror.plan import mirror_name
from reporter.stacks.kaito.reasons import INFERENCESETS, MODEL_EPP
from tests.tables import rows
from tests.unit.probes.building import DELETING, FORBIDDEN, at, document, namespace, snapshot_of
from tests.unit.sinks.mirror.building import (
    CLUSTER,
    EPP,
    GATEWAY,
    HARNESS,
    LLAMA,
    OBJECTS,
    fired,
    made,
    planned,
    ready,
)


def purposes(plan):
    return [each.purpose for each in plan.writes]


@rows(
    ("record", "target"),
    {
        "a model": (fired(), ("InferenceSet", "llama", "uid-llama")),
        "a model is ready": (ready(), ("InferenceSet", "llama", "uid-llama")),
        "at fault": (fired(HARNESS, related=GATEWAY), ("Gateway", "gateway", "uid-gateway")),
        "it is missing": (fired(HARNESS, related=replace(GATEWAY, name="x")), None),
        "it is elsewhere": (fired(HARNESS, related=replace(GATEWAY, namespace="istio")), None),
        "of a kind that is not read, with a uid": (
            fired(HARNESS, related=replace(GATEWAY, kind="Widget", api_version="x.io/v1")),
            ("Widget", "gateway", "uid-gateway"),
        ),
        "of a kind that is not read, without": (
            fired(HARNESS, related=replace(GATEWAY, kind="Widget", api_version="x.io/v1", uid="")),
            None,
        ),
        "a namespace is ready": (ready(subject=HARNESS, reason=HARNESS_READY), None),
        "the cluster": (fired(CLUSTER), None),
        "what several models need": (
            fired(CLUSTER, reason=CLUSTER_SHARED, related=GATEWAY),
            ("Gateway", "gateway", "uid-gateway"),
        ),
    },
)
def test_on_which_object_an_event_is_mirrored(record, target):
    """In the object's own namespace, with its uid: else kubectl describe does not find it."""
    found = [
        (each.mirror.object.kind, each.mirror.object.name, each.mirror.object.uid)
        for each in planned(record).writes
    ]
    assert found == ([target] if target else [])


@rows(
    ("record", "purpose"),
    {
        "just told": (fired(first=5), Why.TELL),
        "told before we led, perhaps": (fired(first=120), Why.ASSURE),
        "stale goes on": (fired(state="stale"), Why.ASSURE),
        "closed while nobody led, perhaps": (fired(state="over"), Why.ASSURE),
        "just ready": (ready(ago=5), Why.TELL),
        "ready since a while": (ready(ago=1200), Why.ASSURE),
    },
)
def test_what_nobody_remembers_is_written_once(record, purpose):
    plan = planned(record)
    assert purposes(plan) == [purpose]
    again = planned(record, applied=made(plan))
    assert (purposes(again), again.next_in) == ([], None)


def test_one_that_is_over_and_unknown_is_not_made():
    """A switch that is turned on tells no history of Warnings."""
    (over,) = planned(fired(state="over")).writes
    (moment,) = planned(ready()).writes
    assert (over.applies, moment.applies) == (False, True)


WAS = made(planned(fired()))
WAS_OVER = made(planned(fired(state="over")))


@rows(
    ("record", "applied", "after", "purpose"),
    {
        "over": (fired(state="over"), WAS, 1, Why.CLOSE),
        "again in the same episode": (fired(), WAS_OVER, 1, Why.TELL),
        "changed within ten seconds": (fired(message="x"), WAS, 9, None),
        "changed": (fired(message="x"), WAS, 10, Why.CHANGE),
        "another object at fault": (fired(related=GATEWAY), WAS, 10, Why.CHANGE),
        "seen again": (fired(ago=0, count=9), WAS, 539, None),
        "refresh": (fired(ago=0, count=9), WAS, 600, Why.REFRESH),
        "not seen since": (fired(), WAS, 6000, None),
        "stale is not refreshed": (fired(state="stale"), WAS, 6000, None),
    },
)
def test_only_what_differs_is_written(record, applied, after, *, purpose):
    """And one that was seen again only every ten minutes, well before the API server forgets it."""
    plan = planned(record, applied=applied, after=after)
    assert purposes(plan) == ([purpose] if purpose is not None else [])


def test_a_refresh_is_planned_ahead():
    """No pass is woken for it; the next plan says when it was made."""
    seen_again = fired(ago=0, count=9)
    ahead = planned(seen_again, applied=WAS, after=541)
    (write,) = ahead.writes
    assert (write.purpose, write.due_in.total_seconds(), ahead.next_in) == (Why.REFRESH, 59, None)
    assert write.applied.at == at(600).boot
    assert planned(seen_again, applied=made(ahead), after=601).writes == ()
    assert planned(seen_again, applied=WAS, after=400).next_in is None


def test_an_event_that_is_not_on_record_any_more_is_over():
    """Muted, disabled, expired: what is not told in kube-system is not told here."""
    plan = planned(applied=WAS)
    assert [(each.purpose, each.mirror.live, each.applies) for each in plan.writes] == [
        (Why.CLOSE, False, False)
    ]
    rest = planned(applied=made(plan))
    assert (rest.writes, rest.names) == ((), frozenset())


def test_an_object_that_is_made_anew_has_a_mirror_of_its_own():
    recreated = snapshot_of(namespace("chat"), document("InferenceSet", "llama", "chat", NEW_UID))
    plan = planned(fired(), applied=WAS, snapshot=recreated)
    assert [(each.purpose, each.mirror.object.uid) for each in plan.writes] == [
        (Why.CLOSE, "uid-llama"),
        (Why.ASSURE, "uid-new"),
    ]
    assert len({each.mirror.name for each in plan.writes}) == 2


NEW_UID = {"metadata": {"uid": "uid-new"}}


@pytest.mark.parametrize(("born", "mirrored"), [(60, False), (1200, True)])
def test_an_object_that_is_made_anew_is_not_ready_for_what_was_said_of_the_former(born, mirrored):
    created = {"metadata": {"uid": "uid-new", "creationTimestamp": f"{at(-born).wall:%FT%TZ}"}}
    recreated = snapshot_of(namespace("chat"), document("InferenceSet", "llama", "chat", created))
    assert bool(planned(ready(ago=600), snapshot=recreated).writes) is mirrored
    live = planned(fired(ago=600, first=900), snapshot=recreated).writes
    assert [each.mirror.object.uid for each in live] == ["uid-new"], "what fires is about it too"


LIVE_IN_CHAT = made(planned(fired()))


@pytest.mark.parametrize(("after", "writes"), [(7199, [Why.CLOSE]), (7200, [])])
def test_a_mirror_that_cannot_be_closed_is_forgotten_when_it_has_expired(after, writes):
    """Else a right that was taken away would be asked for without end."""
    plan = planned(applied=LIVE_IN_CHAT, after=after)
    assert purposes(plan) == writes
    assert bool(plan.names) is bool(writes)


def test_while_objects_cannot_be_read_their_mirrors_stay():
    """What is not known is neither told nor taken back."""
    blind = snapshot_of(*OBJECTS, unknown={INFERENCESETS: FORBIDDEN})
    plan = planned(fired(), applied=WAS, snapshot=blind)
    assert plan.writes == ()
    assert plan.names == WAS.keys()


def test_a_namespace_that_goes_gets_nothing_new():
    going = snapshot_of(namespace("chat", DELETING), LLAMA)
    assert planned(fired(), snapshot=going).writes == ()


def test_what_is_over_goes_first_and_what_can_wait_last():
    plan = planned(
        fired(HARNESS, related=GATEWAY, state="over"),
        ready(ago=5),
        fired(first=5),
        fired(message="known", reason="inferencesetModelPodsNotReady"),
    )
    assert [(each.purpose, each.mirror.reason) for each in plan.writes] == [
        (Why.TELL, MODEL_EPP),
        (Why.TELL, "inferencesetReady"),
        (Why.ASSURE, "modelharnessGatewayProgrammingFailed"),
        (Why.ASSURE, "inferencesetModelPodsNotReady"),
    ]


class Server:
    """What the API server has of mirrors: an apply makes, a patch finds or does not."""

    def __init__(self):
        self.mirrors = {}

    def take(self, write):
        if write.applies or write.mirror.name in self.mirrors:
            self.mirrors[write.mirror.name] = write.mirror


states = st.sampled_from(["none", "firing", "stale", "over"])
steps = st.lists(
    st.tuples(
        states,
        st.sampled_from(["a", "b"]),
        st.sampled_from(["uid-llama", "uid-new", None]),
        st.sampled_from(["all made", "lost before", "lost after", "failover"]),
    ),
    max_size=12,
)


@given(steps)
def test_whatever_is_lost_the_mirrors_end_as_the_events_are(steps):
    """Nothing is doubled, and nothing goes on for ever, without ever being read."""
    server, applied, clock = Server(), {}, 0.0
    steps = [*steps, ("over", "a", "uid-llama", "all made")]
    for state, message, uid, fate in steps:
        clock += 20
        records = [fired(state=state, message=message, first=5)] if state != "none" else []
        objects = (
            [document("InferenceSet", "llama", "chat", {"metadata": {"uid": uid}})] if uid else []
        )
        snapshot = snapshot_of(namespace("chat"), *objects)
        plan = planned(*records, applied=applied, snapshot=snapshot, after=clock)
        applied = {name: each for name, each in applied.items() if name in plan.names}
        if fate != "lost before":
            for write in plan.writes:
                server.take(write)
        if fate.startswith("lost"):
            applied |= {each.mirror.name: each.doubted for each in plan.writes}
        if fate == "all made":
            applied |= made(plan)
            if state == "none":
                continue  # Without memory and without a record a mirror is left to expire.
            goes_on = state in ("firing", "stale") and uid is not None
            live = [
                each for each in server.mirrors.values() if each.live and each.object.uid == uid
            ]
            assert len(live) == goes_on
            assert all(each.message == message for each in live)
        elif fate == "failover":
            applied = {}
    assert len(server.mirrors) <= 2, "one for each object"
    assert not [
        each for each in server.mirrors.values() if each.live and each.object.uid == "uid-llama"
    ]


def test_of_another_namespace_stands_only_that_it_does_not_work():
    """Who may read Events here need not know what is there, nor whether it is."""
    (write,) = planned(fired(related=replace(EPP, namespace="kaito-system"))).writes
    assert write.mirror.related == write.mirror.object
    assert write.mirror.message == (
        f"{write.mirror.object}: something that it needs in another namespace does not work; "
        "who runs the cluster finds what in the Events of kube-system"
    )


def body_of(record):
    (write,) = planned(record).writes
    return event_of(write.mirror)


def test_a_mirror_says_what_the_event_says():
    """Times and count are the Event's, so that a repeated apply changes nothing."""
    record = fired(first=65, ago=5, count=3)
    body = body_of(record)
    assert body["metadata"] == {
        "name": mirror_name(record.event.name, "uid-llama"),
        "namespace": "chat",
        "labels": {"status-reporter.io/mirror": "firing"},
        "annotations": {"status-reporter.io/mirror-of": f"kube-system/{record.event.name}"},
    }
    assert body["involvedObject"] == {
        "apiVersion": "kaito.sh/v1beta1",
        "kind": "InferenceSet",
        "namespace": "chat",
        "name": "llama",
        "uid": "uid-llama",
    }
    times = ("eventTime", "firstTimestamp", "lastTimestamp", "count")
    assert [body[each] for each in times] == [
        "2026-11-20T11:58:55.000000Z",
        "2026-11-20T11:58:55Z",
        "2026-11-20T11:59:55Z",
        3,
    ]
    assert (body["type"], body["reason"], body["message"]) == (
        "Warning",
        "inferencesetEPPNotReady",
        "the endpoint picker is down",
    )
    component = "productionstack-status-reporter"
    assert body["reportingComponent"] == body["source"]["component"] == component


@pytest.mark.parametrize("record", [fired(), ready()])
def test_a_mirror_is_never_taken_for_an_event_of_ours(record):
    """Workloads may be in kube-system, where our Events are read back."""
    body = body_of(record)
    assert record_of(msgspec.json.decode(msgspec.json.encode(body), type=Event)) is None
    assert body["metadata"]["name"] != record.event.name
    assert "status-reporter.io/reason" not in body["metadata"]["labels"], (
        "what is listed and watched"
    )
    assert "status-reporter.io/state" not in body["metadata"]["labels"], "what people select by"
