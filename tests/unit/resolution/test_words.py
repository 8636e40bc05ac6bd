"""Whose words a fault has while it passes a state, such as a turn of a crash loop."""

import pytest

from reporter.model.subject import ObjectRef
from tests.tables import rows
from tests.unit.resolution.building import Resolver, finding, snapshot
from tests.unit.resolution.test_records import events_of

PODS = "inferencesetModelPodsNotReady"
MAIN, OTHER = "container vllm", "container proxy"


def told(text, about="", **fields):
    """A fault of a pod that fires at once; its message and its cause are `text`."""
    values = {"message": text, "cause": text, "about": about, "exempt": True, "severity": 5}
    return finding(PODS, **values | fields)


def crashed(about=MAIN, **fields):
    return told("crashed", about, **fields)


def waits(about=MAIN, **fields):
    return told("waits", about, passing=True, **fields)


def said(resolver):
    line = resolver[PODS]
    assert line.disposition == "firing"
    assert line.message == line.cause
    return line.message


@rows(
    ("before", "after", "says"),
    {
        "same part": (crashed(), waits(), "crashed"),
        "same part and less bad": (crashed(), waits(severity=1), "crashed"),
        "no part and as bad": (crashed(), waits(""), "crashed"),
        "no part and less bad": (crashed(), waits("", severity=1), "waits"),
        "never a part and less bad": (crashed(""), waits("", severity=1), "waits"),
        "another part": (crashed(OTHER), waits(), "waits"),
        "another node": (crashed(lost_node="n-1"), waits(), "waits"),
        "same node": (crashed(lost_node="n-1"), waits(lost_node="n-1"), "crashed"),
        "both pass": (crashed(passing=True), waits(), "waits"),
        "the later one does not pass": (crashed(), told("other", MAIN), "other"),
    },
)
def test_what_passes_says_what_was_said_before(before, after, says):
    """Unless that was about something else, or said no more itself."""
    resolver = Resolver()
    resolver.look(0, before)
    resolver.look(10, after)
    assert said(resolver) == says


def test_the_words_stay_about_their_part_while_another_state_has_none():
    """A pod that says nothing of its containers for a moment does not end what was said of one."""
    resolver = Resolver()
    resolver.look(0, crashed())
    for at, state in ((10, waits("")), (20, waits()), (30, waits(""))):
        resolver.look(at, state)
        assert said(resolver) == "crashed"


def test_what_passes_after_a_restart_says_what_it_is():
    """The Event on record goes on; the finding that it told of is not known any more."""
    resolver = Resolver()
    resolver.look(10, waits(), seen=snapshot(events=events_of(crashed())))
    assert said(resolver) == "waits"


@pytest.mark.parametrize(("about", "says"), [(MAIN, "waits"), ("", "crashed")])
def test_an_object_that_is_made_again(about, says):
    """The container of another pod has not crashed; a component on its way up keeps its words."""
    resolver = Resolver()
    first, second = (ObjectRef("v1", "Pod", "demo", "p-0", uid) for uid in "ab")
    resolver.look(0, crashed(about, related=first))
    resolver.look(10, waits(about, related=second))
    assert said(resolver) == says
