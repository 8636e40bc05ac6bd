"""Conditions, model state, and the facts that they come from."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from reporter.stacks.kserve.derived.conditions import ConditionManager, aggregate
from reporter.stacks.kserve.derived.derive import model_status
from reporter.stacks.kserve.derived.facts import facts_of
from reporter.stacks.kserve.derived.revisions import (
    Shown,
    asked_percent,
    latest_entry,
    read_component,
)
from reporter.stacks.kserve.objects import (
    Component,
    FailureInfo,
    KnativeCondition,
    Mode,
    ModelCopies,
    ModelStates,
    ModelStatus,
)
from tests.tables import rows
from tests.unit.probes.building import pod
from tests.unit.stacks.kserve.derived.building import (
    RUNNING,
    STANDARD,
    TRANSFORMED,
    annotated,
    cluster,
    component,
    container,
    ended,
    inferenceservice,
    knative_service,
    predictor_pod,
    raw_deployment,
    the_service,
    typed,
    waits,
)

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


P, ING, TR, RO = "PredictorReady", "IngressReady", "TransformerReady", "RoutesReady"
BAD = "False Predictor"


def stored(at=AT, severity="", **texts):
    """Conditions as they are stored."""
    return [condition(type_, text, at, severity) for type_, text in texts.items()]


@rows(
    ("before", "written", "ready"),
    {
        "nothing but what it follows: the transformer does not count": ([], [(P, "True"), (TR, "True"), (ING, "True")], "True"),
        "without a transformer": ([], [(P, "True"), (ING, "True")], "True"),
        "a transformer that is gone": ([], [(P, "True"), (TR, "False Gone"), (ING, "True")], "True"),
        "an ingress that was never written": ([], [(P, "True"), (TR, "True")], "Unknown"),
        "nor beside a transformer that is gone": ([], [(P, "True"), (TR, "False Gone")], "Unknown"),
        "the predictor is False": ([], [(P, "False Failed: text"), (TR, "True"), (ING, "True")], "False Failed"),
        "the predictor alone is False": ([], [(P, "False Failed")], "False Failed"),
        "the predictor is Unknown": ([], [(P, "Unknown Deploying"), (TR, "True"), (ING, "True")], "Unknown Deploying"),
        "of two the last written speaks": ([], [(P, "Unknown Deploying"), (TR, "True"), (ING, "False NoIngress")], "False NoIngress"),
        "of two False ones the last written speaks": ([], [(P, "False First"), (ING, "False Second: two")], "False Second"),
        "the ingress is Unknown": ([], [(P, "True"), (ING, "Unknown Uninitialized")], "Unknown Uninitialized"),
        "a True one lets the newest False one speak, the ingress": (
            [*stored(**{P: BAD}), *stored(LATER, **{ING: "False Ingress"})], [(RO, "True")], "False Ingress",
        ),
        "or the predictor": ([*stored(LATER, **{P: BAD}), *stored(**{ING: "False Ingress"})], [(RO, "True")], BAD),
        "what the pass changed is newer than what is stored": (stored(LATER, **{ING: "False Ingress"}), [(P, BAD), (RO, "True")], BAD),
        "an informational one that is False has no effect": (stored(Ready="False Odd", **{P: "True", ING: "True"}), [(TR, "False Down")], "False Odd"),
        "nor has one that is Unknown": (stored(Ready="False Odd", **{P: "True", ING: "True"}), [(TR, "Unknown Down")], "False Odd"),
    },
)  # fmt: skip
def test_ready_of_the_whole_service(before, written, ready):
    """It follows the predictor and the ingress."""
    manager = ConditionManager(before)
    for type_, text in written:
        manager.take_over(type_, condition(type_, text))
    assert told(manager) == ready
    if written[-1][1] == "False Second: two":
        assert manager.get("Ready").message == "two"


@rows(
    ("before", "written", "type_", "moves"),
    {
        "the same": (stored(**{P: "True"}), ["True"], P, False),
        "the same reason and message": (stored(**{P: "False A: text"}), ["False A: text"], P, False),
        "another status": (stored(**{P: "True"}), ["False A"], P, True),
        "another reason": (stored(**{P: "False A: text"}), ["False B: text"], P, True),
        "another message": (stored(**{P: "False A: text"}), ["False A: other"], P, True),
        "another severity: it is Info for what Ready does not follow": (stored(**{RO: "True"}), ["True"], RO, True),
        "changed and changed back": (stored(**{P: "True"}), ["False Briefly", "True"], P, False),
        "an absent one leaves ours as it was": (stored(**{P: "True"}), [None], P, False),
        "and so does one of no meaning": (stored(**{P: "True"}), ["true as-it-seems"], P, False),
    },
)  # fmt: skip
def test_the_time_moves_on_any_change(before, written, type_, *, moves):
    manager = ConditionManager(before)
    for text in written:
        manager.take_over(type_, text and condition(type_, text))
    found = {each.type: each for each in manager.conditions()}
    assert found[type_].last_transition_time == (None if moves else AT)
    assert {each.type: each.severity for each in found.values()} == {
        "IngressReady": "", "PredictorReady": "", "Ready": "", type_: "Info" if type_ == RO else "",
    }  # fmt: skip


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
    for each, text in zip(components, parts, strict=True):
        if text is not None:
            manager.take_over(each.route_ready, condition("", text))
    aggregate(manager, components)
    assert told(manager, "RoutesReady") == expected


def test_latest_deployment_ready_walks_the_configurations():
    """The same rule over the configuration conditions."""
    manager = ConditionManager()
    manager.mark("PredictorConfigurationReady", "False", "RevisionFailed")
    manager.mark("ExplainerConfigurationReady", "True")
    aggregate(manager, [Component.PREDICTOR, Component.EXPLAINER])
    assert told(manager, "LatestDeploymentReady") == "False PredictorConfigurationReady not ready"


OLD_FAILURE = FailureInfo(reason="ModelLoadFailed", message="of old", exit_code=9)
STORED = ModelStatus(
    transition_status="UpToDate",
    states=ModelStates(active_model_state="Loaded", target_model_state="Loaded"),
    last_failure_info=OLD_FAILURE,
    copies=ModelCopies(failed_copies=0, total_copies=5),
)
NEW_FAILURE = FailureInfo(reason="ModelLoadFailed", message="no weights", exit_code=3)


def storage(state, last=None):
    return {"storage": container("storage-initializer", state, last)}


def serving(state, last=None):
    return {"serving": container("kserve-container", state, last)}


ERROR = ended("Error", 3, "no weights")
CRASHING = waits("CrashLoopBackOff")

ROWS = [
    # row, pod (None: none), failed, loaded, target, transition, active, failure
    ("1", None, True, False, "FailedToLoad", "BlockedByFailedLoad", "Loaded", OLD_FAILURE),
    ("2", None, False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("2 although Ready", None, False, True, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("4", storage(RUNNING), False, True, "Loading", "InProgress", "Loaded", OLD_FAILURE),
    ("5", storage(ERROR), False, True, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("6", storage(CRASHING, ERROR), False, True, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("7", serving(RUNNING), False, True, "Loaded", "UpToDate", "Loaded", OLD_FAILURE),
    ("7 after the storage", storage(ended("Completed", 0)), False, True, "Loaded", "UpToDate", "Loaded", OLD_FAILURE),
    ("7 before the container", serving(ERROR), False, True, "Loaded", "UpToDate", "Loaded", OLD_FAILURE),
    ("8", serving(ERROR), False, False, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("9", serving(CRASHING, ERROR), False, False, "FailedToLoad", "BlockedByFailedLoad", "Loaded", NEW_FAILURE),
    ("10 running", serving(RUNNING), True, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("10 out of memory", serving(ended("OOMKilled", 137)), False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("10 image", serving(waits("ImagePullBackOff")), False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
    ("10 completed", serving(ended("Completed", 0)), False, False, "Pending", "InProgress", "Loaded", OLD_FAILURE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pod", "failed", "loaded", "target", "transition", "active", "failure"),
    [each[1:] for each in ROWS],
    ids=[each[0] for each in ROWS],
)
def test_row(pod, failed, loaded, *, target, transition, active, failure):
    """Target state, transition, active state and failure, by the first row that holds."""
    pods = [] if pod is None else [typed(predictor_pod(**pod))]
    found = model_status(STORED, pods, failed=failed, loaded=loaded)
    assert found.states == ModelStates(active_model_state=active, target_model_state=target)
    assert (found.transition_status, found.last_failure_info) == (transition, failure)


def test_row_11_a_pod_without_the_container_changes_nothing_but_the_copies():
    """Ready pods are counted first, also where the first one by name has no container status yet."""
    pod = typed(predictor_pod(serving=container("queue-proxy", CRASHING)))
    ready = typed(predictor_pod(name="pod-b", ready=True))
    found = model_status(STORED, [pod, ready], failed=True, loaded=False)
    assert found == replace(STORED, copies=ModelCopies(failed_copies=0, total_copies=1))


def test_copies_are_ready_pods():
    """Running and Ready; failed copies are never counted."""
    pods = [
        typed(predictor_pod(name="pod-a", ready=True)),
        typed(predictor_pod(name="pod-b", ready=True)),
        typed(predictor_pod(name="pod-c", **serving(ERROR))),
        typed(predictor_pod({"status": {"phase": "Pending"}}, name="pod-d", ready=True)),
    ]
    found = model_status(ModelStatus(), pods, failed=False, loaded=True)
    assert found.copies == ModelCopies(failed_copies=0, total_copies=2)


def test_a_crash_loop_without_a_last_end():
    """The failure is named, and nothing more is known of it."""
    pod = typed(predictor_pod(**serving(CRASHING)))
    found = model_status(ModelStatus(), [pod], failed=False, loaded=False)
    assert found.last_failure_info == FailureInfo(reason="ModelLoadFailed")


def facts(*docs, unknown=()):
    snapshot = cluster(*docs, unknown=unknown)
    return facts_of(the_service(snapshot), snapshot)


def names(objects):
    return None if objects is None else [each.name for each in objects]


NEWER, OLDER = (knative_service("v1, v1", "", component=each) for each in ("predictor", "predictor-default"))  # fmt: skip
OF_EACH = [knative_service("v1, v1", "", component=each) for each in ("predictor", "transformer", "explainer")]  # fmt: skip
CREATED = [knative_service("v2, v1", "v1:100 L"), predictor_pod(name="old", of="v1"), *(predictor_pod(name=f"new-{each}", of="v2") for each in "ba")]  # fmt: skip
PLAIN, WORKER, DEFAULT = (raw_deployment(name=f"llm-predictor{each}") for each in ("", "-worker", "-default"))  # fmt: skip
OF_DEFAULT = predictor_pod({"metadata": {"labels": {"app": "isvc.llm-predictor-default"}}})
ANOTHER = pod("models", "other", "isvc.llm-transformer")
SEVERAL = {"spec": {"predictor": {"workerSpec": {}}}}


@rows(
    ("patches", "docs", "expected"),
    {
        "Knative Services by name, of the components in spec alone": ([TRANSFORMED], OF_EACH, {"services": ["llm-predictor", "llm-transformer"]}),
        "an older one has default after its name": ([], [OLDER], {"services": ["llm-predictor-default"]}),
        "the newer name wins": ([], [OLDER, NEWER], {"services": ["llm-predictor"]}),
        "pods of the latest created revision, also while an older one serves": ([], CREATED, {"pods": ["new-a", "new-b"]}),
        "in Standard mode pods by the label app": (
            [STANDARD], [PLAIN, predictor_pod(), ANOTHER], {"pods": ["pod-a"], "deployments": ["llm-predictor"]},
        ),
        "an older Deployment has default after its name, and KServe goes on with it": (
            [STANDARD], [DEFAULT, OF_DEFAULT], {"deployments": ["llm-predictor-default"], "pods": ["pod-a"]},
        ),
        "one of workers is nobody's without a workerSpec": ([STANDARD], [PLAIN, WORKER], {"deployments": ["llm-predictor"]}),
        "workers where there are several nodes": ([STANDARD, SEVERAL], [PLAIN, WORKER], {"deployments": ["llm-predictor", "llm-predictor-worker"]}),
        "no pods": ([], [], {"pods": []}),
    },
)  # fmt: skip
def test_what_is_of_an_inferenceservice(patches, docs, expected):
    found = facts(inferenceservice(*patches), *docs)
    told = {
        "services": names((found.services or {}).values()),
        "deployments": names((found.deployments or {}).get(Component.PREDICTOR)),
        "pods": names(found.pods),
    }
    assert expected == {each: told[each] for each in expected}
    if "services" in expected:
        assert list(found.services) == list(Component)[: len(expected["services"])]


@pytest.mark.parametrize(
    ("status", "annotation", "mode"),
    [
        ("Knative", "Standard", Mode.KNATIVE),
        ("", "Standard", Mode.STANDARD),
        ("", "RawDeployment", Mode.STANDARD),
        ("Serverless", "", Mode.KNATIVE),
        ("", "ModelMesh", Mode.MODELMESH),
        ("", "", Mode.STANDARD),
        ("", "Unheard", Mode.STANDARD),
    ],
)
def test_deployment_mode(status, annotation, mode):
    """The status decides, then the annotation, then what KServe is configured with."""
    patch = {"status": {"deploymentMode": status}}
    found = typed(inferenceservice(patch, annotated(deploymentMode=annotation)))
    assert facts_of(found, cluster(), Mode.STANDARD).mode is mode


PATTERNS = [
    # lr pr, C R, traffic, canary percent, conclusions
    ("v2, v1", "v2, v2", "v2:100 L", None, set()),
    ("v1, 0", "v1, v1", "v1:100 L", None, {"no_fallback"}),
    ("v1, 0", "v2, v2", "v2:20 L, v1:80 -", 20, {"canary", "no_fallback"}),
    ("v1, v1", "v2, v2", "v2:20 L, v1:80 -", 20, {"canary"}),
    ("v1, v1", "v2, v2", "v2:0 L, v1:100 -", 0, {"rolled_back"}),
    ("v2, v1", "v3, v3", "v3:0 L, v2:100 -", 0, set()),
    ("v2, v1", "v3, v2", "v2:100 L", None, {"newest_not_ready"}),
    ("v1, v1", "v3, v2", "v2:0 L, v1:100 -", 0, {"newest_not_ready", "rolled_back"}),
    ("v1, v0", "v3, v2", "v2:20 L, v1:80 -", 20, {"newest_not_ready", "canary"}),
    ("v1, v0", "v3, v2", "v2:0 L, v1:100 -", 0, {"newest_not_ready"}),
    ("0, 0", "v1, 0", "", None, {"newest_not_ready"}),
    ("v1, v0", "v2, v2", "v1:100 L", None, {"rollout_not_finished"}),
    ("v1, v0", "v2, v2", "v1:100 L", 10, set()),
    ("v1, v0", "v2, v2", "v2:20 L, v1:80 -", None, {"rollout_not_finished", "canary"}),
    ("v2, v1", "v2, v2", "v2:0 L, v2:100 -", 0, {"split_over_one"}),
    ("v2, v1", "v3, v2", "v2:0 L, v2:100 -", 0, {"split_over_one", "newest_not_ready"}),
    ("v1, 0", "v1, v1", "v1:0 L, v1:100 -", 0, {"split_over_one", "no_fallback"}),
    ("0, 0", "0, 0", "", None, set()),
    ("v1, v0", "v2, v2", "v2:~ L", 10, set()),
]


@pytest.mark.parametrize(("history", "revisions", "entries", "percent", "expected"), PATTERNS)
def test_pattern(history, revisions, entries, percent, expected):
    """Each pattern has its conclusions; several may hold at once."""
    status = component(history, revisions, entries)
    found = read_component(status, percent)._asdict()
    assert {each for each, holds in found.items() if holds} == expected


def test_each_conclusion_has_a_pattern():
    """No conclusion is left out above."""
    assert set().union(*(each[4] for each in PATTERNS)) == set(Shown._fields)


def test_the_latest_entry_of_a_gradual_rollout_is_the_one_that_names_the_ready_revision():
    """Two entries are flagged; the older revision is on its way out."""
    entry = latest_entry(component("v1, 0", "v2, v2", "v1:60 L, v2:40 L"))
    assert (entry.revision_name, entry.percent) == ("v2", 40)


ASKED = [
    # percent, lr, percent of the latest ready revision
    (None, "", 100),
    (None, "v1", 100),
    (20, "v1", 20),
    (0, "v1", 0),
    (99, "v1", 99),
    (100, "v1", 100),
    (20, "", 100),
]


@pytest.mark.parametrize(("percent", "rolled_out", "asked"), ASKED)
def test_traffic_that_kserve_asks_for(percent, rolled_out, asked):
    """A canary percent is ignored until something was rolled out."""
    assert asked_percent(percent, rolled_out) == asked
