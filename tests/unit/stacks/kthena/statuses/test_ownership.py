"""Who owns a status: an object, an opponent, and our writes, played through on a table's time."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.model.text import MESSAGE_BYTES
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived.status import digest, our_share
from reporter.stacks.kthena.owning import AT_ONCE, NEVER, Answer, Ownership, RewriteInterval, judge
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.probes.building import at
from tests.unit.stacks.kthena.statuses.building import modelserving, target

RESYNC = timedelta(seconds=60)


def roles(*states: str):
    """A status with one instance for each state, of which Kthena wrote the rest."""
    entries = [
        {"servingGroupName": "m-0", "roleName": "r", "roleID": f"r-{index}", "status": state}
        for index, state in enumerate(states)
    ]
    return {"replicas": 1, "roleStatuses": entries}


LOST = {"replicas": 1}
KTHENA = {"manager": "kthena", "subresource": "status", "time": "2026-11-20T11:00:00Z"}
OTHER = roles("NotFound")
"""A value of somebody else in our own field."""


class Play:
    """One object on an API server that drops some fields, seen through a watch that may lag."""

    def __init__(self, stored=LOST, *, whole: bool = False, drops: tuple[str, ...] = ()) -> None:
        self.stored, self.version = stored, 1
        self.whole, self.drops = whole, drops
        self.seen = stored, 1
        self.memory = self.answer = None
        self.writes: list[float] = []

    def look(self) -> None:
        """The watch brings what is stored."""
        self.seen = self.stored, self.version

    def foreign(self, status) -> None:
        """Somebody else replaces the status."""
        self.stored, self.version = status, self.version + 1
        self.look()

    def judge(self, second: float, wanted):
        status, version = self.seen
        claim = target(modelserving("m", str(version), status, managedFields=[KTHENA]), wanted)
        self.memory, verdict = judge(
            self.memory, claim, self.answer, now=at(second), whole=self.whole, resync=RESYNC
        )
        return verdict

    def pass_(self, second: float, wanted, *, frame: bool = True, answer: bool = True) -> bool:
        """A pass, and the write that it asks for; return whether it asks for one."""
        write, _ = self.judge(second, wanted)
        if write is not None and self.seen[1] == self.version:
            self.writes.append(second)
            self._write(wanted, write.left_out, answer=answer)
            if frame:
                self.look()
        return write is not None

    def _write(self, wanted, left_out, *, answer: bool) -> None:
        asked = our_share(wanted, whole=self.whole, without=left_out)
        before = self.version
        kept = {name: each for name, each in asked.items() if name not in self.drops}
        stored = kept if self.whole else {**self.stored, **kept}
        if stored != self.stored:
            self.stored, self.version = stored, before + 1
        self.late = Answer(
            before=str(before),
            version=str(self.version),
            stored=digest(our_share(self.stored, whole=self.whole, without=left_out)),
            asked=digest(asked),
            left_out=left_out,
            pruned=tuple(sorted(set(asked) & set(self.drops))),
        )
        if answer:
            self.answer = self.late

    @property
    def troubles(self):
        return told(self.memory, whole=self.whole)


def told(memory: Ownership, *, whole: bool = False):
    ref = MODELSERVINGS.ref_named("serving", "m")
    return [*memory.findings(ref, Snapshot(), whole=whole)]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("stored", [LOST, roles("Creating")])
def test_status_that_is_not_as_wanted_is_written_once(stored, whole):
    """Nothing is remembered at first: a restart costs one write at most."""
    play = Play(stored, whole=whole)
    assert [play.pass_(second, roles("Running")) for second in (0, 1, 60)] == [True, False, False]


def test_status_that_is_as_wanted_is_not_touched():
    """Times of conditions say nothing, and what is empty may be left out."""
    condition = {"type": "Available", "status": "True", "reason": "R", "message": "m"}
    stored = {
        "replicas": 1,
        "conditions": [{**condition, "lastTransitionTime": "2026-11-20T12:00:00Z"}],
    }
    wanted = {"replicas": 1, "updatedReplicas": 0, "roleStatuses": [], "conditions": [condition]}
    assert not Play(stored, whole=True).pass_(0, wanted)


@pytest.mark.parametrize("whole", [True, False])
def test_rest_of_the_status_matters_only_if_it_is_ours(whole):
    """Beside a controller that counts replicas we have no say in them."""
    play = Play({**roles("Running"), "replicas": 5}, whole=whole)
    assert play.pass_(0, roles("Running")) is whole


def test_two_changes_of_others_within_a_resync_end_our_writing_for_ever_longer():
    """One resync at first, doubled, at most 10 minutes; it is told since the second change."""
    play = Play()
    for second in range(4000):
        if play.pass_(second, roles("Running")):
            play.foreign(OTHER)
    assert play.writes == [0, 1, 62, 183, 424, 905, 1506, 2107, 2708, 3309, 3910]
    (trouble,) = play.troubles
    assert trouble.transition == at(2).wall
    assert trouble.cause == "somebody else keeps changing status.roleStatuses"
    assert 'field manager "kthena"' in trouble.message


def test_changes_of_others_that_are_further_apart_are_put_right():
    """Somebody edits the status by hand now and then."""
    play = Play()
    for round_ in range(20):
        second = round_ * 61
        assert play.pass_(second, roles("Running"))
        assert not play.pass_(second + 1, roles("Running"))
        play.foreign(OTHER)
    assert not play.troubles


def fought() -> Play:
    """An object that somebody else changed three times: we stand back for a minute from second 2."""
    play = Play()
    for second in range(3):
        play.pass_(second, roles("Running"))
        if second < 2:
            play.foreign(OTHER)
    assert play.troubles
    return play


def test_fight_is_over_when_our_status_has_stood_for_a_resync():
    """And the next one begins with the shortest wait again."""
    play = fought()
    assert not play.pass_(61, roles("Running"))
    assert play.pass_(62, roles("Running"))
    assert not play.pass_(63, roles("Running"))
    assert play.troubles
    assert not play.pass_(123, roles("Running"))
    assert not play.troubles
    play.foreign(OTHER)
    assert play.pass_(200, roles("Running"))


def test_fight_is_over_although_our_own_status_changes_all_the_time():
    """A ModelServing that rolls out is written every few seconds."""
    play = fought()
    states = ("Running", "Creating")
    for second in range(62, 123):
        assert play.troubles
        play.pass_(second, roles(states[second % 2]))
    play.pass_(124, roles(states[0]))
    assert not play.troubles


def test_others_that_begin_again_soon_are_fought_no_more():
    """After a long wait the short quiet that ends the trouble does not end the caution."""
    play = Play()
    for second in range(600):
        if play.pass_(second, roles("Running")):
            play.foreign(OTHER)
    assert play.writes[-1] == 424
    assert play.pass_(905, roles("Running"))
    assert not play.pass_(906, roles("Running"))
    assert not play.pass_(966, roles("Running"))
    assert not play.troubles
    play.foreign(OTHER)
    assert play.judge(971, roles("Running")).wait == timedelta(minutes=10)


def test_pass_is_due_when_the_wait_ends():
    """Else it would be over at the next change only."""
    assert fought().judge(12, roles("Running")).wait == timedelta(seconds=50)


def test_others_that_write_what_we_want_are_no_opponents():
    """A controller that computes the same status is sooner now and then."""
    play = Play(whole=True)
    for second, state in enumerate(["Creating", "Running"] * 10):
        assert play.pass_(second, roles(state)) is (second == 0)
        play.foreign(roles("Running" if state == "Creating" else "Creating"))
    assert not play.troubles


def test_loss_beside_a_controller_that_does_not_know_the_field_is_put_right_at_once():
    """Kthena writes the whole status at each step of a start: no fight, and no Warning."""
    play = Play()
    for second in range(0, 400, 8):
        assert play.pass_(second, roles("Running"))
        assert not play.pass_(second + 1, roles("Running"))
        play.foreign({"replicas": second})
    assert not play.troubles
    assert len(play.writes) == 50


def test_loss_of_a_whole_status_is_a_fight():
    """Whoever owns all of it shares it with nobody."""
    play = Play(whole=True)
    for second in range(3):
        is_written = play.pass_(second, roles("Running"))
        play.foreign({})
    assert not is_written
    assert play.troubles


def test_writes_are_paced():
    """A crash loop changes the status at every pass; none waits longer than 7 s."""
    play = Play()
    states = ("Running", "Creating")
    for second in range(300):
        play.pass_(second, roles(states[second % 2]))
    assert play.writes[:AT_ONCE] == list(range(AT_ONCE))
    assert len([each for each in play.writes if 120 <= each < 180]) <= AT_ONCE
    assert all(later - earlier <= 8 for earlier, later in pairwise(play.writes))
    for second in range(500, 502 + AT_ONCE):
        play.pass_(second, roles(states[second % 2]))
    wait = play.judge(502 + AT_ONCE, roles("Deleting")).wait
    assert wait is not None
    assert timedelta(0) < wait <= timedelta(seconds=5)


@pytest.mark.parametrize("whole", [True, False])
def test_watch_of_an_older_definition_that_lacks_a_field_is_no_fight(whole):
    """The field was added to the CRD while the watch was open; the writer has it listed again."""
    play = Play(whole=whole)
    play.pass_(0, roles("Running"))
    play.seen = LOST, play.version
    assert play.pass_(1, roles("Running"))
    play.look()
    assert not play.pass_(2, roles("Running"))
    assert not play.troubles


def test_nothing_is_written_over_our_own_write_that_the_watch_has_not_brought():
    """Not even if more has changed since: the next frame is on its way."""
    play = Play()
    assert play.pass_(0, roles("Creating"), frame=False)
    assert not play.pass_(1, roles("Creating"))
    assert not play.pass_(2, roles("Running"))
    play.look()
    assert play.pass_(3, roles("Running"))
    assert len(play.writes) == 2


def test_watch_that_never_brings_our_write_is_not_waited_for():
    """A cluster put back from a backup: after two minutes the write is repeated."""
    play = Play()
    play.pass_(0, roles("Running"), frame=False)
    play.seen = LOST, 1
    assert play.judge(1, roles("Running")).wait == timedelta(minutes=2)
    assert play.judge(120, roles("Running")).wait == timedelta(seconds=1)
    assert play.judge(121, roles("Running")).write


def test_change_that_the_watch_brings_together_with_our_write_is_seen():
    """The opponent puts back exactly what was there, before we see our own version."""
    play = Play()
    for second in range(2):
        assert play.pass_(second, roles("Running"), frame=False)
        play.foreign(OTHER)
    assert not play.pass_(2, roles("Running"))


def test_change_is_counted_once_although_our_answer_comes_after_it():
    """The answer to what was written before it tells nothing new of it."""
    play = Play()
    play.pass_(0, roles("Creating"))
    play.pass_(100, roles("Running"), frame=False, answer=False)
    play.foreign(OTHER)
    assert play.judge(101, roles("Running")).write
    play.answer = play.late
    assert play.judge(102, roles("Running")).write
    assert not play.troubles


@pytest.mark.parametrize("whole", [True, False])
def test_field_that_is_dropped_is_tried_ever_more_seldom(whole):
    """The CRD lacks it: noticed, told, and not written again and again."""
    play = Play(whole=whole, drops=("roleStatuses",))
    for second in range(3000):
        play.pass_(second, roles("Running"))
    assert play.writes == [0, 61, 182, 423, 904, 1505, 2106, 2707]
    (trouble,) = play.troubles
    assert trouble.cause == "the CustomResourceDefinition lacks status.roleStatuses"


def test_rest_of_the_status_is_written_although_a_field_is_dropped():
    """An older CRD lacks one field; the others are kept up to date."""
    play = Play(whole=True, drops=("roleStatuses",))
    for number in range(10):
        play.pass_(number, {**roles("Running"), "replicas": number + 1})
        assert play.stored["replicas"] == number + 1
    assert len(play.writes) == 10
    assert play.troubles


def test_field_that_was_added_to_the_crd_is_written_at_the_next_try():
    """And the trouble is over."""
    play = Play(drops=("roleStatuses",))
    play.pass_(0, roles("Running"))
    assert play.judge(1, roles("Running")).wait == timedelta(seconds=60)
    play.drops = ()
    assert play.pass_(62, roles("Running"))
    assert not play.pass_(63, roles("Running"))
    assert not play.troubles


def test_refusal_for_a_missing_field_counts_as_dropping_it():
    """Newer API servers store nothing then; what was ours before stays ours."""
    play = Play()
    play.judge(0, roles("Running"))
    play.answer = Answer("1", "1", None, "asked", pruned=("roleStatuses",))
    assert play.judge(1, roles("Running")).write is None
    assert play.troubles


def test_status_that_the_server_stores_in_other_words_is_not_written_again():
    """A field within a condition may be dropped, or a list put into another order."""
    play = Play()
    play.pass_(0, roles("Running", "Creating"))
    swapped = {**play.stored, "roleStatuses": play.stored["roleStatuses"][::-1]}
    play.stored = swapped
    play.answer = Answer("1", "2", digest(our_share(swapped, whole=False)), play.answer.asked)
    play.look()
    assert not play.pass_(1, roles("Running", "Creating"))
    assert play.pass_(2, roles("Running", "Running"))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Creating", "Running", "Deleting"]), st.booleans(), st.booleans()
        ),
        max_size=30,
    )
)
def test_our_own_writes_are_never_taken_for_those_of_others(steps):
    """However our status changes, and whichever of answer and watch frame comes first."""
    play = Play(roles("NotFound"))
    for second, (state, frame, answer) in enumerate(steps):
        play.pass_(second, roles(state), frame=frame, answer=answer)
        assert not play.troubles
        assert play.memory.stirred == NEVER
        if not answer and second % 2:
            play.answer = getattr(play, "late", None)
        if not frame and second % 3:
            play.look()


def test_message_fits_and_is_clean():
    """The name of a manager is somebody else's text."""
    contest = RewriteInterval(since=at(0).wall)
    fields = tuple(f"{'f' * 60}{index}" for index in range(30))
    memory = Ownership(
        contest=contest, pruned=fields, pruning=contest, manager="evil\n" + "m" * 4000
    )
    for found in told(memory):
        assert found.message.startswith("ModelServing serving/m: ")
        assert len(found.message.encode()) <= MESSAGE_BYTES
        assert "\n" not in found.message
        assert found.exempt
        assert (found.transition, str(found.subject)) == (at(0).wall, "modelserving/serving/m")
