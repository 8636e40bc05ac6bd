"""`status-reporter dump`: the archive replaces the cluster and has nothing confidential."""

import asyncio
import json
import stat
import tarfile
from datetime import UTC, datetime, timedelta

import pytest

from lab.sandbox.controllers import running
from lab.sandbox.faults import InjectedFault
from reporter.cli.saved_pages import DumpedPage, learn_pages, members_of_pages
from reporter.model.instant import parse_rfc3339
from reporter.snapshot.documents import read_documents
from reporter.snapshot.outputs.masking import Redaction, vocabulary
from tests.unit.conftest import EXAMPLES

NOW = "2026-11-20T12:00:00Z"
STACKS = (
    "broken-stack", "healthy-stack", "modelservice/broken", "modelserving/stuck-role",
    "inferenceservice/failing-load", "dialects/rayservice/faults.yaml",
)  # fmt: skip


def documents_of(*folders):
    return [each.value for each in read_documents([EXAMPLES / folder for folder in folders])]


@pytest.fixture(name="cluster")
def _cluster(tmp_path, run):
    """A sandbox for some documents, in which a function of the test runs commands."""

    def cluster(documents, ask, *faults):
        async def serve():
            kubeconfig = tmp_path / "kubeconfig"
            async with running(documents, kubeconfig_path=kubeconfig, controllers=False) as sandbox:
                for fault in faults:
                    sandbox.faults.add(fault)
                return await asyncio.to_thread(
                    ask, lambda *argv: run(*argv, "--kubeconfig", kubeconfig)
                )

        return asyncio.run(serve())

    return cluster


def unpacked(path):
    """Return the texts of an archive by their names without the folder."""
    with tarfile.open(path) as tar:
        return {
            member.name.partition("/")[2]: tar.extractfile(member).read().decode() for member in tar
        }


@pytest.mark.parametrize("stack", STACKS)
def test_the_report_is_that_of_the_cluster(cluster, run, tmp_path, stack):
    """The output is the same byte for byte except for the time, in JSON and text, with the same status."""
    path = tmp_path / "d.tgz"

    def ask(command):
        assert command("dump", "-o", path)[0] == 0
        return [command("check", "--now", NOW, "-o", output) for output in ("json", "text")]

    live = cluster(documents_of(stack), ask)
    for (status, out, _), output in zip(live, ("json", "text"), strict=True):
        assert run("check", "--from", path, "--now", NOW, "-o", output) == (status, out, "")


def test_what_was_refused_is_recorded(cluster, run, tmp_path):
    """As a Status in the API server's shape; the dump says that it is unknown, and why."""
    path = tmp_path / "d.tgz"
    refused = InjectedFault(action="forbidden", resources=("nodes", "workspaces.kaito.sh"))
    status, out, _ = cluster(
        documents_of("healthy-stack"), lambda command: command("dump", "-o", path), refused
    )
    assert status == 0
    assert "Not read, forbidden: nodes, workspaces.kaito.sh." in out
    assert '"kind": "workspaces"' in unpacked(path)["refused.json"]
    assert '"reason": "Forbidden"' in unpacked(path)["refused.json"]
    report = json.loads(run("check", "--from", path, "-o", "json")[1])
    assert report["unknown"] == [
        {"resource": "nodes", "cause": "forbidden"},
        {"resource": "workspaces.kaito.sh", "cause": "forbidden"},
    ]


def test_the_time_is_that_of_the_collection(cluster, run, tmp_path):
    """`--now` is when the dump was complete, whatever times stand in the objects."""
    path = tmp_path / "d.tgz"
    cluster(documents_of("healthy-stack"), lambda command: command("dump", "-o", path))
    out = run("check", "--from", path, "-o", "json")[1]
    now = parse_rfc3339(json.loads(out)["now"])
    assert timedelta() <= datetime.now(UTC) - now < timedelta(minutes=5)
    assert "the time of the dump" in run("check", "--from", path)[1]


def test_the_file(cluster, tmp_path):
    """It has a name with the time by default, is for its owner alone, and overwrites nothing."""

    def ask(command):
        _, said, _ = command("dump")
        return said, command("dump", "-o", tmp_path / "there.tgz")

    (tmp_path / "there.tgz").write_text("mine")
    said, (status, _, err) = cluster(documents_of("healthy-stack"), ask)
    (path,) = tmp_path.glob("status-reporter-dump-*Z.tgz")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert said.startswith(f"{path.name}: ")
    assert f"status-reporter check --from {path.name}" in said
    assert status == 2
    assert "already exists" in err
    assert (tmp_path / "there.tgz").read_text() == "mine"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["-o", "dump.zip"], "allowed: a name that ends with .tgz"),
        (["-o", "missing/dump.tgz"], "missing: no such folder"),
        (["--metrics", "soon"], "--metrics: 'soon' is not allowed; allowed: 1 to 3600"),
        (["--kubeconfig", "missing"], "missing"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(run, tmp_path, flags, says):
    status, out, err = run("dump", *flags)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert not list(tmp_path.glob("*.tgz"))


SECRETS = ("hunter2", "sk-verysecret1234567", "s3cr3t-argument", "an-inline-word", "p4ss-in-url")


def with_secrets():
    """Return a stack whose objects carry credentials wherever people put them."""
    variables = [
        {"name": "DB_PASSWORD", "value": "hunter2"},
        {"name": "OTEL_X", "value": "hunter2"},
    ]
    arguments = ["--api-key", "s3cr3t-argument", "--token=s3cr3t-argument"]
    shell = ["sh", "-c", "serve --api-key an-inline-word --tokenizer auto"]
    container = {"name": "c", "image": "i", "env": variables, "args": arguments, "command": shell}
    template = {"metadata": {"labels": {"app": "c"}}, "spec": {"containers": [container]}}
    managed = [{"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:hunter2": {}}}]
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"x": "hunter2"})}
    metadata = {"namespace": "chat-models", "managedFields": managed, "annotations": applied}
    message = "pull of https://me:p4ss-in-url@registry.example.com failed: sk-verysecret1234567"
    pod = {"containers": [container]}
    return [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {**metadata, "name": "s"}, "stringData": {"a": "hunter2"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "name": "c"}, "data": {"a": "hunter2"}},
        {
            "apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": "p"}, "spec": pod,
            "status": {"phase": "Pending", "message": message},
        },
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**metadata, "name": "d"},
            "spec": {"selector": {"matchLabels": {"app": "c"}}, "template": template},
        },
        {
            "apiVersion": "workload.serving.volcano.sh/v1alpha1", "kind": "ModelServing",
            "metadata": {**metadata, "name": "m"},
            "spec": {"template": {"roles": [{"name": "r", "entryTemplate": template}]}},
        },
    ]  # fmt: skip


def test_no_credentials_go_in(cluster, tmp_path):
    """Secrets, environments, arguments, field sets and annotations are left out; managers are kept."""
    path = tmp_path / "d.tgz"
    documents = [*documents_of("healthy-stack"), *with_secrets()]
    assert cluster(documents, lambda command: command("dump", "-o", path))[0] == 0
    files = unpacked(path)
    assert '"name": "d"' in files["deployments.apps.json"]
    assert '"manager": "kubectl-edit"' in files["deployments.apps.json"]
    assert '"entryTemplate"' in files["modelservings.workload.serving.volcano.sh.json"]
    text = "".join(files.values())
    for secret in (*SECRETS, "last-applied"):
        assert secret not in text
    assert "--tokenizer auto" in text


@pytest.mark.parametrize("stack", STACKS)
def test_other_names_and_the_same_findings(cluster, run, tmp_path, stack):
    """Reasons, dispositions, times and order stay; no name of a namespace, node or model does."""
    plain, other = tmp_path / "plain.tgz", tmp_path / "other.tgz"

    def ask(command):
        assert command("dump", "-o", plain)[0] == 0
        assert command("dump", "-o", other, "--redact")[0] == 0

    cluster(documents_of(stack), ask)
    found, expected = (told_by(run, path) for path in (other, plain))
    assert found == expected
    text = "".join(unpacked(other).values())
    for name in names_of(stack):
        assert name not in text


def told_by(run, path):
    """Return what a report says without its names."""
    report = json.loads(run("check", "--from", path, "--now", NOW, "-o", "json")[1])
    keys = ("reason", "layer", "type", "disposition", "primary", "stale", "since", "firesAt", "by")
    findings = [
        (*(each[key] for key in keys), each["subject"].partition("/")[0], each["related"]["kind"])
        for each in report["findings"]
    ]
    ready = [(each["reason"], each["subject"].partition("/")[0]) for each in report["ready"]]
    return findings, ready, report["unknown"], len(report["skipped"]), len(report["events"])


def names_of(stack):
    """Return the names that tell whose cluster it is."""
    kept = vocabulary(()).names
    kinds = {
        "Namespace", "Node", "InferenceSet", "ModelServing", "ModelService", "InferenceService",
    }  # fmt: skip
    for document in documents_of(stack):
        for item in document.get("items", [document]):
            name = item["metadata"]["name"]
            if item["kind"] in kinds and name not in kept:
                yield name


def test_pages_have_other_names_too():
    """Labels of metrics, and the folders that pages are in; the numbers stay."""
    raw = b'vllm:num_requests_running{engine="0",model_name="acme/fraud-7b"} 3.0\n'
    pages = [DumpedPage("acme", "fraud-7b-0", 100, raw)]
    redaction = Redaction(vocabulary(()))
    redaction.learn_name("namespace", "acme")
    redaction.learn_name("model", "fraud-7b")
    learn_pages(redaction, pages)
    (member,) = members_of_pages(pages, redaction)
    assert member.name == "metrics/namespace1/model1-0/100.prom"
    assert member.raw == (
        b'vllm:num_requests_running{engine="0",model_name="namespace1/model1"} 3.0\n'
    )
    assert members_of_pages(pages, None)[0].raw == raw
