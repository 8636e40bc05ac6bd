"""What is told of a status that we do not own."""

import pytest

from reporter.model.text import MESSAGE_BYTES
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.owning import Trouble, TroubleKind, ownership_finding
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.probes.building import NOW

REF = MODELSERVINGS.ref_named("serving", "m")


def finding(kind: TroubleKind, fields=("status.roleStatuses",), manager: str = ""):
    return ownership_finding(REF, Trouble(kind, NOW, fields, manager), Snapshot())


@pytest.mark.parametrize(
    ("kind", "manager", "words"),
    [
        (TroubleKind.CONTESTED, "kthena", ['field manager "kthena"', "status.roleStatuses"]),
        (TroubleKind.CONTESTED, "", ["somebody else keeps changing status.roleStatuses"]),
        (TroubleKind.PRUNED, "", ["CustomResourceDefinition lacks status.roleStatuses"]),
    ],
)
def test_message_says_what_keeps_us_from_writing(kind, manager, words):
    """And which ModelServing it is about."""
    found = finding(kind, manager=manager)
    assert found.message.startswith("ModelServing serving/m: ")
    for word in words:
        assert word in found.message
    assert found.exempt
    assert (found.transition, str(found.subject)) == (NOW, "modelserving/serving/m")


def test_message_fits_and_is_clean():
    """The name of a manager is somebody else's text."""
    fields = tuple(f"status.{'f' * 60}{index}" for index in range(30))
    found = finding(TroubleKind.CONTESTED, fields, "evil\n" + "m" * 4000)
    assert len(found.message.encode()) <= MESSAGE_BYTES
    assert "\n" not in found.message
