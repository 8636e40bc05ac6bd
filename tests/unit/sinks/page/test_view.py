"""What the page shows of a report, as values."""

from datetime import timedelta

import pytest

from reporter.model.reason import EventType
from reporter.model.report import Disposition, Mute, MuteFault, UnknownResource
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page.build import page_view
from reporter.sinks.page.view import Lost, ReportOrigin, filtered
from reporter.stacks.kthena.reasons import MODELSERVING_KIND
from tests.tables import rows
from tests.unit.sinks.page.reports import (
    EPP,
    GATEWAY,
    INFRA,
    ISTIO,
    KAITO,
    NAMESPACE,
    NOW,
    PODS,
    finding,
    model,
    report,
)

SUPPRESSED, SECONDARY, HELD = Disposition.SUPPRESSED, Disposition.SECONDARY, Disposition.HELD
PENDING, CLEARING = Disposition.PENDING, Disposition.CLEARING
STALLED, SLOW = "inferencesetWeightDownloadStalled", "inferencesetWeightDownloadSlow"


def view(*findings, **changes):
    found = report(*findings, **changes)
    return page_view(found, ReportOrigin(), EpisodeHistory.of(found))


def outline(findings):
    """Return reasons with what hangs below them."""
    return [
        (each.finding.reason, outline(each.below)) if each.below else each.finding.reason
        for each in findings
    ]


A, B = model("a"), model("b")


def explained(reason, *by, subject=A, disposition=SUPPRESSED):
    return finding(reason, subject, disposition, by=by)


@rows(
    ("findings", "causes", "others"),
    {
        "nothing": ([], [], []),
        "in the order of the report": (
            [finding(KAITO), finding(PODS, A), finding(GATEWAY, NAMESPACE)], [KAITO, PODS, GATEWAY], [],
        ),
        "the cluster suppresses what any namespace has": (
            [finding(KAITO), explained(INFRA, KAITO)], [(KAITO, [INFRA])], [],
        ),
        "a namespace explains nothing of another": (
            [finding(GATEWAY, Subject.of_namespace("other")), explained(EPP, GATEWAY)], [GATEWAY], [EPP],
        ),
        "outranked below the finding of its own subject": (
            [finding(PODS, A), finding(PODS, B), explained(EPP, PODS, subject=B, disposition=SECONDARY)],
            [PODS, (PODS, [EPP])], [],
        ),
        "a chain": (
            [finding(KAITO), explained(PODS, KAITO), explained(EPP, PODS, disposition=SECONDARY)],
            [(KAITO, [(PODS, [EPP])])], [],
        ),
        "once, below the first of several": (
            [finding(ISTIO), finding(KAITO), explained(PODS, KAITO, ISTIO)], [(ISTIO, [PODS]), KAITO], [],
        ),
        "of the same pod, also where it comes later in the catalogue": (
            [finding(STALLED, A), explained(SLOW, STALLED)], [(STALLED, [SLOW])], [],
        ),
        "a circle loses nothing": ([explained(PODS, EPP), explained(EPP, PODS)], [], [(EPP, [PODS])]),
        "held by what has recovered": ([explained(INFRA, KAITO, disposition=HELD)], [], [INFRA]),
        "below what is pending": (
            [finding(KAITO, CLUSTER, PENDING), explained(INFRA, KAITO, disposition=HELD)],
            [], [(KAITO, [INFRA])],
        ),
        "not in the catalogue": ([finding("customFault", CLUSTER)], ["customFault"], []),
    },
)  # fmt: skip
def test_the_cause_comes_first_and_what_it_explains_hangs_below(findings, causes, others):
    shown = view(*findings)
    assert (outline(shown.causes), outline(shown.others)) == (causes, others)


FORBIDDEN = {"unknown": (UnknownResource("pods", "forbidden"),)}
NOTICE = finding(KAITO, type=EventType.NORMAL)
PARTLY = "Nothing fires, but not everything is known"


@pytest.mark.parametrize(
    ("findings", "changes", "verdict", "mark", "rest"),
    [
        ([], {}, "Nothing fires", "unknown", ""),
        ([], {"subjects": (CLUSTER, A), "ready_ones": [CLUSTER]}, "Nothing fires, but 1 subject has no verdict", "unknown", "1 no verdict, 1 ready"),
        ([], {"ready_ones": [CLUSTER]}, "Nothing fires", "ready", "1 ready"),
        ([], FORBIDDEN, PARTLY, "unknown", ""),
        ([finding(KAITO)], {}, "1 cause fires", "firing", ""),
        ([finding(KAITO, CLUSTER, PENDING), finding(EPP, A, CLEARING)], {}, "Nothing fires", "pending", "1 pending, 1 clearing"),
        ([NOTICE], {}, "1 notice fires", "notice", ""),
        ([NOTICE], FORBIDDEN, "1 notice fires, but not everything is known", "notice", ""),
        ([finding(KAITO), finding(PODS, A), finding(EPP, B, type=EventType.NORMAL)], FORBIDDEN, "2 causes and 1 notice fire", "firing", ""),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence(findings, changes, verdict, mark, *, rest):
    """If nothing fires there is no need to read on; what is unknown is not called healthy."""
    shown = view(*findings, **changes)
    assert (shown.verdict, shown.mark.name, shown.rest) == (verdict, mark, rest)


def test_what_was_read_before_the_connection_was_lost_is_not_said_to_be_well():
    """The report does not show it yet: it stays unchanged for 120 s."""
    found = report(ready_ones=[CLUSTER])
    shown = page_view(
        found, ReportOrigin(lost=Lost(NOW - timedelta(seconds=35))), EpisodeHistory.of(found)
    )
    assert shown.verdict == PARTLY
    assert shown.mark.name == "unknown"


def test_the_mutes_of_namespaces_come_first():
    """They mute the most, and not all mutes are listed."""
    kinds = (("apps/v1", "Deployment"), ("v1", "Namespace"), ("v1", "Pod"))
    mutes = tuple(Mute(ObjectRef(version, kind, "", "a"), (PODS,)) for version, kind in kinds)
    assert [place for place, _ in view(mutes=mutes).mutes] == [
        "Namespace a",
        "Deployment a",
        "Pod a",
    ]


def test_a_notice_is_not_among_the_causes():
    """A notice has its own section, also when the filter finds it by name."""
    shown = view(finding(KAITO), finding(EPP, model("canary"), type=EventType.NORMAL))
    assert [each.finding.reason for each in shown.causes] == [KAITO]
    assert [each.finding.reason for each in shown.notices] == [EPP]
    assert shown.others == ()
    found = filtered(shown, "canary")
    assert (found.causes, found.notices) == ((), shown.notices)
    assert filtered(shown, "kaito").notices == ()


def test_what_clears_is_said_to_be_gone():
    """Its cause is the last one seen, which could be mistaken for the present one."""
    (shown,) = view(finding(KAITO, disposition=CLEARING)).others
    assert (shown.mark.name, shown.relation) == ("clearing", "not seen any more")


def test_what_is_muted_is_shown_with_where_and_until_when():
    """It comes after what may fire soon, because somebody knows about it."""
    namespace = ObjectRef("v1", "Namespace", "", "team")
    mute = Mute(namespace, (PODS,), NOW + timedelta(days=1))
    shown = view(
        finding(PODS, model("known"), Disposition.MUTED, mutes=(mute,)),
        finding(EPP, model("new"), PENDING),
        mutes=(mute,),
        mute_faults=(MuteFault(namespace, "there is no reason Pods"),),
    )
    assert [(each.finding.reason, each.mark.name, each.relation) for each in shown.others] == [
        (EPP, "pending", ""),
        (PODS, "muted", "muted on Namespace team until 2026-11-21T12:00:00Z"),
    ]
    assert (shown.verdict, shown.rest) == ("Nothing fires", "1 pending, 1 muted")
    assert shown.mutes == (("Namespace team until 2026-11-21T12:00:00Z", PODS),)
    assert shown.mute_faults == (("Namespace team", "there is no reason Pods"),)


def test_layers_from_top_to_bottom_with_a_group_for_each_stack():
    """The worst subject comes first; subjects that are ready and nothing else are counted and named."""
    shown = view(
        finding(KAITO),
        finding(PODS, model("bad")),
        finding(INFRA, model("hidden"), SUPPRESSED, by=(KAITO,)),
        ready_ones=[NAMESPACE, model("well"), model("s", kind=MODELSERVING_KIND)],
        subjects=(model("new"), model("well")),
    )
    drawn = [
        (
            layer.title,
            group.title,
            [(tile.name, tile.mark.word) for tile in group.tiles],
            list(group.ready),
        )
        for layer in shown.layers
        for group in layer.groups
    ]
    assert drawn == [
        ("Cluster", "Shared control plane", [("cluster", "firing")], []),
        ("Model harness", "Namespaces", [], [("team", "team")]),
        (
            "Model deployments",
            "InferenceSets of KAITO",
            [("bad", "firing"), ("hidden", "suppressed"), ("new", "no verdict")],
            [("team", "well")],
        ),
        ("Model deployments", "ModelServings of Kthena", [], [("team", "s")]),
    ]
    assert [[(mark.word, n) for mark, n in layer.counts] for layer in shown.layers] == [
        [("firing", 1)],
        [("ready", 1)],
        [("firing", 1), ("suppressed", 1), ("no verdict", 1), ("ready", 2)],
    ]


def test_a_subject_that_is_ready_in_spite_of_a_fault_says_both():
    shown = view(finding(PODS, model("a")), ready_ones=[model("a")])
    (tile,) = shown.layers[2].groups[0].tiles
    assert (tile.ready, [line.reason for line in tile.lines]) == (True, [PODS])


@pytest.mark.parametrize(
    ("query", "causes", "tiles", "ready"),
    [
        ("", [KAITO, PODS], ["cluster", "bad", "hidden"], ["well"]),
        ("  ", [KAITO, PODS], ["cluster", "bad", "hidden"], ["well"]),
        ("HIDDEN", [KAITO], ["hidden"], []),
        ("team/well", [], [], ["well"]),
        ("suppressed", [KAITO], ["hidden"], []),
        (PODS.lower(), [PODS], ["bad"], []),
        ("no such thing", [], [], []),
    ],
)
def test_the_page_can_be_narrowed(query, causes, tiles, *, ready):
    shown = filtered(
        view(
            finding(KAITO),
            finding(PODS, model("bad")),
            finding(INFRA, model("hidden"), SUPPRESSED, by=(KAITO,)),
            ready_ones=[model("well")],
        ),
        query,
    )
    groups = [group for layer in shown.layers for group in layer.groups]
    assert [each.finding.reason for each in shown.causes] == causes
    assert [tile.name for group in groups for tile in group.tiles] == tiles
    assert [name for group in groups for _, name in group.ready] == ready
