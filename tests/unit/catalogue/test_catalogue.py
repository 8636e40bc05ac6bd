"""The catalogue keeps its rules: reasons, ways, sources, and what leads to them."""

from collections import Counter
from itertools import pairwise

import pytest

from reporter.catalogue.pickers import PICKER_NAMES
from reporter.catalogue.runtime import of_kind
from reporter.catalogue.ways import WAYS, clients_get, explaining
from reporter.cli.explain import main
from reporter.model.reason import EventType
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, SubjectKind
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.scenarios.world import SCENARIOS
from tests.tables import (
    ALL,
    BY_NAME,
    CLUSTER_WIDE,
    FROM_METRICS,
    PICKED_KINDS,
    POD_SUPPRESSION,
    REASONS,
    SCRAPED_KINDS,
    SUPPRESSION,
    Stack,
    rows,
    subjects_of,
)

NAMES = {each.name for each in REASONS}
OF_STACKS = sorted({each.subject_kind for each in CLUSTER_WIDE} - {None})
PREFIXES = {
    CLUSTER_KIND: "cluster",
    NAMESPACE_KIND: "modelharness",
    **{kind: str(kind) for kind in OF_STACKS},
}


KINDS = [each.subject_kind for each in REASONS]
CHAPTERS = [KINDS[0], *(after for before, after in pairwise(KINDS) if after != before)]
SAYING = [each for each in REASONS if each.says_ready]
STACKS_OF = {kind: {each.stack for each in BUILT_IN.of_subject(kind)} | {""} for kind in PREFIXES}
FACTS = ("summary", "trigger", "action", "window_seconds", "thresholds", "chain")
SCRAPING = [each.scraped.kind in each.kinds for each in BUILT_IN.stacks if each.scraped]
SCALED = {
    each.name for each in BUILT_IN.stacks if any(one.name.endswith("ScalingNotReady") for one in each.reasons)
}  # fmt: skip


FROM_METRICS_OF_SCRAPED_KINDS = [
    (BY_NAME[name], BY_NAME[of_kind(name.removeprefix(INFERENCESET_KIND), kind)])
    for name in FROM_METRICS
    for kind in (PICKED_KINDS if name.endswith(PICKER_NAMES) else SCRAPED_KINDS)
]


@rows(
    "broken",
    {
        "names are unique": [name for name, count in Counter(each.name for each in REASONS).items() if count > 1],
        "a name begins with what its subject is, so that a query can tell by it": [
            each.name for each in REASONS if not each.name.startswith(PREFIXES[each.subject_kind])
        ],
        "the subjects of stacks are the layer of deployments": [
            each.name for each in REASONS if (each.layer is Layer.DEPLOYMENT) is not (each.subject_kind in OF_STACKS)
        ],
        "reasons of one kind stand together: the order within a chapter is the priority": [
            kind for kind, count in Counter(CHAPTERS).items() if count > 1
        ],
        "what says that a subject works is Normal, of no chain, and does not block": [
            each.name for each in SAYING if each.type is not EventType.NORMAL or each.chain or each.blocks_ready
        ],
        "what a reason reads is read: else nothing would ever be seen of it": [each.name for each in REASONS if not each.all_reads <= set(ALL)],
        "a reason reads of stacks only its own: else another could blind it": [
            each.name for each in REASONS if not {read.stack for read in each.reads} <= STACKS_OF[each.subject_kind]
        ],
        "resources of one kind differ in what they select: else one object would be watched twice": [
            each for each, count in Counter(one.selection for one in CLUSTER_WIDE).items() if count > 1
        ],
        "suppression names reasons": [each for row in SUPPRESSION for each in (row.upstream, *row.downstream) if each not in NAMES],
        "nothing suppresses itself": [row for row in SUPPRESSION if row.upstream in row.downstream],
        "every row of suppression says why": [row for row in SUPPRESSION if not row.why],
        "autoscalers are read for each stack that judges them": SCALED ^ {each.name for each in BUILT_IN.stacks if each.scales},
        "pods are scraped of the kinds of their stack": [each for each in SCRAPING if not each],
        "every kind has every reason from metrics with the same facts: one page is told alike": [
            (other.name, fact) for one, other in FROM_METRICS_OF_SCRAPED_KINDS for fact in FACTS if getattr(one, fact) != getattr(other, fact)
        ],
        "a reason from metrics depends on the subject and its pods: else nobody knows whose page it is": [
            other.name for _, other in FROM_METRICS_OF_SCRAPED_KINDS if not set(BUILT_IN.of_subject(other.subject_kind)) < set(other.reads)
        ],
        "each part on a way names reasons and a public source": [
            each.part for each in WAYS if not set(each.reasons) <= NAMES or "/" not in each.source
        ],
    },
)  # fmt: skip
def test_nothing_breaks_a_rule(broken):
    assert [*broken] == []


def test_what_says_that_a_subject_works():
    """One reason of each kind, `...Ready`. Its Event is Normal; not all that is Normal says so."""
    assert [each.name for each in SAYING] == [f"{PREFIXES[kind]}Ready" for kind in CHAPTERS]


def test_a_stack_has_subjects_of_one_kind():
    kinds = {stack: {each.subject_kind for each in subjects_of(stack)} for stack in Stack}
    several = {
        stack: found
        for stack, found in kinds.items()
        if len(found) != 1 and stack is not Stack.DIALECTS  # each file brings one
    }
    assert several == {Stack.KAITO: {"inferenceset", "workspace"}}
    assert [each for stack in Stack for each in subjects_of(stack) if not each.custom] == []


def suppressed(kind: SubjectKind) -> set[tuple[str, str]]:
    """Which reasons hide which others of one kind, by what follows the kind."""
    return {
        (row.upstream.removeprefix(kind), each.removeprefix(kind))
        for row in POD_SUPPRESSION
        if row.upstream.startswith(kind)
        for each in row.downstream
    }


PODS = {"ModelPodsNotReady", "PodsNotReady", "RoleStuckCreating"}
"""What is told of pods that are not Ready: of an InferenceSet, and of the others."""


def test_suppression_in_a_pod_is_the_same_for_every_kind():
    """One fault of a pod explains another by what vLLM does, not by who runs it."""

    def plain(kind, *, picked):
        return {
            ("" if up in PODS else up, down)
            for up, down in suppressed(kind)
            if (up in PICKER_NAMES) is picked
        }

    for picked, kinds in ((False, SCRAPED_KINDS), (True, PICKED_KINDS)):
        expected = plain(INFERENCESET_KIND, picked=picked)
        assert [kind for kind in kinds if plain(kind, picked=picked) != expected] == []


def test_suppression_in_a_pod_stays_within_a_kind():
    assert {each for row in POD_SUPPRESSION for each in (row.upstream, *row.downstream)} <= NAMES
    kinds = {
        row.upstream: {BY_NAME[each].subject_kind for each in (row.upstream, *row.downstream)}
        for row in POD_SUPPRESSION
    }
    assert {name: found for name, found in kinds.items() if len(found) != 1} == {}
    assert {kind for found in kinds.values() for kind in found} == set(SCRAPED_KINDS)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ("bbr_unavailable", "clusterBBRNotReady"),
        ("502 bbr_unavailable", "clusterBBRNotReady"),
        ("ext_authz_unavailable", "clusterGatewayAuthNotReady"),
        ("epp_unavailable", "inferencesetEPPNotReady"),
        ("gateway_unavailable", "modelharnessGatewayDataPlaneNotReady"),
        ("MODEL_UNAVAILABLE", "inferencesetModelPodsNotReady"),
        ("model_not_found", "inferencesetRouteNotReady"),
        ("429", "modelserviceEPPShedding"),
        ("x-kaito-error-source: authz", "clusterGatewayAuthNotReady"),
        ("503", "inferenceserviceRevisionNotReady"),
    ],
)
def test_what_a_client_saw_leads_to_the_reasons(seen, reason, capsys):
    assert main([seen]) == 0
    assert f"  {reason}: {BUILT_IN[reason].summary}" in capsys.readouterr().out


def test_each_reason_on_the_way_fires_in_a_scenario():
    """A row that nothing tests would be a belief. Runtime rules read pages, which scenarios do not have."""
    fires = {
        reason
        for cases in SCENARIOS.values()
        for case in cases
        for step in case["steps"]
        for reason, disposition in (step.get("findings") or {}).items()
        if "firing" in str(disposition)
    }
    explained = {name for each in WAYS for name in each.reasons}
    runtime = {each.name for each in BUILT_IN if each.window_seconds}
    assert explained - fires - runtime == set()


def test_a_cause_says_what_clients_get():
    assert clients_get("clusterBBRNotReady") == "502 bbr_unavailable"
    assert clients_get("clusterKedaNotReady") == ""
    assert explaining("clusterBBRNotReady") == ()
