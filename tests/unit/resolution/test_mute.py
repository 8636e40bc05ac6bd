"""Rule 4: what a mute does to an episode that had already begun."""

from dataclasses import replace

import pytest

from reporter.catalogue import resources as r
from reporter.model.objects import MUTE
from reporter.stacks.kaito.reasons import WORKSPACES
from tests.tables import rows
from tests.unit.resolution.building import NOON, Resolver, at, finding, seconds, snapshot, tell
from tests.unit.resolution.test_mutes import holding, obj

PODS, KAITO = "inferencesetModelPodsNotReady", "clusterKaitoControllerNotReady"
EPP = "inferencesetEPPNotReady"
BLIND = snapshot(unknown=[WORKSPACES])


def mutes(*names, base=None):
    """A snapshot in which pods with these names have a mute."""
    annotations = {MUTE: f"{PODS},{EPP}"}
    pods = ((r.PODS, obj(r.PODS, name, "demo", **annotations)) for name in names)
    return holding(*pods, base=base)


def fault(name="a", **fields):
    return finding(PODS, name, **{"exempt": True} | fields)


A, B, BOTH = fault("a"), fault("b"), mutes("a", "b")
UP = finding(KAITO, exempt=True, governs=True)
OWN_A, OWN_B = (fault(each, independent=True) for each in "ab")
YOUNG_B, SLOW_B = (fault("b", exempt=False, **more) for more in ({}, {"budget": seconds(900)}))
EPP_A, EPP_B = (finding(EPP, each, exempt=True) for each in "ab")
UNREAD = snapshot(unknown=[WORKSPACES, r.DEPLOYMENTS])
FIRES, MUTED, CLEARS = ({PODS: each} for each in ("firing", "muted", "clearing"))
SINCE_NOON = {PODS: {"since": NOON}}


@rows(
    "passes",
    {
        "an episode keeps its start, even if the muted fault that began it is gone and another one is left": [
            at(0, A, seen=BOTH), at(10, A, B, seen=BOTH), at(100, B, seen=BOTH, found=MUTED, lines=SINCE_NOON),
        ],
        "so does one beside what an upstream explains": [
            at(0, A, seen=BOTH), *(at(second, A, OWN_B, UP, seen=BOTH, found={KAITO: "firing"} | MUTED, lines=SINCE_NOON) for second in (10, 20)),
        ],
        "a fault that is not seen any more is muted with all the others: as long as one is not, it clears": [
            at(0, A, B), at(10, seen=mutes("a"), found=CLEARS), at(20, seen=BOTH, found=MUTED),
        ],
        "whichever it is": [at(0, A, B), at(10, seen=mutes("b"), found=CLEARS), at(20, seen=BOTH, found=MUTED)],
        "a young fault does not keep what is clearing from being muted": [
            at(0, A), *(at(second, YOUNG_B, found=CLEARS) for second in (10, 20)), at(30, YOUNG_B, seen=mutes("a"), found=MUTED),
        ],
        "what is stale for longer than its fault is remembered stays: a mute would be about nobody knows what": [
            at(0, A), *(at(second, SLOW_B, seen=BLIND, found=FIRES) for second in (10, 80)), at(90, SLOW_B, seen=mutes("a", "b", base=BLIND), found=FIRES),
        ],
        "a secondary fault that is stale is muted": [
            at(0, A, EPP_A), at(10, seen=UNREAD, found=FIRES | {EPP: "secondary"}, lines={EPP: {"by": (PODS,)}}),
            at(20, seen=mutes("a", base=UNREAD), found=MUTED | {EPP: "muted"}, lines={EPP: {"by": ()}}),
        ],
        "a secondary fault that is gone is not listed for a mute": [
            at(0, B, EPP_A), *(at(second, B, seen=mutes("a"), found=FIRES) for second in (10, 20)),
        ],
        "a muted fault beside one that an upstream explains": [at(0, UP, OWN_A, B, seen=mutes("a"), found={KAITO: "firing"} | MUTED)],
        "what clears beside a muted fault outranks others: else they would be told each time that it comes and goes": [
            at(0, A, B, seen=mutes("a")), at(10, A, finding(EPP, "c", exempt=True), seen=mutes("a"), found=CLEARS | {EPP: "secondary"}),
        ],
        "a secondary fault beside a muted one does not clear": [
            at(0, fault("c"), EPP_A, EPP_B, seen=mutes("a"), lines={EPP: {"disposition": "secondary"}}),
            at(10, fault("c"), EPP_A, seen=mutes("a"), found=FIRES | {EPP: "muted"}),
        ],
    },
)  # fmt: skip
def test_what_a_mute_does_to_an_episode(passes):
    tell(*passes)


@pytest.mark.parametrize("base", [None, BLIND], ids=["clearing", "stale"])
def test_a_fault_that_is_not_seen_any_more_is_muted(base):
    line = {"primary": False, "stale": base is not None}
    told = tell(
        at(0, A, lines={PODS: {"primary": True}}),
        at(10, seen=mutes("a", base=base), found=MUTED, lines={PODS: line}),
    )
    assert [mute.object.name for mute in told[PODS].mutes] == ["a"]


@pytest.mark.parametrize(("muted", "becomes"), [("a", "muted"), ("b", "clearing")])
def test_what_only_an_event_on_record_tells_of_is_muted_by_its_object(muted, becomes):
    """The fault is gone when the next process starts, and the Event names the object."""
    before, after = Resolver(), Resolver()
    before.look(0, fault("a"))
    recorded = snapshot(events=before.events())
    seen = replace(recorded, tables={**recorded.tables, **mutes(muted).tables})
    assert after.look(10, seen=seen) == {PODS: becomes}


@pytest.mark.parametrize(("exempt", "gone_for"), [(True, 60), (False, 5)])
def test_a_told_fault_beside_a_muted_one_clears_as_any_other(exempt, gone_for):
    """It takes as long as a recovery, and the reporter wakes then."""
    resolver = Resolver(grace={PODS: 5})
    both = fault("a", exempt=exempt), fault("b", exempt=exempt)
    resolver.look(0, *both, seen=mutes("a"))
    assert resolver.look(5, *both, seen=mutes("a")) == {PODS: "firing"}
    assert resolver.look(6, both[0], seen=mutes("a")) == {PODS: "clearing"}
    assert resolver.wake_in == seconds(gone_for - 1)
    assert resolver.look(4 + gone_for, both[0], seen=mutes("a")) == {PODS: "clearing"}
    assert resolver.look(5 + gone_for, both[0], seen=mutes("a")) == {PODS: "muted"}
