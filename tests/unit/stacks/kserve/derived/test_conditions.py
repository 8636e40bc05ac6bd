"""Conditions, model state, and the facts that they come from."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from reporter.stacks.kserve.derived.conditions import ConditionManager, aggregate
from reporter.stacks.kserve.derived.derive import model_status
from reporter.stacks.kserve.derived.facts import facts_of
from reporter.stacks.kserve.derived.revisions import (
    Conclusion,
    asked_traffic,
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
    traffic,
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


C = Conclusion

PATTERNS = [
    # lr pr, C R, traffic, canary percent, conclusions
    ("v2, v1", "v2, v2", "v2:100 L", None, set()),
    ("v1, 0", "v1, v1", "v1:100 L", None, {C.NO_FALLBACK}),
    ("v1, 0", "v2, v2", "v2:20 L, v1:80 -", 20, {C.CANARY, C.NO_FALLBACK}),
    ("v1, v1", "v2, v2", "v2:20 L, v1:80 -", 20, {C.CANARY}),
    ("v1, v1", "v2, v2", "v2:0 L, v1:100 -", 0, {C.ROLLED_BACK}),
    ("v2, v1", "v3, v3", "v3:0 L, v2:100 -", 0, set()),
    ("v2, v1", "v3, v2", "v2:100 L", None, {C.NEWEST_NOT_READY}),
    ("v1, v1", "v3, v2", "v2:0 L, v1:100 -", 0, {C.NEWEST_NOT_READY, C.ROLLED_BACK}),
    ("v1, v0", "v3, v2", "v2:20 L, v1:80 -", 20, {C.NEWEST_NOT_READY, C.CANARY}),
    ("v1, v0", "v3, v2", "v2:0 L, v1:100 -", 0, {C.NEWEST_NOT_READY}),
    ("0, 0", "v1, 0", "", None, {C.NEWEST_NOT_READY}),
    ("v1, v0", "v2, v2", "v1:100 L", None, {C.ROLLOUT_NOT_FINISHED}),
    ("v1, v0", "v2, v2", "v1:100 L", 10, set()),
    ("v1, v0", "v2, v2", "v2:20 L, v1:80 -", None, {C.ROLLOUT_NOT_FINISHED, C.CANARY}),
    ("v2, v1", "v2, v2", "v2:0 L, v2:100 -", 0, {C.SPLIT_OVER_ONE}),
    ("v2, v1", "v3, v2", "v2:0 L, v2:100 -", 0, {C.SPLIT_OVER_ONE, C.NEWEST_NOT_READY}),
    ("v1, 0", "v1, v1", "v1:0 L, v1:100 -", 0, {C.SPLIT_OVER_ONE, C.NO_FALLBACK}),
    ("0, 0", "0, 0", "", None, set()),
    ("v1, v0", "v2, v2", "v2:~ L", 10, set()),
]


@pytest.mark.parametrize(("history", "revisions", "entries", "percent", "expected"), PATTERNS)
def test_pattern(history, revisions, entries, percent, expected):
    """Each pattern has its conclusions; several may hold at once."""
    status = component(history, revisions, entries)
    assert read_component(status, percent) == expected


def test_each_conclusion_has_a_pattern():
    """No conclusion is left out above."""
    assert set().union(*(each[4] for each in PATTERNS)) == set(Conclusion)


def test_the_latest_entry_of_a_gradual_rollout_is_the_one_that_names_the_ready_revision():
    """Two entries are flagged; the older revision is on its way out."""
    entry = latest_entry(component("v1, 0", "v2, v2", "v1:60 L, v2:40 L"))
    assert (entry.revision_name, entry.percent) == ("v2", 40)


ASKED = [
    # percent, lr, spec.traffic, tags
    (None, "", ":100 L", [""]),
    (None, "v1", ":100 L", [""]),
    (20, "v1", ":20 L, v1:80 -", ["", "prev"]),
    (0, "v1", ":0 L, v1:100 -", ["", "prev"]),
    (99, "v1", ":99 L, v1:1 -", ["", "prev"]),
    (100, "v1", ":100 L", [""]),
    (20, "", ":100 L", [""]),
]


@pytest.mark.parametrize(("percent", "rolled_out", "entries", "tags"), ASKED)
def test_traffic_that_kserve_asks_for(percent, rolled_out, entries, *, tags):
    """A canary percent is ignored until something was rolled out."""
    found = asked_traffic(percent, rolled_out)
    plain = [(each.revision_name, each.percent, each.latest_revision) for each in found]
    assert plain == [
        (each.revision_name, each.percent, each.latest_revision) for each in traffic(entries)
    ]
    assert [each.tag for each in found] == tags
