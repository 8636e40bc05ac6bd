import json
import re
import shlex
import shutil
import socket

import pytest

from tests.unit.kube.scripted import kubeconfig

NOW = "2026-11-20T12:00:00Z"


def write(tmp_path, *documents, name="dump.json"):
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(document) for document in documents))
    return path


def report(run, *argv):
    status, out, err = run("check", *argv, "-o", "json")
    assert err == ""
    return status, json.loads(out)


def dispositions(document):
    return {(each["reason"], each["subject"]): each["disposition"] for each in document["findings"]}


def test_nothing_fires_on_a_healthy_stack(run, healthy):
    status, document = report(run, "--from", healthy)
    assert status == 0
    assert document["findings"] == []
    assert document["unknown"] == document["skipped"] == []
    assert [each["subject"] for each in document["ready"]] == [
        "cluster",
        "inferenceset/chat-models/llama-3-1-8b",
        "inferenceset/chat-models/phi-4-mini",
        "inferenceset/code-models/qwen2-5-coder-7b",
        "inferenceset/search-models/gemma-3-4b",
        "inferenceset/search-models/mistral-7b",
        "namespace/chat-models",
        "namespace/code-models",
        "namespace/search-models",
    ]


def test_causes_fire_on_a_broken_stack_and_symptoms_do_not(run, broken):
    """An operator sees the causes; other findings are listed with the cause that explains them."""
    status, document = report(run, "--from", broken)
    assert status == 1
    assert dispositions(document) == {
        ("clusterCRDMissing", "cluster"): "firing",
        ("clusterKaitoControllerNotReady", "cluster"): "firing",
        ("modelharnessGatewayProgrammingFailed", "namespace/chat-models"): "firing",
        ("inferencesetScalingMisconfigured", "inferenceset/chat-models/phi-4-mini"): "firing",
        ("inferencesetKVCacheSaturated", "inferenceset/chat-models/llama-3-1-8b"): "firing",
        ("inferencesetEPPNotReady", "inferenceset/chat-models/phi-4-mini"): "secondary",
        (
            "inferencesetInfraProvisioningFailed",
            "inferenceset/code-models/qwen2-5-coder-7b",
        ): "suppressed",
        ("inferencesetModelPodsNotReady", "inferenceset/search-models/mistral-7b"): "suppressed",
    }
    assert "quota (aka.ms). Current Limit: 24" in json.dumps(document)
    assert "://" not in json.dumps(document)


def test_the_json_has_the_shape_of_the_contract(run, broken):
    _, document = report(run, "--from", broken)
    assert list(document) == [
        "apiVersion", "kind", "now", "findings", "subjects", "ready", "unknown", "skipped", "mutes",
        "muteFaults", "derived", "events",
    ]  # fmt: skip
    assert (document["apiVersion"], document["kind"]) == ("status-reporter/v1", "Report")
    assert document["now"] == NOW
    kaito = next(
        each for each in document["findings"] if each["reason"] == "clusterKaitoControllerNotReady"
    )
    message = kaito.pop("message")
    first, *_ = kaito.pop("commands")
    assert first == "kubectl -n kaito-system describe deployment kaito-workspace"
    assert kaito == {
        "reason": "clusterKaitoControllerNotReady",
        "layer": "cluster",
        "type": "Warning",
        "disposition": "firing",
        "primary": True,
        "impact": {"notServing": 1, "degraded": 1, "namespaces": 2},
        "stale": False,
        "subject": "cluster",
        "involvedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "kaito-system"},
        "related": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "kaito-system",
            "name": "kaito-workspace",
        },
        "cause": "CrashLoopBackOff",
        "since": "2026-11-20T11:41:10Z",
        "ageKnown": True,
        "firesAt": None,
        "by": [],
        "mutes": [],
    }
    events = {each["reason"]: each for each in document["events"]}
    assert events["clusterKaitoControllerNotReady"]["message"] == message
    assert message.endswith(
        "(suppressing downstream reasons: inferencesetInfraProvisioningFailed, "
        "inferencesetModelPodsNotReady in 2 namespace(s))"
    )


@pytest.mark.parametrize("output", ["json", "text", "events"])
def test_the_same_input_gives_the_same_bytes(run, broken, tmp_path, *, output):
    paths = sorted(broken.glob("*.yaml"))
    forward = [part for path in paths for part in ("--from", path)]
    backward = [part for path in reversed(paths) for part in ("--from", path)]
    first = run("check", *forward, "-o", output)
    assert first == run("check", *backward, "-o", output)
    folder = shutil.copytree(broken, tmp_path / "dump", ignore=lambda *_: ["metrics"])
    assert first == run("check", "--from", folder, "-o", output)


def test_events_are_printed_like_kubectl_does(run, broken, healthy):
    status, out, _ = run("check", "--from", broken, "-o", "events")
    assert status == 1
    head, *rows = out.splitlines()
    assert head.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert len(rows) == 5
    assert all(row.startswith("0s          Warning   ") for row in rows)
    disabled = ("--disable-reasons", "clusterReady,modelharnessReady,inferencesetReady")
    assert run("check", "--from", healthy, "-o", "events", *disabled) == (0, "", "No Events.\n")


def test_the_first_line_is_the_verdict_and_the_time(run, broken, healthy):
    assert run("check", "--from", healthy)[1].splitlines()[0] == (
        f"Nothing fires at {NOW} (the newest time in the dump)."
    )
    assert run("check", "--from", broken)[1].splitlines()[0] == (
        f"5 causes fire at {NOW} (the newest time in the dump); 2 suppressed, 1 secondary."
    )
    assert "(--now)" in run("check", "--from", broken, "--now", NOW)[1].splitlines()[0]


@pytest.mark.parametrize(
    ("argv", "status", "disposition", "since"),
    [
        ((), 1, "firing", None),
        (("--observed-for", "90"), 1, "firing", "2026-11-20T11:58:30Z"),
        (("--observed-for", "10"), 0, "pending", "2026-11-20T11:59:50Z"),
        (("--observed-for", "10", "--startup-grace-seconds", "5"), 1, "firing", None),
        (("--observed-for", "0", "--startup-grace-seconds", "0"), 1, "firing", None),
        (("--observed-for", "10", "--grace", "clusterBBRNotReady=5"), 1, "firing", None),
    ],
)
def test_observed_for(run, tmp_path, argv, *, status, disposition, since):
    """A finding without a time of its own counts as first seen so long before now."""
    path = write(tmp_path, deployment("body-based-router", 0))
    found, document = report(run, "--from", path, "--now", NOW, *argv)
    (finding,) = document["findings"]
    assert (found, finding["disposition"]) == (status, disposition)
    assert since in {None, finding["since"]}


def deployment(name, replicas, namespace="kaito-system"):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas},
        "status": {},
    }


@pytest.mark.parametrize(
    ("documents", "argv"),
    [
        ([{"apiVersion": "v1", "kind": "List", "items": []}], ()),
        ([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}], ()),
        ([deployment("web", 1, "shop")], ()),
        (
            [
                {
                    "apiVersion": "v1",
                    "kind": "Status",
                    "reason": "Forbidden",
                    "details": {"kind": "deployments", "group": "apps"},
                }
            ],
            ("--complete",),
        ),
    ],
)
def test_a_dump_that_says_nothing_names_a_sufficient_one(run, tmp_path, documents, *, argv):
    """If nothing was judged, the status is 2 and the output names the commands that help."""
    status, out, err = run("check", "--from", write(tmp_path, *documents), *argv)
    assert (status, out) == (2, "")
    assert 'kubectl get "$kind" -A -o yaml' in err
    assert "workspaces.kaito.sh" in err
    assert "--complete" not in err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--from", "missing.yaml"), "--from: missing.yaml: no such file or folder"),
        (("--kubeconfig", "nowhere"), "nowhere"),
        (("--complete",), "--complete is for dumps"),
        (("--now", "noon"), "--now: 'noon' is not allowed"),
        (("--now", "2026-11-20T12:00:00"), "RFC 3339"),
        (("--observed-for", "-1"), "--observed-for: '-1' is not allowed"),
        (("--observed-for", "nan"), "--observed-for: 'nan' is not allowed"),
        (("--observed-for", "1e30"), "seconds, 0 or more"),
        (("--emit", "all"), "--emit: 'all' is not allowed"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(run, healthy, argv, *, says):
    """Wrong arguments end with status 2 and name what is allowed."""
    source = () if argv[0] in {"--from", "--kubeconfig", "--complete"} else ("--from", healthy)
    status, out, err = run("check", *source, *argv)
    assert (status, out) == (2, "")
    assert says in err


def test_a_server_that_does_not_answer_is_named_at_once(run, tmp_path):
    """In one line with the cause."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        status, out, err = run("check", "--kubeconfig", kubeconfig(tmp_path / "config", server))
    assert (status, out) == (2, "")
    assert err.startswith(f"status-reporter: check: {server}: ")
    assert "cannot connect to the API server" in err
    assert "--kubeconfig" not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_text_fits_the_terminal(run, broken, monkeypatch, columns):
    """Only a word that is longer, or what is quoted in a command, sticks out; commands stay whole in a shell."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    out = run("check", broken, "--full")[1]
    long = [line for line in out.splitlines() if len(line) > columns]
    assert [line for line in long if "jsonpath=" not in line and " " in line.strip(" \\")] == []
    monkeypatch.undo()
    piped = run("check", broken)[1]
    assert _commands(out) == _commands(piped)


def _commands(text):
    """The commands of a text, as a shell reads them."""
    lines = re.sub(r" \\\n +", " ", text).splitlines()
    return [shlex.split(line.strip()) for line in lines if line.strip().startswith("$ ")]


def test_colours_only_on_a_terminal(run, broken, monkeypatch):
    """Text that is piped holds no escape sequences, nor does it where NO_COLOR is set."""
    assert "\x1b" not in run("check", "--from", broken)[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[1;31m5 causes fire\x1b[0m" in run("check", "--from", broken)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("check", "--from", broken)[1]


def test_a_nearly_right_variable_is_pointed_out(run, healthy, monkeypatch):
    """A misspelt variable would be without effect; others' variables are nobody's business."""
    monkeypatch.setenv("STATUS_REPORTER_STARTUP_GRACE_SECOND", "0")
    monkeypatch.setenv("STATUS_REPORTER_SERVICE_HOST", "10.0.0.1")
    status, _, err = run("check", "--from", healthy)
    assert status == 0
    assert err == (
        "status-reporter: STATUS_REPORTER_STARTUP_GRACE_SECOND is not a setting; did you mean "
        "STATUS_REPORTER_STARTUP_GRACE_SECONDS?\n"
    )
