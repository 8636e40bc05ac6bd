"""The commands that make a sufficient dump: what a live reporter reads, and no more."""

import re

from reporter.cli.judged import why_nothing_is_judged
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import CLUSTER_WIDE, Stack

LINE = re.compile(r'for kind in (.*); do kubectl get "\$kind" -A(?: -l (\S+))? -o yaml')


def asked(settings: FullEvaluationSettings) -> list[tuple[str, str]]:
    """Which kinds with which label the commands ask for."""
    text = why_nothing_is_judged(Snapshot(), settings, from_dump=True)
    found = (LINE.search(line) for line in text.splitlines())
    return sorted((kind, each[2] or "") for each in found if each for kind in each[1].split())


def wanted(*off: Stack) -> list[tuple[str, str]]:
    read = [each for each in CLUSTER_WIDE if each.stack not in off]
    selectors = {
        str(each): {other.label_selector for other in read if str(other) == str(each)}
        for each in read
    }
    kinds = [
        ("ns" if name == "namespaces" else name, "" if len(chosen) > 1 else min(chosen))
        for name, chosen in selectors.items()
    ]
    return sorted([("crd", ""), *kinds])


def test_kinds_are_asked_for_with_the_label_that_is_read():
    """A dump leaves the cluster: other ConfigMaps have no business in it."""
    assert asked(FullEvaluationSettings()) == wanted()


def test_nothing_is_asked_for_of_a_stack_that_is_off():
    found = {stack: asked(FullEvaluationSettings(stacks={stack: "off"})) for stack in Stack}
    assert found == {stack: wanted(stack) for stack in Stack}


def test_the_shortest_way_is_named_first():
    """Who can reach the cluster needs one command, and `--complete` is never asked for."""
    text = why_nothing_is_judged(Snapshot(), FullEvaluationSettings(), from_dump=True)
    assert "`status-reporter dump`" in text.splitlines()[0]
    assert "--complete" not in text
