"""Metrics that name subjects say what the report says, and have a bound."""

from datetime import timedelta

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from reporter.model.reason import EventType
from reporter.model.report import Disposition, Impact, ServingState, SubjectState
from reporter.model.subject import CLUSTER, Subject
from reporter.sinks.own_metrics import SubjectMetrics
from tests.unit.sinks.page.reports import (
    EPP,
    GATEWAY,
    KAITO,
    NAMESPACE,
    NOW,
    PODS,
    finding,
    model,
    report,
)

SINCE = NOW - timedelta(minutes=7)


def exported(of, most=100):
    """Return the value of each series, as a scraper reads it."""
    page = generate_latest(SubjectMetrics(lambda: of, most)).decode()
    return {
        (sample.name.removeprefix("status_reporter_"), *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def of(series, name):
    """Return the values of one metric by what its labels say, without their names."""
    return {
        tuple(value for _, value in labels): value
        for (metric, *labels), value in series.items()
        if metric == name
    }


def state(subject, of, **changes):
    return SubjectState(subject, of, **changes)


def test_only_what_fires_has_a_series_with_whom_it_is_about():
    """A notice by its type; several objects under one reason and subject are counted."""
    series = exported(
        report(
            finding(KAITO, impact=Impact(2, 1, 1)),
            finding(EPP, model("a"), impact=Impact(1)),
            finding(EPP, model("a"), impact=Impact(1)),
            finding("modelserviceDrift", model("c"), type=EventType.NORMAL),
            finding(PODS, model("b"), Disposition.SUPPRESSED),
            finding(PODS, model("d"), Disposition.MUTED),
        )
    )
    assert of(series, "firing_findings") == {
        ("cluster", KAITO, "cluster", "", "Warning"): 1,
        ("modeldeployment", EPP, "inferenceset/team/a", "team", "Warning"): 2,
        ("modeldeployment", "modelserviceDrift", "inferenceset/team/c", "team", "Normal"): 1,
    }


def test_a_cause_says_how_many_models_it_hits():
    """Of several objects at fault the one that hits most, as the same models may rest on both."""
    series = exported(
        report(
            finding(KAITO, impact=Impact(12, 3, 4)),
            finding(GATEWAY, NAMESPACE, impact=Impact(0, 2, 1)),
            finding(GATEWAY, NAMESPACE, impact=Impact(1, 0, 1)),
            finding("clusterStatusUnknown"),
        )
    )
    assert of(series, "cause_models") == {
        ("cluster", KAITO, "not-serving", "cluster", ""): 12,
        ("cluster", KAITO, "degraded", "cluster", ""): 3,
        ("modelharness", GATEWAY, "not-serving", "namespace/team", "team"): 1,
        ("modelharness", GATEWAY, "degraded", "namespace/team", "team"): 0,
    }


def test_each_subject_has_the_series_of_its_present_state_and_no_other():
    """The cluster and namespaces too; since when and why, where it is impaired."""
    series = exported(
        report(
            states=(
                state(CLUSTER, ServingState.DEGRADED, since=SINCE, cause=KAITO),
                state(NAMESPACE, ServingState.SERVING, since=SINCE),
                state(model("a"), ServingState.NOT_SERVING, since=SINCE, cause=KAITO),
                state(model("b"), ServingState.NOT_SERVING),
                state(model("c"), ServingState.IDLE, since=SINCE),
                state(model("d"), ServingState.UNKNOWN, since=SINCE),
            )
        )
    )
    assert of(series, "subject_state") == {
        ("cluster", "degraded", "cluster", ""): 1,
        ("modelharness", "serving", "namespace/team", "team"): 1,
        ("modeldeployment", "not-serving", "inferenceset/team/a", "team"): 1,
        ("modeldeployment", "not-serving", "inferenceset/team/b", "team"): 1,
        ("modeldeployment", "idle", "inferenceset/team/c", "team"): 1,
        ("modeldeployment", "unknown", "inferenceset/team/d", "team"): 1,
    }
    assert of(series, "subject_impaired_since_timestamp_seconds") == {
        ("cluster", "cluster", ""): SINCE.timestamp(),
        ("modeldeployment", "inferenceset/team/a", "team"): SINCE.timestamp(),
    }
    assert of(series, "subject_cause") == {
        ("cluster", KAITO, "cluster", ""): 1,
        ("modeldeployment", KAITO, "inferenceset/team/a", "team"): 1,
    }


def test_what_is_worst_off_keeps_its_series_and_the_rest_is_counted():
    """Of findings, the causes that come first in the report."""
    models = [model(f"m{number}") for number in range(5)]
    series = exported(
        report(
            *(finding(EPP, each, impact=Impact(1)) for each in models),
            states=(
                *(state(each, ServingState.SERVING) for each in models[:4]),
                state(models[4], ServingState.NOT_SERVING),
            ),
        ),
        most=3,
    )
    kept = [labels[-3] for labels in of(series, "firing_findings")]
    assert kept == [str(each) for each in models[:3]]
    assert len(of(series, "cause_models")) == 6
    shown = of(series, "subject_state")
    assert ("modeldeployment", "not-serving", "inferenceset/team/m4", "team") in shown
    assert len(shown) == 3
    assert of(series, "subject_series_left_out") == {
        ("status_reporter_firing_findings",): 2,
        ("status_reporter_subject_state",): 2,
    }


@pytest.mark.parametrize("count", [1000, 5000])
def test_a_healthy_model_is_one_series(count):
    """docs/performance.md states how many there are of a fleet."""
    subjects = [CLUSTER, *(Subject.of_namespace(f"team-{number}") for number in range(20))]
    subjects += [model(f"m{number}", f"team-{number % 20}") for number in range(count)]
    states = tuple(state(each, ServingState.SERVING) for each in subjects)
    series = exported(report(states=states), most=10_000)
    assert len(series) == count + 21 + 2


def test_one_namespace_takes_no_series_from_others():
    """Each has its first ones in turn, in the order of the report."""
    many = [Subject("inferenceset", "crowd", f"m-{number}") for number in range(9)]
    other = Subject("inferenceset", "quiet", "m")
    states = tuple(state(each, ServingState.NOT_SERVING) for each in many)
    series = exported(
        report(
            *(finding(EPP, each) for each in (*many, other)),
            states=(*states, state(other, ServingState.DEGRADED)),
        ),
        most=3,
    )
    for metric in ("firing_findings", "subject_state"):
        named = [str(key) for key in of(series, metric)]
        assert len(named) == 3
        assert sum("quiet" in each for each in named) == 1
