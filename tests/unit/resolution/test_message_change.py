"""What an Event says of a change before its fault."""

from datetime import timedelta

import pytest

from reporter.model.report import Disposition, SpecChange
from reporter.model.subject import ObjectRef
from reporter.resolution.grace import Fault
from reporter.resolution.memory import fault_key
from reporter.resolution.message import compose
from reporter.resolution.state import Candidate
from reporter.stacks import BUILT_IN
from tests.unit.resolution.building import NOON, finding

EPP = "inferencesetEPPNotReady"
DEPLOYMENT = ObjectRef("apps/v1", "Deployment", "demo", "epp")
SCALED = SpecChange(object=DEPLOYMENT, at=NOON, field="spec.replicas", before="1", after="0")
WRITTEN = SpecChange(object=DEPLOYMENT, at=NOON - timedelta(minutes=1), by="kubectl")
CHANGE = " (spec.replicas 1 to 0 at 12:00:00Z)"
MORE = " (and 1 more)"


def told(message="EPP is down", disposition=Disposition.FIRING):
    """Two faults of a key, of which the first one says the message."""
    says = (
        finding(EPP, related=DEPLOYMENT, message=message, severity=1),
        finding(EPP, "y"),
    )
    faults = tuple(
        Fault(
            clock=fault_key(each), finding=each, says=each, since=NOON, first_seen=timedelta(0),
            ripe=True, remaining=timedelta(0), next_in=None, began_seen={},
        )
        for each in says
    )  # fmt: skip
    return Candidate(says[0].key, BUILT_IN[EPP], faults, None, disposition)


def test_the_first_change_stands_behind_the_cause():
    """The others are in the report; what else there is to say comes after it."""
    message = compose(told(), [told()], {}, changes=[SCALED, WRITTEN])
    assert message == f"EPP is down{CHANGE}{MORE}"


def test_nothing_is_said_where_nothing_was_changed():
    assert compose(told(), [told()], {}) == f"EPP is down{MORE}"


@pytest.mark.parametrize("disposition", sorted(set(Disposition) - {Disposition.FIRING}))
def test_only_what_fires_tells_of_a_change(disposition):
    """What waits, or is explained by something else, has no Event."""
    waiting = told(disposition=disposition)
    assert compose(waiting, [waiting], {}, changes=[SCALED]) == f"EPP is down{MORE}"


@pytest.mark.parametrize("character", ["x", "ü", "\U0001f9ca"])
def test_a_change_is_told_where_there_is_room_for_it(character):
    """It is told whole or not at all, and takes no room from the cause; the limit is one of bytes."""
    room = 1024 - len(f"{CHANGE}{MORE}")
    wide, narrow = divmod(room, len(character.encode()))
    fits = "." * narrow + character * wide
    assert compose(told(fits), [], {}, changes=[SCALED]) == f"{fits}{CHANGE}{MORE}"
    longer = f"{fits}."
    assert compose(told(longer), [], {}, changes=[SCALED]) == f"{longer}{MORE}"
