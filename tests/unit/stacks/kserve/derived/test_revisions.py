"""Revisions, raw Deployments, and when a status differs."""

import pytest

from reporter.stacks.kserve.derived.conditions import ConditionManager, raw_ready
from reporter.stacks.kserve.derived.derive import derive, differs
from reporter.stacks.kserve.derived.facts import facts_of
from reporter.stacks.kserve.derived.revisions import RevisionHistory, propagate, walk
from reporter.stacks.kserve.objects import Addressable, Component
from tests.tables import rows
from tests.unit.probes.building import merged
from tests.unit.stacks.kserve.derived.building import (
    PREDICTOR,
    STANDARD,
    UP,
    cluster,
    component,
    conditions,
    container,
    derived,
    ended,
    has,
    inferenceservice,
    knative_service,
    pair,
    predictor_pod,
    raw_deployment,
    routed,
    stored,
    the_service,
    typed,
    typed_service,
)

ROWS = [
    # case, lr pr before, C R, traffic, lr pr after
    ("promotion", "0, 0", "v2, v2", "v2:100 L", "v2, 0"),
    ("promotion", "v1, 0", "v2, v2", "v2:100 L", "v2, v1"),
    ("promotion", "v1, v0", "v3, v2", "v2:100 L", "v2, v1"),
    ("canary, or rolled back", "v1, 0", "v2, v2", "v2:0 L", "v1, 0"),
    ("canary, or rolled back", "v1, v0", "v2, v2", "v2:99 L, v1:1 -", "v1, v0"),
    ("canary, or rolled back", "v1, 0", "v3, v2", "v2:50 L", "v1, 0"),
    ("no percent", "v1, 0", "v2, v2", "v2:~ L", "v1, 0"),
    ("no percent", "v1, 0", "v2, v2", "v2:~ L, v2:100 -", "v1, 0"),
    ("rollback", "v2, v1", "v2, v2", "v2:0 L, v2:100 -", "v1, v1"),
    ("rollback", "v2, v1", "v2, v2", "v2:99 L, v2:1 -", "v1, v1"),
    ("rollback", "v2, v1", "v2, v2", "v2:20 L, v2:80 ?, v1:7 -", "v1, v1"),
    ("nothing to fall back to", "v2, 0", "v2, v2", "v2:0 L, v2:100 -", "v2, 0"),
    ("incomplete split", "v2, v1", "v2, v2", "v2:0 L, v1:100 -", "v2, v1"),
    ("incomplete split", "v2, v1", "v2, v2", "v2:90 L, v2:~ -", "v2, v1"),
    ("incomplete split", "v2, 0", "v2, v2", "v2:60 L, v2:60 -", "v2, 0"),
    ("a newer one is not ready", "v2, v1", "v3, v2", "v2:0 L, v2:100 -", "v2, v1"),
    ("a newer one is not ready", "v2, 0", "v3, v2", "v2:50 L", "v2, 0"),
    ("steady", "v2, v1", "v2, v2", "v2:100 L", "v2, v1"),
    ("steady", "v2, v1", "v3, v2", "v2:100 L, v2:100 -", "v2, v1"),
    ("no percent", "v2, v1", "v2, v2", "v2:~ L", "v2, v1"),
    ("no entry follows", "v1, 0", "v2, v2", "v2:100 -", "v1, 0"),
    ("no entry follows", "v1, 0", "v2, v2", "v2:100 ?", "v1, 0"),
    ("no entry follows", "v1, 0", "v2, v2", "v1:100 L", "v1, 0"),
    ("no entry follows", "v1, v0", "v2, v2", "", "v1, v0"),
    # two entries are flagged: the one that is low comes first, or last
    ("rollback, then promotion", "v2, v1", "v2, v2", "v2:0 L, v2:100 L", "v2, v1"),
    ("steady, then rollback", "v2, v1", "v2, v2", "v2:100 L, v2:0 L", "v1, v1"),
    # a gradual rollout, whose older revision is flagged, too
    ("canary, or rolled back", "v1, 0", "v2, v2", "v1:60 L, v2:40 L", "v1, 0"),
    # above 100, not rolled out and rolled out; below 0 is below 100
    ("no percent", "v1, 0", "v2, v2", "v2:101 L", "v1, 0"),
    ("no percent", "v2, v1", "v2, v2", "v2:101 L, v2:-1 -", "v2, v1"),
    ("rollback", "v2, v1", "v2, v2", "v2:-1 L, v2:101 -", "v1, v1"),
    # a second rollback has no effect, the first revision has none to go back to
    ("rollback", "v1, v1", "v1, v1", "v1:0 L, v1:100 -", "v1, v1"),
    ("nothing to fall back to", "v1, 0", "v1, v1", "v1:0 L, v1:100 -", "v1, 0"),
    # an entry without name wipes the record
    ("promotion", "v2, v1", "0, 0", ":100 L", "0, v2"),
]


@pytest.mark.parametrize(
    ("before", "revisions", "entries", "after"),
    [each[1:] for each in ROWS],
    ids=[each[0] for each in ROWS],
)
def test_what_a_pass_makes_of_the_record(before, revisions, entries, after):
    """Each flagged entry may change lr and pr."""
    assert walk(RevisionHistory(*pair(before)), routed(revisions, entries)) == pair(after)


def propagated(before, service):
    conditions = ConditionManager()
    return propagate(Component.PREDICTOR, before, service.status, conditions=conditions), conditions


def test_revisions_and_traffic_are_taken_over_also_when_empty():
    """What Knative forgot, KServe forgets; only the history stays."""
    before = component("v2, v1", "v2, v2", "v2:100 L")
    after = propagated(before, typed_service("0, 0", ""))[0]
    assert (after.latest_created_revision, after.latest_ready_revision) == ("", "")
    assert after.traffic is None
    assert (after.latest_rolledout_revision, after.previous_rolledout_revision) == ("v2", "v1")


@pytest.mark.parametrize(
    ("ready", "url", "kept"),
    [
        ("True", "http://new", "http://new"),
        ("True", None, "http://old"),
        ("False", "http://new", "http://old"),
        ("Unknown", "http://new", "http://old"),
    ],
)
def test_urls_are_overwritten_only_while_ready_and_never_cleared(ready, url, kept):
    """A component that is not ready keeps its old URL and address."""
    patch = {"status": {"url": url, "address": {"url": url} if url else None}}
    service = typed_service("v1, v1", "v1:100 L", patch, Ready=ready)
    before = component("v1, 0")
    before = type(before)(url="http://old", address=Addressable(url="http://old"))
    after = propagated(before, service)[0]
    assert (after.url, after.address.url) == (kept, kept)


AVAILABLE = {
    "SILENT": (None, "Unknown AvailableReason: available"),
    "TRUE": ("True AvailableReason: available",),
    "FALSE": ("False AvailableReason: available",),
}
PROGRESSING = {
    "SILENT": (None, "Unknown ProgressReason: progress"),
    "COMPLETE": ("True NewReplicaSetAvailable: progress",),
    "GOING_ON": ("True ReplicaSetUpdated: progress", "True"),
    "FAILED": ("False ProgressDeadlineExceeded: progress",),
    "FAILED_SILENTLY": ("False ProgressDeadlineExceeded",),
}

CELLS = """
SILENT SILENT          False
SILENT COMPLETE        True    P
SILENT GOING_ON        Unknown P
SILENT FAILED          False   P
SILENT FAILED_SILENTLY False
TRUE   SILENT          True    A
TRUE   COMPLETE        True    P
TRUE   GOING_ON        True    A
TRUE   FAILED          False   P
TRUE   FAILED_SILENTLY True    A
FALSE  SILENT          False   A
FALSE  COMPLETE        False   A
FALSE  GOING_ON        False   A
FALSE  FAILED          False   A
FALSE  FAILED_SILENTLY False   A
"""


def cases():
    for line in CELLS.split("\n"):
        if not line:
            continue
        available, progressing, status, *source = line.split()
        for one in AVAILABLE[available]:
            for other in PROGRESSING[progressing]:
                yield one, other, status, "".join(source)


def deployment(name=PREDICTOR, **texts):
    return typed(raw_deployment(name=name, **{k: v for k, v in texts.items() if v}))


@pytest.mark.parametrize(("available", "progressing", "status", "source"), list(cases()))
def test_cell(available, progressing, status, *, source):
    """Status, and whose reason and message it takes."""
    ready = raw_ready("PredictorReady", [deployment(Available=available, Progressing=progressing)])
    assert (ready.type, ready.status) == ("PredictorReady", status)
    text = {"A": available, "P": progressing, "": None}[source] or ""
    reason, _, message = text.partition(" ")[2].partition(": ")
    assert (ready.reason or "", ready.message or "") == (reason, message)


def with_replica_failure(available, progressing):
    """What is derived where pods cannot be created."""
    broken = deployment(
        Available=available, Progressing=progressing, ReplicaFailure="True FailedCreate: quota"
    )
    ready = raw_ready("PredictorReady", [broken])
    return ready.status, ready.reason, ready.message


def test_a_replica_failure_overrides_every_cell():
    """Pods that cannot be created are told before anything else."""
    found = {each[:2]: with_replica_failure(*each[:2]) for each in cases()}
    assert found == dict.fromkeys(found, ("False", "FailedCreate", "quota"))


def test_a_replica_failure_that_is_over_changes_nothing():
    """Only True counts."""
    fine = deployment(Available="True MinimumReplicasAvailable", ReplicaFailure="False Over")
    assert raw_ready("PredictorReady", [fine]).status == "True"


def test_no_deployment_at_all():
    """False, and nothing says why."""
    ready = raw_ready("PredictorReady", [])
    assert (ready.status, ready.reason, ready.message) == ("False", None, None)


FINE, NONE = "MinimumReplicasAvailable", "MinimumReplicasUnavailable"
QUOTA = "True FailedCreate: quota"
COMPLETE = {"Progressing": "True NewReplicaSetAvailable"}


@rows(
    ("head", "worker", "expected"),
    {
        "both True, same reason": (
            {"Available": f"True {FINE}: fine"}, {"Available": f"True {FINE}: good"},
            ("True", FINE, "predictor-container: fine, worker-container: good"),
        ),
        "one False, reasons differ": (
            {"Available": f"True {FINE}: fine"}, {"Available": f"False {NONE}: none"},
            ("False", f"predictor-container: {FINE}, worker-container: {NONE}", "predictor-container: fine, worker-container: none"),
        ),
        "Unknown becomes False": ({"Available": "True Same"}, {"Available": "Unknown Same"}, ("False", "Same", "")),
        "one that is reported by the head only counts as absent": (
            {"Available": f"False {NONE}", **COMPLETE}, COMPLETE, ("True", "NewReplicaSetAvailable", ""),
        ),
        "a worker without conditions leaves nothing to tell": ({"Available": f"True {FINE}"}, {}, ("False", "", "")),
        "a replica failure of one of them counts as absent": (
            {"Available": "True Same", "ReplicaFailure": QUOTA}, {"Available": "True Same"}, ("True", "Same", ""),
        ),
        "a replica failure of both": (
            {"ReplicaFailure": "True FailedCreate: one"}, {"ReplicaFailure": "True FailedCreate: other"},
            ("False", "FailedCreate", "predictor-container: one, worker-container: other"),
        ),
    },
)  # fmt: skip
def test_head_and_worker(head, worker, expected):
    """A condition counts only if both report it, and is True only if both are."""
    both = [deployment(**head), deployment(f"{PREDICTOR}-worker", **worker)]
    ready = raw_ready("PredictorReady", both)
    assert (ready.status, ready.reason or "", ready.message or "") == expected


SERVICE = knative_service("v2, v2", "v2:100 L", {"status": {"url": "http://v2"}})
POD = predictor_pod(of="v2", ready=True)


def settled(*docs):
    """The InferenceService after a pass over these objects."""
    return stored(derived(inferenceservice(has(**UP)), *docs))


def compared(doc, *docs):
    snapshot = cluster(doc, *docs)
    service = the_service(snapshot)
    return differs(service.status, derive(facts_of(service, snapshot)))


def predictor(**fields):
    return {"status": {"components": {"predictor": fields}}}


def with_condition(doc, **texts):
    """The document with some of its conditions replaced."""
    new = conditions(**texts)
    kept = [each for each in doc["status"]["conditions"] if each["type"] not in texts]
    return merged(doc, {"status": {"conditions": kept + new}})


SETTLED, LEFT_ALONE = settled(SERVICE, POD), settled(SERVICE)
FAILING = knative_service("v2, v2", "v2:100 L", Ready="False RevisionFailed: 50% of it")
FAILED = settled(FAILING)
ON_V1 = knative_service("v2, v1", "v1:100 L", Ready="True")
CRASHED = predictor_pod(of="v2", name="pod-b", serving=container("kserve-container", ended("Error")))  # fmt: skip
WAITS = predictor_pod(of="v2", name="pod-a")
WENT_UP, WENT_DOWN = raw_deployment(Available="True Fine"), raw_deployment(Available="False MinimumReplicasUnavailable: none")  # fmt: skip
STANDARD_UP = stored(derived(inferenceservice(STANDARD, has(**UP)), WENT_UP))
HISTORY = ("components.predictor.latestRolledoutRevision", "components.predictor.previousRolledoutRevision")  # fmt: skip


def lacking(doc, type_):
    """The document without a condition."""
    left = [each for each in doc["status"]["conditions"] if each["type"] != type_]
    return merged(doc, {"status": {"conditions": left}})


def model_status(**fields):
    return {"status": {"modelStatus": fields}}


@rows(
    ("doc", "docs", "fields"),
    {
        "a second pass has nothing to say": (SETTLED, [SERVICE, POD], ()),
        **{
            f"a field that differs, by its path: {field}": (merged(SETTLED, patch), [SERVICE, POD], (field,))
            for patch, field in (
                (predictor(latestCreatedRevision="v1"), "components.predictor.latestCreatedRevision"),
                (predictor(latestReadyRevision="v1"), "components.predictor.latestReadyRevision"),
                (predictor(traffic=[]), "components.predictor.traffic"),
                (predictor(url="http://v1"), "components.predictor.url"),
                ({"status": {"observedGeneration": 1}}, "observedGeneration"),
                (model_status(transitionStatus="BlockedByFailedLoad"), "modelStatus.transitionStatus"),
            )
        },
        "a promotion that was not recorded": (merged(LEFT_ALONE, predictor(latestRolledoutRevision="v1")), [SERVICE], HISTORY),
        **{
            f"a condition that differs, by its type: {type_}": (with_condition(SETTLED, **{type_: text}), [SERVICE, POD], (f"conditions.{type_}",))
            for type_, text in (
                ("PredictorReady", "False RevisionFailed"), ("PredictorRouteReady", "Unknown TrafficNotMigrated"),
                ("LatestDeploymentReady", "False PredictorConfigurationReady not ready"),
            )
        },
        "a type that versions before 0.11 do not write": (lacking(LEFT_ALONE, "RoutesReady"), [SERVICE], ()),
        "no Stopped of older versions": (lacking(LEFT_ALONE, "Stopped"), [SERVICE], ()),
        "reasons of True conditions": (with_condition(LEFT_ALONE, PredictorReady="True AsEver"), [SERVICE], ()),
        "a garbled percent sign": (with_condition(FAILED, PredictorReady="False RevisionFailed: 50%!o(MISSING)f it"), [FAILING], ()),
        "the words of Ready": (with_condition(FAILED, Ready="False OtherReason: other"), [FAILING], ()),
        "but not those of another False condition": (
            with_condition(FAILED, PredictorReady="False RevisionMissing: 50% of it"), [FAILING], ("conditions.PredictorReady",),
        ),
        "pods that have gone since": (SETTLED, [SERVICE], ()),
        "copies": (merged(SETTLED, model_status(copies={"totalCopies": 9})), [SERVICE], ()),
        "the defaults of the schema": (
            merged(LEFT_ALONE, model_status(transitionStatus="UpToDate", states={"activeModelState": "Pending"})), [SERVICE], (),
        ),
        "pods that tell different things: KServe may have looked at either": (settled(ON_V1, CRASHED), [ON_V1, CRASHED, WAITS], ()),
        "in Standard mode a Deployment that is as told": (STANDARD_UP, [WENT_UP], ()),
        "one that went down": (STANDARD_UP, [WENT_DOWN], ("conditions.PredictorReady", "conditions.Ready")),
    },
)  # fmt: skip
def test_what_differs_from_what_is_derived(doc, docs, fields):
    """What cannot be known from outside is no difference."""
    assert compared(doc, *docs) == fields
