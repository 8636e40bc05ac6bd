"""A container that still loads is told from one that is asked where nothing answers."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import PODS
from reporter.diagnosis.logs import read_log
from reporter.diagnosis.pod import diagnose
from tests.unit.diagnosis.building import cluster, event
from tests.unit.probes.building import condition, document

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
WRONG = "runs and is not ready: its readiness probe asks GET :8000/health, which"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((STARTS,), ("loading", ALLOWS)),
        ((STARTS, REFUSED), ("loading", ALLOWS)),
        ((STARTS, REFUSED, SHARDS), ("loading", f"{ALLOWS}, and its log shows that it loads")),
        (
            (STARTS, "HTTP probe failed with statuscode: 404", SHARDS),
            ("loading", f"{ALLOWS}, and its log shows that it loads"),
        ),
        (
            (READY, REFUSED, SHARDS),
            ("loading", "still loads: its log shows that it loads, and GET :8000/health is refused meanwhile"),
        ),
        (
            (READY, REFUSED),
            ("loading", "still loads, or does not listen where it is probed: GET :8000/health is refused"),
        ),
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
