"""What must hold of the tables of the catalogue, whatever rows they have."""

from collections import Counter
from itertools import pairwise

import pytest

from reporter.catalogue.runtime import of_kind
from reporter.model.reason import EventType
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, SubjectKind
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.resources import INFERENCESET_KIND
from tests.tables import (
    ALL,
    CLUSTER_WIDE,
    FROM_METRICS,
    POD_SUPPRESSION,
    REASONS,
    SCRAPED_KINDS,
    SUPPRESSION,
    Stack,
    subjects_of,
)

NAMES = {each.name for each in REASONS}
OF_STACKS = sorted({each.subject_kind for each in CLUSTER_WIDE} - {None})
PREFIXES = {
    CLUSTER_KIND: "cluster",
    NAMESPACE_KIND: "modelharness",
    **{kind: str(kind) for kind in OF_STACKS},
}


def test_names_are_unique():
    assert [
        name for name, count in Counter(each.name for each in REASONS).items() if count > 1
    ] == []


@pytest.mark.parametrize("reason", REASONS, ids=lambda each: each.name)
def test_a_name_begins_with_what_its_subject_is(reason):
    """So that an operator, and a query, can tell by it."""
    assert reason.name.startswith(PREFIXES[reason.subject_kind])
    assert (reason.layer is Layer.DEPLOYMENT) is (reason.subject_kind in OF_STACKS)


def test_reasons_of_one_kind_stand_together():
    """The table is cut into chapters by kind; its order within one is the priority."""
    kinds = [each.subject_kind for each in REASONS]
    chapters = [kinds[0], *(after for before, after in pairwise(kinds) if after is not before)]
    assert len(chapters) == len(set(chapters))


@pytest.mark.parametrize("reason", REASONS, ids=lambda each: each.name)
def test_what_says_that_a_subject_works(reason):
    """One reason of each kind, `...Ready`. Its Event is Normal; not all that is Normal says so."""
    says = reason.name == f"{PREFIXES[reason.subject_kind]}Ready"
    assert reason.says_ready is says
    if says:
        assert reason.type is EventType.NORMAL
        assert (reason.chain, reason.blocks_ready) == (False, False)


@pytest.mark.parametrize("reason", REASONS, ids=lambda each: each.name)
def test_what_a_reason_reads_is_read(reason):
    """Of a stack only the resources of the kind's own stack: else another one could blind it."""
    stacks = {each.stack for each in BUILT_IN.of_subject(reason.subject_kind)} | {""}
    assert reason.all_reads <= set(ALL)
    assert {each.stack for each in reason.reads} <= stacks


@pytest.mark.parametrize("stack", Stack)
def test_a_stack_has_subjects_of_one_kind(stack):
    """By which it is seen whether the cluster has it."""
    assert len({each.subject_kind for each in subjects_of(stack)}) == 1
    assert all(each.custom for each in subjects_of(stack))


def test_resources_of_one_kind_differ_in_what_they_select():
    """Else one object would be watched twice, and counted under one name."""
    assert len({each.selection for each in CLUSTER_WIDE}) == len(CLUSTER_WIDE)


@pytest.mark.parametrize("row", SUPPRESSION, ids=lambda row: f"{row.upstream} {row.crd}")
def test_suppression_names_reasons(row):
    assert {row.upstream, *row.downstream} <= NAMES
    assert row.upstream not in row.downstream
    assert row.why


def test_kinds_whose_pods_are_judged():
    """Each stack says it of its own."""
    scraping = [each for each in BUILT_IN.stacks if each.scraped]
    assert [each.scraped.kind for each in scraping if each.scraped.kind not in each.kinds] == []


@pytest.mark.parametrize("kind", SCRAPED_KINDS)
def test_every_kind_has_every_reason_from_metrics(kind):
    """With the same window, thresholds and words; it rests on the subject and its pods."""
    rows = {each.name: each for each in REASONS}
    for name in FROM_METRICS:
        one, other = rows[name], rows[of_kind(name.removeprefix(INFERENCESET_KIND), kind)]
        for fact in ("summary", "trigger", "action", "window_seconds", "thresholds", "chain"):
            assert getattr(one, fact) == getattr(other, fact)
        assert set(BUILT_IN.of_subject(kind)) < set(other.reads)


def silenced(kind: SubjectKind) -> set[tuple[str, str]]:
    """Which reasons hide which others of one kind, by what follows the kind."""
    return {
        (row.upstream.removeprefix(kind), each.removeprefix(kind))
        for row in POD_SUPPRESSION
        if row.upstream.startswith(kind)
        for each in row.downstream
    }


PODS = {"ModelPodsNotReady", "PodsNotReady"}
"""What is told of pods that are not Ready: of an InferenceSet, and of the others."""


@pytest.mark.parametrize("kind", SCRAPED_KINDS)
def test_silencing_is_the_same_for_every_kind(kind):
    def plain(kind):
        return {("" if up in PODS else up, down) for up, down in silenced(kind)}

    assert plain(kind) == plain(INFERENCESET_KIND)


@pytest.mark.parametrize("row", POD_SUPPRESSION, ids=lambda row: row.upstream)
def test_silencing_stays_within_a_kind(row):
    """The faults of one pod belong to one subject."""
    (kind,) = (kind for kind in SCRAPED_KINDS if row.upstream.startswith(kind))
    assert {each for each in row.downstream if not each.startswith(kind)} == set()
    assert {row.upstream, *row.downstream} <= NAMES
