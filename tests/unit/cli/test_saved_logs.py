"""Logs in dumps, wherever tools put them."""

import io
import json
import tarfile
import zipfile
from pathlib import PurePosixPath

import pytest

from reporter.catalogue.resources import PODS
from reporter.cli.saved_pages import with_logs
from reporter.diagnosis.signatures import built_in
from reporter.diagnosis.wanted_evidence import together, wanted_logs
from reporter.model.evidence import ContainerLog, LogCause
from reporter.snapshot.decode import decode_object
from reporter.snapshot.dump import load_dump
from reporter.snapshot.inputs.files import LogFile, log_of
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks import BUILT_IN

WAITS = {"waiting": {"reason": "CrashLoopBackOff"}}
RUNS = {"running": {}}
ENDED, DONE = {"terminated": {"exitCode": 1}}, {"terminated": {"exitCode": 0}}
CAUSE = b"RuntimeError: No available memory for the cache blocks\n"
OTHER = b"OSError: [Errno 28] No space left on device\n"


def pod(*containers, init=(), phase="Running", **metadata):
    """A pod; a container is its state, the one before, and whether it is ready."""

    def statuses(name, states):
        return [
            {"name": f"{name}{number}", "ready": ready, "state": now, "lastState": before}
            for number, (now, before, ready) in enumerate(states)
        ]

    sidecars = [{"name": "i1", "restartPolicy": "Always"}]
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "n", "name": "p", **metadata},
        "spec": {"initContainers": [{"name": "i0"}, *sidecars]},
        "status": {
            "phase": phase, "containerStatuses": statuses("c", containers),
            "initContainerStatuses": statuses("i", init),
        },
    }  # fmt: skip


WANTED = {
    "waits after an end": (pod((WAITS, ENDED, False)), [("c0", (True,))]),
    "never started": (pod((WAITS, {}, False)), []),
    "ended, with 0 too": (pod((DONE, {}, False)), [("c0", (False,))]),
    "runs unready": (pod((RUNS, {}, False)), [("c0", (False,))]),
    "runs unready again": (pod((RUNS, ENDED, False)), [("c0", (True, False))]),
    "is Ready": (pod((RUNS, ENDED, True)), []),
    "one of two": (pod((RUNS, {}, True), (RUNS, {}, False)), [("c1", (False,))]),
    "an init container is done": (pod(init=[(DONE, {}, False)]), []),
    "an init container fails": (pod(init=[(WAITS, ENDED, False)]), [("i0", (True,))]),
    "a sidecar ended": (pod(init=[(DONE, {}, False), (DONE, {}, False)]), [("i1", (False,))]),
    "a Job's pod is done": (pod((DONE, {}, False), phase="Succeeded"), []),
    "is being deleted": (pod((ENDED, {}, False), deletionTimestamp="2026-11-24T10:00:00Z"), []),
}  # fmt: skip


@pytest.mark.parametrize(("document", "wanted"), WANTED.values(), ids=WANTED)
def test_which_logs_are_read(document, wanted):
    found = decode_object(PODS, json.dumps(document).encode())
    assert [(each.container, each.runs) for each in wanted_logs(found)] == wanted


PLACES = {
    "logs/n/p/c0.log": ContainerLog("n", "p", "c0"),
    "dump/logs/n/p/c0.previous.log": ContainerLog("n", "p", "c0", previous=True),
    "bundle/cluster-resources/pods/logs/n/p/c0.log": ContainerLog("n", "p", "c0"),
    "bundle/cluster-resources/pods/logs/n/p/c0-previous.log": ContainerLog("n", "p", "c0", previous=True),
    "must-gather/quay-io/namespaces/n/pods/p/c0/c0/logs/current.log": ContainerLog("n", "p", "c0"),
    "namespaces/n/pods/p/c0/c0/logs/previous.log": ContainerLog("n", "p", "c0", previous=True),
    "namespaces/n/pods/p/c0/c0/logs/previous.insecure.log": ContainerLog("n", "p", "c0", previous=True),
    "logs/n/c0.log": None,
    "a.log": None,
    "logs/n/p/c0.txt": None,
}  # fmt: skip


@pytest.mark.parametrize(("path", "log"), PLACES.items())
def test_places(path, log):
    assert log_of(path) == log


STREAM = (
    b"==== START logs for container c0 of pod n/p ====\n" + CAUSE
    + b"==== START logs for container c0 of pod other/q ====\n"
    + b"==== END logs for container c0 of pod n/p ====\n"
    + b"==== START logs for container c1 of pod n/p ====\n" + OTHER.rstrip()
    + b"==== END logs for container c1 of pod n/p ====\n"
)  # fmt: skip
CRASHES = json.dumps(pod((WAITS, ENDED, False), (RUNS, {}, False))).encode()


def as_folder(files, path):
    for name, raw in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(raw)
    return path


def as_tar(files, path):
    with tarfile.open(path / "dump.tgz", "w:gz") as archive:
        for name, raw in files.items():
            header = tarfile.TarInfo(f"dump/{name}")
            header.size = len(raw)
            archive.addfile(header, io.BytesIO(raw))
    return path / "dump.tgz"


def as_zip(files, path):
    with zipfile.ZipFile(path / "dump.zip", "w") as archive:
        for name, raw in files.items():
            archive.writestr(f"dump/{name}", raw)
    return path / "dump.zip"


LAYOUTS = {
    "by hand": {"logs/n/p/c0.previous.log": CAUSE, "logs/n/p/c1.log": OTHER},
    "by hand, without --previous": {"logs/n/p/c0.log": CAUSE, "logs/n/p/c1.log": OTHER},
    "must-gather": {"namespaces/n/pods/p/c0/c0/logs/previous.log": CAUSE, "namespaces/n/pods/p/c1/c1/logs/current.log": OTHER},
    "cluster-info dump": {"n/p/logs.txt": STREAM},
}  # fmt: skip


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("packed", [as_folder, as_tar, as_zip])
def test_layouts(files, packed, tmp_path):
    """Each container that failed has what its log says, and no log speaks for another pod."""
    dump = load_dump([packed({"pods.json": CRASHES, **files}, tmp_path)], BUILT_IN)
    logs = with_logs(dump.snapshot, dump.logs, built_in()).evidence.logs
    assert {key: each.signature for key, each in logs.items()} == {
        ("n", "p", "c0"): "v-kv-none",
        ("n", "p", "c1"): "enospc",
    }


def test_a_link_out_of_the_folder_is_not_read(tmp_path):
    outside = tmp_path / "secret.log"
    outside.write_bytes(CAUSE)
    folder = as_folder({"pods.json": CRASHES, "logs/n/p/x": b""}, tmp_path / "dump")
    (folder / "logs/n/p/c0.log").symlink_to(outside)
    assert load_dump([folder], BUILT_IN).logs == ()


def test_a_log_of_no_pod_is_not_matched():
    log = LogFile("x", PurePosixPath("x"), CAUSE, ContainerLog("n", "none", "c"))
    assert with_logs(Snapshot(), [log], built_in()).evidence.logs == {}


def test_runs_together():
    """The first run that names a cause counts, a symptom only where none does."""
    symptom, cause = LogCause(signature="nccl-remote", symptom=True), LogCause(signature="enospc")
    assert together([symptom, cause]) is cause
    assert together([LogCause(), symptom]) is symptom
    assert together([LogCause()]) == LogCause()
    assert together([]).read is False


ODD = b"INFO loads\nacme.OddError: none knows this\nINFO bye\n"
ENGINE = {
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"namespace": "n", "name": "m-0", "labels": {"app": "m"},
                 "creationTimestamp": "2026-11-20T10:00:00Z",
                 "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "m",
                                      "uid": "u1", "controller": True}]},
    "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.11.0"}]},
    "status": {"phase": "Running", "containerStatuses": [
        {"name": "vllm", "ready": False, "restartCount": 9, "state": WAITS,
         "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]},
}  # fmt: skip
MODEL = {
    "apiVersion": "apps/v1", "kind": "StatefulSet",
    "metadata": {"namespace": "n", "name": "m", "uid": "u1"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "m"}},
             "template": {"metadata": {"labels": {"app": "m"}}, "spec": ENGINE["spec"]}},
    "status": {"replicas": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "quoted"),
    [
        ((), ["acme.OddError: none knows this"]),
        (("--pod-logs",), ["INFO loads", "acme.OddError: none knows this", "INFO bye"]),
    ],
)
def test_a_failure_that_no_row_knows_is_quoted(flags, quoted, run, tmp_path):
    """Beside the message, and not in it."""
    items = {"apiVersion": "v1", "kind": "List", "items": [MODEL, ENGINE]}
    files = {"all.json": json.dumps(items).encode(), "logs/n/m-0/vllm.previous.log": ODD}
    as_folder(files, tmp_path)
    _, out, _ = run("check", tmp_path, "--complete", "-o", "json", *flags)
    (finding,) = [each for each in json.loads(out)["findings"] if each["reason"] != "clusterReady"]
    assert "(its log names no known cause)" in finding["message"]
    assert "OddError" not in finding["message"]
    assert finding["lastLines"] == quoted
    _, text, _ = run("check", tmp_path, "--complete", *flags)
    assert "From its log:\n    | " in text
