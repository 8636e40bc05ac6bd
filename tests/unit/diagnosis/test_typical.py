"""Diagnoses as a whole: typical pods, those that are made again, end, load, or share a cause."""

import base64
import hashlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import yaml

from reporter.catalogue.resources import NODES, PODS, SERVICES
from reporter.diagnosis.case import ending, exit_words, last_words
from reporter.diagnosis.logs import read_log
from reporter.diagnosis.pod import diagnose
from reporter.model.evidence import Evidence, ForeignEvent
from reporter.model.finding import Diagnosis, Evaluation, Finding
from reporter.model.objects import Node, Pod, Service
from reporter.model.objects.pods import Terminated
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.probes.cluster.shared_causes import probe_nodes, probe_shared, with_shared_causes
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.workload.pod import ENDED, STARTING, judge_pod
from tests.incidents.score import report_of
from tests.unit.diagnosis.building import cluster, event
from tests.unit.probes.building import condition, document

CASES = yaml.safe_load(Path(__file__).with_name("typical.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_cause_is_told(case, tmp_path):
    report = report_of(case, tmp_path)
    causes = [each for each in report["findings"] if each["disposition"] == "firing"]
    assert [case["says"] in each["message"] for each in causes] == [True], [
        each["message"] for each in causes
    ]
    (cause,) = causes
    assert len(cause["message"].encode()) <= 1024
    assert case.get("no", "\n") not in cause["message"]
    diagnosis = cause.get("diagnosis") or {}
    wanted = {key: case[key] for key in ("sureness", "signature") if key in case}
    assert {key: diagnosis.get(key) for key in wanted} == wanted


def test_a_pod_that_never_ran_has_no_log_to_look_at(tmp_path):
    by_id = {each["id"]: each for each in CASES}
    for name in ("more-gpus-than-any-node-has", "no-such-tag", "secret-without-the-key"):
        folder = tmp_path / name
        folder.mkdir()
        (cause,) = [
            each for each in report_of(by_id[name], folder)["findings"] if each["commands"]
            if each["disposition"] == "firing"
        ]  # fmt: skip
        assert cause["commands"]
        assert not [each for each in cause["commands"] if " logs " in each]


WORKER = {
    "metadata": {
        "name": "big-0-1",
        "namespace": "models",
        "labels": {"leaderworkerset.sigs.k8s.io/name": "big"},
        "ownerReferences": [{"kind": "StatefulSet", "name": "big-0", "controller": True}],
    },
    "spec": {"nodeName": "gpu-1", "containers": [{"name": "main"}]},
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {"name": "main", "ready": False, "restartCount": 0, "state": {"running": {}}}
        ],
    },
}


def judged(kind="", name="", reason="", *, count=1):
    """A pod that starts, and an Event about one of its owners."""
    about = ObjectRef("", kind, "models", name)
    event = ForeignEvent(
        about=about, reason=reason, message="Worker pod big-0-1 failed", count=count
    )
    evidence = Evidence(events={("models", kind, name): (event,)} if kind else {})
    pod = msgspec.convert(WORKER, Pod)
    return judge_pod(pod, Snapshot(evidence=evidence), startup_budget=timedelta(minutes=30))


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [("LeaderWorkerSet", "big", "RecreateGroup"), ("StatefulSet", "big-0", "RecreatingFailedPod")],
)
def test_a_pod_that_is_made_again_does_not_merely_start(kind, name, reason):
    """It is told without the time that a start may take, with the controller that says so."""
    fault = judged(kind, name, reason, count=3)
    assert (fault.severity, fault.budget) == (ENDED, None)
    assert fault.detail.startswith(f"{kind} {name} makes its")
    assert "Worker pod big-0-1 failed" in fault.detail


def test_one_that_was_made_again_once_starts():
    """Once is no loop, and another Event says nothing of one."""
    assert judged("LeaderWorkerSet", "big", "RecreateGroup").severity == STARTING
    assert judged("LeaderWorkerSet", "big", "GroupsProgressing", count=9).severity == STARTING
    assert judged().severity == STARTING


KEY = "\n".join(
    base64.b64encode(hashlib.sha384(bytes([number])).digest()).decode() for number in range(5)
)
"""The middle of a private key, as the end of a log may be: lines of 64 characters."""


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (1, "Error", "exit code 1"),
        (127, "Error", "exit code 127: its command was not found"),
        (137, "Error", "exit code 137: killed by a probe, a stop past its grace, or for memory"),
        (137, "OOMKilled", "exit code 137: killed, out of memory"),
        (139, "Error", "exit code 139: crashed with a segmentation fault"),
        (143, "Error", "exit code 143: asked to stop"),
        (99, None, "exit code 99"),
    ],
)
def test_what_an_exit_code_means(code, reason, words):
    """A signal is told by what usually sends it; a code of the program's own stays a number."""
    assert exit_words(code, reason) == words


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (None, ""),
        ("  \n", ""),
        ("ValueError: no such model\n", "ValueError: no such model"),
        ("Traceback (most recent call last):\n  File x\nRuntimeError: no CUDA", "RuntimeError: no CUDA"),
        ("2026-11-20T12:00:00.123Z ERROR no space", "ERROR no space"),
        ("(EngineCore pid=174) ERROR 11-20 12:00:01 failed", "(EngineCore ) ERROR failed"),
        ("token=abcdefgh12345678 refused", "token=<redacted> refused"),
        ("token:\nabcdefgh12345678", "<redacted>"),
        ("refused\n--password\nhunter2hunter2\n", "<redacted>"),
        ("\x1b[1mpass\x00word\x1b[0m:\n hunter2hunter2", "<redacted>"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefgh", "<redacted>"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEabcdefgh\n-----END PRIVATE KEY-----\nrefused", "refused"),
        (f"{KEY}\n", "<redacted>"),
        (f"{KEY}\nrefused", "refused"),
        (f"refused\n{KEY[30:]}\nQ2xvc2U=", "<redacted>"),
        (f"{KEY[30:]}\nQ2xvc2U=\n-----END RSA PRIVATE KEY-----\nbye", "bye"),
        ("Q2xvc2U=\n-----END PRIVATE KEY-----", "<redacted>"),
        ("x" * 4090 + "\nlast one", "last one"),
        ("key=" + "x" * 8000, ""),
    ],
)  # fmt: skip
def test_the_last_words(message, said):
    """The last line says what went wrong; it is the same after the next crash, and holds no secret."""
    assert last_words(message) == said


def test_the_last_words_are_bounded():
    """A line of a log may be as long as it likes."""
    assert len(last_words("x" * 4000)) <= 240


def test_code_and_words_together():
    ended = Terminated(exit_code=143, reason="Error", message="bye")
    assert ending(ended) == " (exit code 143: asked to stop): bye"


PROBE = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10, "failureThreshold": 180}
SHARDS = "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:07<00:22,  7.53s/it]"
STARTS, READY = {"startupProbe": PROBE}, {"readinessProbe": PROBE}
REFUSED = 'Get "http://10.0.0.1:8000/health": dial tcp 10.0.0.1:8000: connect: connection refused'


def told(probes, answer="", log="", *, sidecar=False):
    """What is told of a server that runs and is not ready."""
    running = {"restartCount": 0, "state": {"running": {"startedAt": "2026-11-20T11:00:00Z"}}}
    states = [{"name": "main", "ready": False, **running}]
    names = [{"name": "main", **probes}]
    if sidecar:
        states.append({"name": "proxy", "ready": True, **running})
        names.append({"name": "proxy"})
    pod = document(
        "Pod", "m", "ns",
        {
            "spec": {"nodeName": "n1", "containers": names},
            "status": {"phase": "Running", "conditions": [condition("Ready", "False")], "containerStatuses": states},
        },
    )  # fmt: skip
    kind = "Startup" if "startupProbe" in probes else "Readiness"
    said = [event("Pod m", "Unhealthy", f"{kind} probe failed: {answer}")] if answer else []
    snapshot = cluster(pod, events=said)
    logs = {("ns", "m", "main"): read_log(log, ()).cause} if log else {}
    snapshot = replace(snapshot, evidence=replace(snapshot.evidence, logs=logs))
    found = diagnose(snapshot[PODS].get("ns", "m"), snapshot)
    return (found.code, found.cause.removeprefix("container main ")) if found else None


ALLOWS = "still loads: its start-up probe (GET :8000/health) allows 180 x 10 s"
FETCHES = "INFO 07-14 14:33:05 [gpu_model_runner.py:4021] Starting to load model a/b..."
FETCHED = "the last step in its log is to load a/b, whose download belongs to it"
WRONG = "runs and is not ready: its readiness probe asks GET :8000/health, which"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((STARTS,), ("loading", ALLOWS)),
        ((STARTS, REFUSED), ("loading", ALLOWS)),
        ((STARTS, REFUSED, SHARDS), ("loading", f"{ALLOWS}, and its log shows that it loads")),
        ((STARTS, "HTTP probe failed with statuscode: 404", SHARDS), ("loading", f"{ALLOWS}, and its log shows that it loads")),
        ((READY, REFUSED, SHARDS), ("loading", "still loads: its log shows that it loads, and GET :8000/health is refused meanwhile")),
        ((READY, REFUSED, FETCHES), ("loading", f"still loads: {FETCHED}, and GET :8000/health is refused meanwhile")),
        ((STARTS, REFUSED, FETCHES), ("loading", f"{ALLOWS}, and {FETCHED}")),
        ((STARTS, REFUSED, f"{FETCHES}\nTime spent downloading weights for a/b: 9 s"), ("loading", f"{ALLOWS}, and its log shows that it loads")),
        ((STARTS, REFUSED, "Starting to load model /models/a..."), ("loading", f"{ALLOWS}, and its log shows that it loads")),
        ((READY, REFUSED), ("loading", "still loads, or does not listen where it is probed: GET :8000/health is refused")),
        (
            (READY, REFUSED, f"{SHARDS}\nINFO:     Uvicorn running on http://0.0.0.0:8080 (Press CTRL+C to quit)"),
            ("probe-port", "listens on 0.0.0.0:8080, and its readiness probe asks GET :8000/health, which is refused"),
        ),
        (
            (STARTS, REFUSED, "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)"),
            ("probe-port", "listens on 127.0.0.1:8000 only, which no probe reaches, and its start-up probe asks GET :8000/health, which is refused"),
        ),
        ((READY,), None),
        ((READY, "HTTP probe failed with statuscode: 404", SHARDS), ("probe-path", f"{WRONG} answers 404: it has no such path")),
    ],
)  # fmt: skip
def test_what_is_told_of_a_server_that_is_not_ready(given, expected):
    """Its start-up probe and its log tell loading; what it says it listens on tells a wrong port."""
    assert told(*given) == expected


def test_a_server_beside_a_ready_container():
    """That a proxy is ready says nothing of the model: its log does."""
    assert told(READY, REFUSED, SHARDS, sidecar=True)[0] == "loading"
    assert told(READY, REFUSED, sidecar=True) == (
        "probe-refused", f"{WRONG} is refused: nothing listens there",
    )  # fmt: skip


GPU_1 = ObjectRef("v1", "Node", "", "gpu-1")
WHY = Diagnosis(
    code="network", cause="the CNI on node gpu-1 fails", brief="CNI", object=GPU_1, shared=True
)


def finding(name, why=WHY):
    """A pod of a model that fails for a cause of its node."""
    involved = ObjectRef("v1", "Namespace", "", "models")
    return Finding(
        reason="podsNotReady",
        subject=Subject(SubjectKind("inferenceset"), "models", name),
        involved=involved,
        related=ObjectRef("v1", "Pod", "models", f"{name}-0"),
        message=name,
        cause=name,
        diagnosis=why,
    )


def seen(**spec):
    """A cluster with one node that is Ready."""
    conditions = [{"type": "Ready", "status": "True"}]
    doc = {"metadata": {"name": "gpu-1"}, "spec": spec, "status": {"conditions": conditions}}
    tables = {NODES: table_of([msgspec.convert(doc, Node)])}
    return Snapshot(tables=tables, states={NODES: ResourceState(Served.SERVED)})


def told_of_nodes(*findings, snapshot=None):
    """The nodes that the findings rest on, and what is told of nodes."""
    snapshot = seen() if snapshot is None else snapshot
    (part,) = with_shared_causes([Evaluation(findings, (), ())], snapshot)
    nodes = list(probe_nodes(snapshot, part.findings))
    assert all(each.sole_place == "models" for each in nodes)  # they may be one tenant's forgery
    said = [each.message for each in nodes]
    return [each.lost_node for each in part.findings], said


def test_two_models_with_one_cause_rest_on_the_node():
    assert told_of_nodes(finding("a"), finding("b")) == (
        ["gpu-1", "gpu-1"], ["Node gpu-1: the CNI on node gpu-1 fails"],
    )  # fmt: skip


def test_one_model_alone_tells_it_itself():
    """Two pods of one model, two causes, or what is no matter of a node: nothing is told of it."""
    other = replace(WHY, code="gpu-driver")
    assert told_of_nodes(finding("a"), finding("a")) == (["", ""], [])
    assert told_of_nodes(finding("a"), finding("b", other)) == (["", ""], [])
    assert told_of_nodes(finding("a"), finding("b", replace(WHY, object=None))) == (["", ""], [])


def test_a_node_with_a_fault_of_its_own_does_not_take_theirs():
    found = told_of_nodes(finding("a"), finding("b"), snapshot=seen(unschedulable=True))
    assert found == (["", ""], [])


HOOK = ObjectRef("v1", "Service", "policy", "hook")
WEBHOOK_DOWN = Diagnosis(
    code="webhook-down", cause="webhook w refuses every pod", brief="w", object=HOOK, shared=True
)


def behind(*, ready, service=True, known=True):
    """A cluster with the Service of a webhook and a pod behind it."""
    pod = {
        "metadata": {"name": "hook-0", "namespace": "policy", "labels": {"app": "hook"}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    doc = {
        "metadata": {"name": "hook", "namespace": "policy"},
        "spec": {"selector": {"app": "hook"}},
    }
    tables = {
        PODS: table_of([msgspec.convert(pod, Pod)]),
        SERVICES: table_of([msgspec.convert(doc, Service)] if service else []),
    }
    state = ResourceState(Served.SERVED if known else Served.UNKNOWN)
    return Snapshot(tables=tables, states=dict.fromkeys(tables, state))


@pytest.mark.parametrize(
    ("snapshot", "missing", "shared"),
    [
        (behind(ready="False"), False, True),
        (behind(ready="True"), False, False),
        (behind(ready="False", service=False), True, True),
        (behind(ready="False", service=False), False, False),
        (behind(ready="False", service=False, known=False), True, False),
    ],
    ids=["none-ready", "one-ready", "no-service", "said-to-be-there", "unknown"],
)
def test_a_webhook_is_a_cause_of_all_where_nothing_is_behind_it(snapshot, *, missing, shared):
    """What is said of it where one model is refused may be forged: its Service tells."""
    found = finding("a", replace(WEBHOOK_DOWN, missing=missing))
    (part,) = with_shared_causes([Evaluation((found,), (), ())], snapshot)
    said = [(each.related, each.sole_place) for each in probe_shared(snapshot, part.findings)]
    assert said == ([(HOOK, "")] if shared else [])


def test_what_two_models_of_one_namespace_need_is_a_matter_of_that_namespace():
    fast = ObjectRef("storage.k8s.io/v1", "StorageClass", "", "fast")
    why = Diagnosis(
        code="class-missing", cause="no class", brief="no class", object=fast, shared=True
    )
    elsewhere = replace(finding("c", why), subject=Subject(SubjectKind("inferenceset"), "web", "c"))

    def place(*findings):
        (part,) = with_shared_causes([Evaluation(findings, (), ())], seen())
        (told_of_nodes,) = probe_shared(seen(), part.findings)
        return told_of_nodes.involved, told_of_nodes.sole_place

    assert place(finding("a", why), finding("b", why)) == (fast, "models")
    assert place(finding("a", why), elsewhere) == (fast, "")
