"""What an Event says first: of a list that is 120 columns wide a message has some seventy."""

import re

from tests.scenarios.test_scenarios import Run
from tests.scenarios.world import SCENARIOS, span

COLUMNS = 70
"""What a message has of `kubectl get events -o custom-columns=REASON:.reason,MESSAGE:.message`."""

MOST = 0.07
"""Share of the messages of which a long name alone takes that much; others of their reasons fit."""

_LASTS = 600
_IS = re.compile(r"is (?:down|degraded): ")
_FAULT = re.compile(
    r"\b(?:scaled to zero|missing|no pods|starting|terminating|rollout|not set up|\w+BackOff|Unschedulable|\w+Degraded"
    r"|volumes|is|are|was|has|have|does|do|cannot|waits|fails?|keeps?|names?|sends?|selects?|serves?|differs?|ends?|go|gets?|"
    r"without|no|not|only|asks?|wants?|needs?|leads?|exists?|calls?|stays?|spec\.\S+)\b"
)
"""A word by which it says what is wrong, behind whom it is about."""


def _messages():
    """Each message that fires in a scenario, with its reason."""
    told = {}
    for cases in SCENARIOS.values():
        for case in cases:
            if max(span(each.get("at", "0s")) for each in case["steps"]).total_seconds() > _LASTS:
                continue
            run = Run(case)
            for step in case["steps"]:
                run.go_to(span(step.get("at", "0s")))
                run.take(step)
                told |= {each.message: each.reason for each in run.report.findings if each.fires}
    return told


def test_what_is_wrong_begins_within_the_first_seventy_characters():
    """Paths and suffixes come after it, and the reason has a column of its own."""
    told = _messages()
    late = []
    for message, reason in told.items():
        assert not message.startswith(reason)
        found = _FAULT.search(_IS.sub(lambda each: " " * len(each[0]), message))
        if found is None or found.start() >= COLUMNS:
            late.append(f"{found and found.start()}: {message[:110]}")
    assert len(told) > 200
    assert len(late) <= MOST * len(told), "\n".join(late)
