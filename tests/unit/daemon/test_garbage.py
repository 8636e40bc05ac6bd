"""When all objects are looked through for garbage: while nothing moves."""

import gc
import weakref

import pytest

from reporter.daemon.passes import EVERY_SECONDS, LATEST_SECONDS, Garbage
from tests.clock import Clock
from tests.tables import rows


class Knot:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _collector():
    """Leaves the collector as it was."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


@rows(
    ("after", "rests", "walks"),
    {
        "rests, just walked": (EVERY_SECONDS - 1, True, False),
        "rests": (EVERY_SECONDS, True, True),
        "moves": (EVERY_SECONDS, False, False),
        "moves for hours": (LATEST_SECONDS, False, True),
    },
)
def test_when(after, rests, walks):
    clock = Clock(1000.0)
    garbage = Garbage(clock)
    clock.now += after
    assert garbage.walk(rests=rests) is walks
    assert garbage.walk(rests=rests) is False, "the next one is not due"


def test_what_is_old_is_freed():
    """A cycle that outlived the young generations goes with the walk."""
    knot = Knot()
    gone = weakref.ref(knot)
    gc.collect()
    del knot
    clock = Clock(1000.0)
    garbage = Garbage(clock)
    gc.collect(1)
    assert gone() is not None
    clock.now += EVERY_SECONDS
    garbage.walk(rests=True)
    assert gone() is None
