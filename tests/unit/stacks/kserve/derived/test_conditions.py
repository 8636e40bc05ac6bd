"""Conditions as Knative's condition set keeps them."""

from datetime import UTC, datetime

import pytest

from reporter.stacks.kserve.derived.conditions import ConditionManager, aggregate
from reporter.stacks.kserve.objects import Component, KnativeCondition

AT = datetime(2026, 11, 20, 11, tzinfo=UTC)
LATER = datetime(2026, 11, 20, 11, 30, tzinfo=UTC)


def condition(type_, text, at=AT, severity=""):
    status, _, rest = text.partition(" ")
    reason, _, message = rest.partition(": ")
    return KnativeCondition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=at,
        severity=severity,
    )


def told(manager, type_="Ready"):
    found = manager.get(type_)
    return None if found is None else f"{found.status} {found.reason}".strip()


def test_first_pass():
    """Ready and what it follows start as Unknown, dated by the caller, sorted by type."""
    found = ConditionManager().conditions()
    assert [(each.type, each.status, each.last_transition_time) for each in found] == [
        ("IngressReady", "Unknown", None),
        ("PredictorReady", "Unknown", None),
        ("Ready", "Unknown", None),
    ]


READY_OF_THE_SERVICE = [
    # PredictorReady, IngressReady (None: never written), TransformerReady, Ready
    ("True", "True", "True", "True"),
    ("True", "True", None, "True"),
    ("True", "True", "False TransformerGone", "True"),
    ("True", None, "True", "Unknown"),
    ("True", None, "False TransformerGone", "Unknown"),
    ("False RevisionFailed: text", "True", "True", "False RevisionFailed"),
    ("False RevisionFailed", None, None, "False RevisionFailed"),
    ("Unknown Deploying", "True", "True", "Unknown Deploying"),
    ("Unknown Deploying", "False NoIngress", "True", "False NoIngress"),
    ("True", "Unknown Uninitialized", None, "Unknown Uninitialized"),
]


@pytest.mark.parametrize(("predictor", "ingress", "transformer", "ready"), READY_OF_THE_SERVICE)
def test_ready_of_the_whole_service(predictor, ingress, transformer, *, ready):
    """Ready follows the predictor and the ingress, never the transformer."""
    manager = ConditionManager()
    for type_, text in (
        ("PredictorReady", predictor),
        ("TransformerReady", transformer),
        ("IngressReady", ingress),
    ):
        if text is not None:
            manager.take_over(type_, condition(type_, text))
    assert told(manager) == ready


def test_of_two_false_ones_the_last_written_speaks():
    """Ready takes reason and message of the one that is written last."""
    manager = ConditionManager()
    manager.mark("PredictorReady", "False", "First", message="one")
    manager.mark("IngressReady", "False", "Second", message="two")
    ready = manager.get("Ready")
    assert (ready.reason, ready.message) == ("Second", "two")


@pytest.mark.parametrize(
    ("predictor_at", "ingress_at", "ready"),
    [(AT, LATER, "False Ingress"), (LATER, AT, "False Predictor")],
)
def test_a_true_one_lets_the_newest_false_one_speak(predictor_at, ingress_at, ready):
    """Any condition written True, also an informational one, has Ready computed again."""
    manager = ConditionManager(
        [
            condition("PredictorReady", "False Predictor", predictor_at),
            condition("IngressReady", "False Ingress", ingress_at),
        ]
    )
    manager.mark("RoutesReady", "True")
    assert told(manager) == ready


def test_what_the_pass_changed_is_newer_than_what_is_stored():
    """A condition without a time has just changed."""
    manager = ConditionManager([condition("IngressReady", "False Ingress", LATER)])
    manager.mark("PredictorReady", "False", "Predictor")
    manager.mark("RoutesReady", "True")
    assert told(manager) == "False Predictor"


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_an_informational_condition_that_is_not_true_has_no_effect(status):
    """Ready stays as it was."""
    manager = ConditionManager([condition("Ready", "False Odd"), *both_true()])
    manager.mark("TransformerReady", status, "Down")
    assert told(manager) == "False Odd"


def both_true():
    return [condition("PredictorReady", "True"), condition("IngressReady", "True")]


def test_severity():
    """Error for Ready and what it follows, Info for the others."""
    manager = ConditionManager()
    manager.mark("PredictorReady", "True")
    manager.mark("TransformerReady", "True")
    found = {each.type: each.severity for each in manager.conditions()}
    assert found == {
        "IngressReady": "", "PredictorReady": "", "Ready": "", "TransformerReady": "Info",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "moves"),
    [
        ("True", "True", False),
        ("False A: text", "False A: text", False),
        ("True", "False A", True),
        ("False A: text", "False B: text", True),
        ("False A: text", "False A: other", True),
    ],
)
def test_the_time_moves_on_any_change(before, after, moves):
    """Status, reason and message; what stays keeps its time."""
    manager = ConditionManager([condition("PredictorReady", before)])
    manager.take_over("PredictorReady", condition("PredictorReady", after))
    found = {each.type: each for each in manager.conditions()}["PredictorReady"]
    assert found.last_transition_time == (None if moves else AT)


def test_the_time_moves_with_the_severity():
    """A condition that had another severity has changed."""
    manager = ConditionManager([condition("RoutesReady", "True", severity="")])
    manager.mark("RoutesReady", "True")
    found = {each.type: each for each in manager.conditions()}["RoutesReady"]
    assert (found.severity, found.last_transition_time) == ("Info", None)


def test_changed_and_changed_back_keeps_its_time():
    """A pass that ends where it began changed nothing."""
    manager = ConditionManager([condition("PredictorReady", "True")])
    manager.mark("PredictorReady", "False", "Briefly")
    manager.mark("PredictorReady", "True")
    found = {each.type: each for each in manager.conditions()}["PredictorReady"]
    assert found.last_transition_time == AT


def test_an_absent_condition_leaves_ours_as_it_was():
    """None is no status."""
    manager = ConditionManager([condition("PredictorReady", "True")])
    manager.take_over("PredictorReady", None)
    manager.mark("PredictorReady", "true", "of no meaning")
    assert told(manager, "PredictorReady") == "True"


T, F, U, N = "True", "False Bad", "Unknown Wait", None

AGGREGATES = [
    # predictor, transformer, explainer; None: absent
    ((T,), "True"),
    ((F,), "False PredictorRouteReady not ready"),
    ((U,), "Unknown PredictorRouteReady not ready"),
    ((N,), "Unknown PredictorRouteReady not ready"),
    ((F, T), "False PredictorRouteReady not ready"),
    ((F, U), "Unknown TransformerRouteReady not ready"),
    ((U, F), "False TransformerRouteReady not ready"),
    ((F, N, T), "Unknown TransformerRouteReady not ready"),
    ((F, F, U), "Unknown ExplainerRoutesReady not ready"),
    ((U, T, F), "False ExplainerRoutesReady not ready"),
]


@pytest.mark.parametrize(("parts", "expected"), AGGREGATES)
def test_the_last_bad_component_wins(parts, expected):
    """False does not beat Unknown."""
    components = list(Component)[: len(parts)]
    manager = ConditionManager()
    for component, text in zip(components, parts, strict=True):
        if text is not None:
            manager.take_over(component.route_ready, condition("", text))
    aggregate(manager, components)
    assert told(manager, "RoutesReady") == expected


def test_latest_deployment_ready_walks_the_configurations():
    """The same rule over the configuration conditions."""
    manager = ConditionManager()
    manager.mark("PredictorConfigurationReady", "False", "RevisionFailed")
    manager.mark("ExplainerConfigurationReady", "True")
    aggregate(manager, [Component.PREDICTOR, Component.EXPLAINER])
    assert told(manager, "LatestDeploymentReady") == "False PredictorConfigurationReady not ready"
