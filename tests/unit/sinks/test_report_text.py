from datetime import timedelta

import pytest

from reporter.model.reason import EventType
from reporter.model.report import Disposition, Impact, SkippedObject, UnknownResource
from reporter.model.subject import CLUSTER, Layer, ObjectRef, Subject
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.junit import report_junit
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import page_html
from reporter.sinks.page.view import ReportOrigin
from reporter.sinks.report_text import report_text
from reporter.sinks.words import wrapped
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.unit.sinks.page import reports
from tests.unit.sinks.page.reports import GATEWAY, NAMESPACE, NOW, report


def finding(**changes):
    fields = {
        "reason": GATEWAY, "layer": Layer.HARNESS, "subject": NAMESPACE,
        "related": ObjectRef("gateway.networking.k8s.io/v1", "Gateway", "team", "team-gw"),
        "message": "Gateway team/team-gw could not be programmed", "cause": "AddressNotUsable",
    }  # fmt: skip
    return reports.finding(**{**fields, **changes})


def test_a_notice_is_not_counted_among_the_causes():
    notice = finding(type=EventType.NORMAL, message="a canary runs")
    assert report_text(report(notice)).splitlines() == [
        "1 notice fires at 2026-11-20T12:00:00Z.",
        "",
        "Notices, which are not faults:",
        "modelharnessGatewayProgrammingFailed  namespace/team  for 5m",
        "    a canary runs",
        "    To do: kubectl -n team describe gateway team-gw; its conditions name the cause.",
    ]
    other = ObjectRef("v1", "Namespace", "", "other")
    text = report_text(report(finding(), notice, finding(type=EventType.NORMAL, involved=other)))
    assert text.startswith("1 cause and 2 notices fire at ")
    assert text.index("could not be programmed") < text.index("Notices") < text.index("a canary")


@pytest.mark.parametrize(
    ("type_", "colour"), [(EventType.WARNING, "\x1b[1;31m"), (EventType.NORMAL, "\x1b[1m")]
)
def test_only_a_fault_is_red(type_, colour):
    text = report_text(report(finding(type=type_)), colour=True)
    assert text.startswith(f"{colour}1 ")
    assert f"\n{colour}modelharness" in text


def test_a_cause_says_what_since_when_and_what_to_do():
    """The names of the object stand in the command, which stays on one line to be copied."""
    assert report_text(report(finding())).splitlines() == [
        "1 cause fires at 2026-11-20T12:00:00Z.",
        "",
        "modelharnessGatewayProgrammingFailed  namespace/team  for 5m",
        "    Gateway team/team-gw could not be programmed",
        "    To do: kubectl -n team describe gateway team-gw; its conditions name the cause.",
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"disposition": Disposition.SUPPRESSED, "by": ("clusterIstioControlPlaneNotReady",)},
            "  suppressed by clusterIstioControlPlaneNotReady",
        ),
        ({"disposition": Disposition.SECONDARY, "by": ("a", "b")}, "  outranked by a, b"),
        ({"disposition": Disposition.HELD, "by": ("a",)}, "  waits for a"),
        ({"disposition": Disposition.PENDING, "fires_at": NOW + timedelta(seconds=30)}, "  fires in 30s at the earliest"),
        ({"disposition": Disposition.PENDING, "by": ("a",)}, "  waits for a"),
        ({"disposition": Disposition.CLEARING, "stale": True}, "  stale"),
    ],
)  # fmt: skip
def test_what_is_no_cause_says_why_and_what(changes, line):
    """Nothing is dropped silently: each says its disposition, how long, by whom, and the object."""
    text = report_text(report(finding(**changes)))
    disposition = changes["disposition"]
    assert text.splitlines() == [
        f"Nothing fires at 2026-11-20T12:00:00Z; 1 {disposition}.",
        "",
        "Not causes:",
        f"    {disposition}  modelharnessGatewayProgrammingFailed  namespace/team  5m{line}",
        *wrapped(finding().message, None, "        "),
    ]


def many(count):
    """Causes of as many namespaces, of which the last hits most."""
    return report(
        *(
            finding(
                subject=Subject.of_namespace(f"n{each}"),
                involved=ObjectRef("v1", "Namespace", "", f"n{each}"),
                impact=Impact(each, 0, 1),
                commands=("kubectl get pods",),
            )
            for each in range(count)
        )
    )


def test_several_causes_have_a_line_each_on_top_in_the_order_of_impact():
    lines = report_text(many(3)).splitlines()
    assert [each.split("  ")[2] for each in lines[2:5]] == [
        "2 not serving",
        "1 not serving",
        "nobody yet",
    ]
    assert lines[2].endswith(
        "Gateway team/team-gw: AddressNotUsable (modelharnessGatewayProgrammingFailed)"
    )
    heads = [each for each in lines if each.startswith("modelharness")]
    assert [each.split("  ")[1] for each in heads] == [
        "namespace/n2",
        "namespace/n1",
        "namespace/n0",
    ]
    assert not any("AddressNotUsable" in each for each in report_text(many(1)).splitlines()[:4])


def test_the_line_of_a_cause_names_its_object_once():
    """`X: X missing` tells nobody more than `X: missing`."""
    crd = ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "a.keda.sh")
    missing = finding(reason="clusterCRDMissing", related=crd, cause="a.keda.sh missing")
    lines = report_text(report(missing, finding())).splitlines()
    assert any(
        "CustomResourceDefinition a.keda.sh: missing (clusterCRDMissing)" in e for e in lines
    )


@pytest.mark.parametrize("rows", [16, 24, 40])
def test_a_terminal_gets_a_screen_of_it_and_is_told_how_to_see_the_rest(rows):
    lines = report_text(many(30), columns=80, rows=rows).splitlines()
    assert len(lines) < rows
    assert max(map(len, lines)) <= 80
    assert lines[-1].endswith("more in full, and the rest: --full")
    assert sum(each.startswith("modelharness") for each in lines) >= 1
    assert sum(each.startswith("modelharness") for each in report_text(many(30)).splitlines()) == 30


BLIND = finding(
    reason="clusterStatusUnknown",
    layer=Layer.CLUSTER,
    subject=CLUSTER,
    message="Permission: pods cannot be read; grant it: kubectl create clusterrole a --verb=list,watch --resource=pods",
    cause="pods forbidden",
)


def test_what_the_reporter_cannot_see_is_shown_apart():
    """After the causes and not counted among them, in text, page and JUnit; the command is whole."""
    unknown = (UnknownResource("pods", "forbidden"),)
    alone, beside = report(BLIND, unknown=unknown), report(finding(), BLIND)
    lines = report_text(alone).splitlines()
    assert lines[0] == (
        "Nothing fires at 2026-11-20T12:00:00Z; the reporter cannot see everything."
    )
    assert lines[2] == "What the reporter cannot see, which is not a cause:"
    assert any("kubectl create clusterrole a --verb=list,watch --resource=pods" in x for x in lines)
    text = report_text(beside)
    assert text.startswith("1 cause fires at ")
    assert text.index("could not be programmed") < text.index("What the reporter cannot see")
    about = ReportOrigin()
    page = page_view(beside, about, EpisodeHistory.of(beside))
    assert [each.finding.reason for each in page.causes] == ["modelharnessGatewayProgrammingFailed"]
    assert [each.mark.word for each in page.not_seen] == ["not seen"]
    quiet = page_view(alone, about, EpisodeHistory.of(alone))
    assert (quiet.verdict, quiet.mark.name) == (
        "Nothing fires, but not everything is known",
        "unknown",
    )
    assert "What the reporter cannot see" in page_html(quiet)
    junit = report_junit(beside)
    assert 'failures="1" errors="1"' in junit


def test_what_is_unknown_for_one_cause_is_one_line():
    """Dozens of kinds that are not in a dump do not fill the screen."""
    unknown = [UnknownResource(f"r{n:02}", "not listed yet") for n in range(19)]
    unknown.append(UnknownResource("pods", "forbidden"))
    text = report_text(report(unknown=tuple(unknown)))
    assert "Unknown (20):" in text
    assert "and 9 more (-o json lists all): not listed yet" in " ".join(text.split())
    assert "\n    pods: forbidden\n" in text
    assert len(text.splitlines()) < 7


def test_lists_are_counted_and_cut():
    lines = report_text(
        report(
            ready_ones=[Subject.of_namespace(f"n{number:02}") for number in range(12)],
            unknown=(UnknownResource("pods", "forbidden"),),
            skipped=(SkippedObject("pods", "n", "p", "spec is not an object"),),
        ),
        about="the present",
        notes=("Something else.",),
    ).splitlines()
    assert lines[0] == "Nothing fires at 2026-11-20T12:00:00Z (the present)."
    assert "Ready (12):" in lines
    assert "    and 2 more; -o json lists all" in lines
    assert lines[-9:] == [
        "",
        "Unknown (1):",
        "    pods: forbidden",
        "",
        "Skipped (1):",
        "    pods n/p: spec is not an object",
        "",
        "Notes:",
        "    Something else.",
    ]


def test_subjects_without_a_verdict_are_counted_and_named():
    """A model that starts is neither ready nor at fault, and is not passed over; the page says the same."""
    models = [Subject(INFERENCESET_KIND, "team", f"m{number:02}") for number in range(12)]
    found = report(finding(), subjects=(NAMESPACE, *models))
    lines = report_text(found).splitlines()
    assert lines[0] == "1 cause fires at 2026-11-20T12:00:00Z; 12 no verdict."
    assert lines[-12:] == [
        "No verdict (12):",
        *(f"    inferenceset/team/m{number:02}" for number in range(10)),
        "    and 2 more; the page lists all",
    ]
    assert page_view(found, ReportOrigin(), EpisodeHistory.of(found)).rest == "12 no verdict"


def test_names_are_shown_without_control_characters_and_not_put_into_commands():
    """A dump may hold any text as a name; neither terminal nor shell is to suffer from it."""
    name = "\x1b[31mx; rm -rf ~"
    hostile = finding(
        subject=Subject.of_namespace(name),
        related=ObjectRef("gateway.networking.k8s.io/v1", "Gateway", "team", name),
    )
    text = report_text(report(hostile))
    assert "\x1b" not in text
    assert "kubectl -n team describe gateway <name>;" in text
