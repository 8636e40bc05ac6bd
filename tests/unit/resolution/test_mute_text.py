"""How names that are wrong are objected to, and how much of an annotation is read."""

import pytest

from reporter.model.objects import MUTE, MUTE_UNTIL, Annotations
from reporter.resolution.mutes import Hints, asked
from reporter.stacks import BUILT_IN
from tests.tables import rows
from tests.unit.resolution.building import NOON

EPP = "inferencesetEPPNotReady"
ROUTE = "inferencesetRouteNotReady"
KAITO = "clusterKaitoControllerNotReady"
ENDED = "the mute ended at 2026-11-20T12:00:00Z and mutes nothing any more"


def said(mute, until=None, hints=None):
    """What is said of annotations at noon."""
    annotations = Annotations(mute=mute, mute_until=until)
    return asked(annotations, NOON, BUILT_IN, hints=hints or Hints(BUILT_IN))


@rows(
    ("name", "hint"),
    {
        "near": ("inferencesetEPPReady", f"; did you mean {EPP}?"),
        "in-capitals": (KAITO.upper(), f"; did you mean {KAITO}?"),
        "the-nearest-of-two": ("kaitoControllerNotReady", f"; did you mean {KAITO}?"),
        "two-thirds-alike": ("KaitoController", ""),
        "less-alike": ("GatewayMissing", ""),
        "near-to-what-no-object-carries": ("clusterStatusUnknwn", ""),
        "near-to-a-missing-definition": ("clusterCRDMising", ""),
    },
)
def test_which_reason_may_be_meant(name, hint):
    """Only one that can be muted, and only if most of the name is the same."""
    assert said(name).faults == (f'no reason is called "{name}"{hint}',)


@pytest.mark.parametrize(
    ("length", "shown"), [(80, "y" * 80), (81, "y" * 77 + "...")], ids=["whole", "cut"]
)
def test_a_name_is_shown_in_at_most_80_bytes(length, shown):
    assert said("y" * length).faults == (f'no reason is called "{shown}"',)


@pytest.mark.parametrize(
    ("wrong", "last"),
    [
        (5, 'no reason is called "x4"'),
        (6, "1 more name is not the reason of a fault"),
        (7, "2 more names are not reasons of faults"),
        (12, "7 more names are not reasons of faults"),
    ],
)
def test_five_names_are_objected_to_one_by_one(wrong, last):
    faults = said(",".join(f"x{number}" for number in range(wrong))).faults
    assert faults[:5] == tuple(f'no reason is called "x{number}"' for number in range(5))
    assert faults[4:][-1] == last
    assert len(faults) == min(wrong, 6)


@pytest.mark.parametrize(
    ("text", "reasons", "is_longer"),
    [
        (EPP.ljust(8192, ","), (EPP,), False),
        (EPP.ljust(8193, ","), (EPP,), True),
        (f"{EPP.ljust(8192, ',')}{ROUTE},", (EPP,), True),
        (f"{EPP.ljust(8190, ',')}{ROUTE},", (EPP,), True),
        (f"{EPP.ljust(8000, ',')}{ROUTE},{'x' * 500}", (EPP, ROUTE), True),
    ],
    ids=["as-long-as-allowed", "too-long", "behind-the-end", "across-the-end", "before-the-end"],
)
def test_the_first_8192_characters_are_read(text, reasons, is_longer):
    """A name that stands across the end is none of those that are read."""
    found = said(text)
    assert found.reasons == reasons
    fault = f"{MUTE} is longer than 8192 characters; the rest is not read"
    assert found.faults == ((fault,) if is_longer else ())


@pytest.mark.parametrize(
    ("until", "fault"),
    [
        ("2026-11-20T12:00:00Z", ENDED),
        (
            "soon",
            f'{MUTE_UNTIL} "soon" is not a time like 2026-11-20T12:00:00Z, so nothing is muted',
        ),
    ],
    ids=["ended", "no-time"],
)
def test_a_wrong_name_is_told_beside_a_wrong_end(until, fault):
    found = said(f"{EPP},x", until)
    assert found.reasons == ()
    assert found.faults == ('no reason is called "x"', fault)


def test_a_hundred_names_have_hints():
    hints = Hints(BUILT_IN)
    names = [f"{EPP}{number}" for number in range(102)]
    meant = f"; did you mean {EPP}?"
    found = [hints.of(name) for name in names]
    assert found == [meant] * 100 + [""] * 2
    assert [hints.of(name) for name in names] == found


def test_names_of_one_beginning_are_one_name_to_look_for():
    hints = Hints(BUILT_IN)
    for number in range(150):
        assert said(f"{'y' * 80}{number}", hints=hints).reasons == ()
    (fault,) = said(EPP.lower(), hints=hints).faults
    assert fault == f'no reason is called "{EPP.lower()}"; did you mean {EPP}?'
