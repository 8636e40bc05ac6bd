"""The request path: where requests stop, namespace by namespace."""

import pytest

from reporter.model.report import Disposition, Impact, ServingState, SubjectState
from reporter.model.subject import CLUSTER, Layer, RequestStage, Subject
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import page_html
from reporter.sinks.page.view import ReportOrigin, filtered
from reporter.stacks import BUILT_IN
from tests.tables import rows
from tests.unit.sinks.page.reports import (
    EPP,
    GATEWAY,
    INFRA,
    KAITO,
    NAMESPACE,
    PODS,
    finding,
    model,
    report,
)

ROUTE = "inferencesetRouteNotReady"
BBR = "clusterBBRNotReady"
DOWN, DEGRADED, SERVING = ServingState.NOT_SERVING, ServingState.DEGRADED, ServingState.SERVING
IDLE = ServingState.IDLE


def view_of(*findings, states=(), live=False, **changes):
    found = report(*findings, states=tuple(SubjectState(*each) for each in states), **changes)
    return page_view(found, ReportOrigin(live=live), EpisodeHistory.of(found))


def path(*findings, **changes):
    return view_of(*findings, **changes).path


def picture(view):
    return page_html(view).partition('id="path"')[2].partition("</section>")[0]


def drawn(lane):
    return [(each.mark.name, each.text) for each in lane.stations]


QUIET = ("unknown", "no fault known")
WORKS = ("ready", "works")


A, B, C = model("a"), model("b"), model("c")
STOPS_ONE = ("firing", "1 of 3 not serving")
BEHIND = finding(INFRA, A, Disposition.SUPPRESSED, by=(KAITO,))
LESS = finding(EPP, A, Disposition.SECONDARY, by=(PODS,))


@rows(
    ("findings", "states", "stations", "serving"),
    {
        "at the entrance": (
            [finding(GATEWAY, NAMESPACE, impact=Impact(2, 0, 1))], [(A, DOWN), (B, DOWN)],
            [("firing", "2 of 2 not serving"), QUIET, QUIET, QUIET], "0 of 2 serve",
        ),
        "each model where it stops": (
            [finding(ROUTE, A), finding(EPP, B)], [(A, DOWN), (B, DOWN), (C, SERVING)],
            [QUIET, STOPS_ONE, STOPS_ONE, QUIET], "1 of 3 serve",
        ),
        "who serves is reached": (
            [finding(PODS, A)], [(A, DEGRADED)],
            [QUIET, WORKS, WORKS, ("degraded", "1 degraded")], "1 of 1 serve, 1 degraded",
        ),
        "what is less important stops requests all the same": (
            [finding(PODS, A), LESS], [(A, DOWN)],
            [QUIET, QUIET, ("firing", "1 not serving"), ("firing", "1 not serving")], "0 of 1 serve",
        ),
        "behind a cause, and it does not serve": (
            [BEHIND], [(A, DOWN)],
            [QUIET, QUIET, QUIET, ("firing", "1 not serving, behind another cause")], "0 of 1 serve",
        ),
        "behind a cause, and it serves": (
            [BEHIND], [(A, SERVING)],
            [QUIET, WORKS, WORKS, ("suppressed", "1 behind another cause")], "1 of 1 serve",
        ),
        "nobody waits for who is idle; what may start yet is no fault": (
            [finding(PODS, A, Disposition.PENDING)], [(A, DOWN), (B, IDLE)],
            [QUIET, QUIET, QUIET, ("pending", "1 pending")], "0 of 1 serve",
        ),
        "nothing is known of who serves": ([finding(PODS, A)], [], [QUIET, QUIET, QUIET, ("firing", "at fault")], ""),
    },
)  # fmt: skip
def test_the_stage_that_stops_requests_is_red(findings, states, stations, *, serving):
    """The page shows the stage, and how many models it affects."""
    (lane,) = path(*findings, states=states).lanes
    assert (lane.name, drawn(lane), lane.serving) == ("team", stations, serving)


def test_an_entrance_works_that_is_ready():
    (lane,) = path(finding(PODS, model("a")), ready_ones=[NAMESPACE]).lanes
    assert drawn(lane)[0] == WORKS


def test_what_all_requests_pass_has_a_lane_of_its_own():
    """A fault of a shared part in the path stops every namespace; a fault of a controller stops none."""
    found = path(finding(BBR, impact=Impact(3, 0, 2)), finding(KAITO))
    assert [(lane.name, drawn(lane)[0]) for lane in found.lanes] == [
        ("All namespaces", ("firing", "3 not serving"))
    ]
    assert [(each.reason, each.mark.name) for each in found.shared] == [
        (BBR, "firing"),
        (KAITO, "firing"),
    ]


@pytest.mark.parametrize(("ready", "mark"), [([CLUSTER], "ready"), ([], "unknown")])
def test_shared_parts_without_a_fault(ready, mark):
    """They count as working only if something says so."""
    assert path(ready_ones=ready).shared_mark.name == mark


@rows(
    ("findings", "states", "behind"),
    {
        "three red boxes, one of which is the cause": (
            [finding(GATEWAY, NAMESPACE, impact=Impact(1, 0, 1)), finding(EPP, A), finding(PODS, A)],
            [(A, DOWN)], ["Routing", "Endpoint picker", "Model pods"],
        ),
        "others come as far as where they stop": (
            [finding(ROUTE, A), finding(EPP, B), finding(PODS, A)],
            [(A, DOWN), (B, DOWN), (C, SERVING)], ["Model pods"],
        ),
        "the last stage": ([finding(PODS, A)], [(A, DOWN)], []),
    },
)  # fmt: skip
def test_what_lies_behind_where_requests_stop_first_is_told_apart(findings, states, behind):
    """A lane is open if requests stop in it, and names the first place."""
    (lane,) = path(*findings, states=states).lanes
    assert [each.title for each in lane.stations if each.behind] == behind
    first = next(each.title for each in lane.stations if each.mark.name == "firing")
    assert lane.stops_at == first
    drawn_path = picture(view_of(*findings, states=states))
    assert "<details open>" in drawn_path
    assert f"requests stop at: {first}" in drawn_path
    assert drawn_path.count("is-behind") == len(behind)


def test_where_most_stops_is_first_and_where_nothing_is_wrong_is_named():
    found = path(
        finding(PODS, model("a", "few")),
        finding(PODS, model("a", "many")),
        finding(PODS, model("b", "many")),
        finding(PODS, model("a", "slow")),
        states=[
            (model("a", "few"), DOWN),
            (model("a", "many"), DOWN),
            (model("b", "many"), DOWN),
            (model("a", "slow"), DEGRADED),
        ],
        ready_ones=[Subject.of_namespace("well")],
    )
    assert [lane.name for lane in found.lanes] == ["many", "few", "slow"]
    assert found.well == ("well",)


def test_each_station_leads_to_its_finding_and_is_read_in_order():
    view = view_of(finding(EPP, model("a")), states=[(model("a"), DOWN)])
    html = picture(view)
    places = [html.index(f"<b>{stage}</b>") for stage in RequestStage]
    assert places == sorted(places)
    assert f'href="#{view.causes[0].id}"' in html
    assert view.path.title == "Where requests stop"
    assert path().title == "The request path"


def test_many_namespaces_are_cut_and_the_filter_finds_them():
    findings = [finding(PODS, model("a", f"team-{number:02}")) for number in range(40)]
    view = view_of(*findings, live=True)
    html = picture(view)
    assert (html.count('class="lane"'), "28 more" in html) == (12, True)
    assert [lane.name for lane in filtered(view, "team-33").path.lanes] == ["team-33"]


def test_every_reason_has_its_place():
    """Faults of models and entrances are in the path; of shared parts, those that requests pass through."""
    misplaced = [
        reason.name
        for reason in BUILT_IN.reasons
        if (reason.way is not None) is not (reason.layer is not Layer.CLUSTER or reason.on_path)
    ]
    assert misplaced == []
