"""A single pass at a live cluster: what is asked for, with which rights, and what is said where it fails."""

import asyncio
import json

import pytest
from aiohttp import web

from lab.cli.sandbox import _documents
from lab.sandbox.access import Rule
from lab.sandbox.controllers import running
from reporter.cli.cluster import read_cluster
from reporter.cli.configure import load_settings
from reporter.cli.main import main
from reporter.kube.errors import KubeError
from tests.unit.conftest import EXAMPLES
from tests.unit.kube.scripted import kubeconfig, serving, status

NS = "search-models"
PODS = ("inferencesetModelPodsNotReady", f"inferenceset/{NS}/mistral-7b")
IN_NAMESPACE = Rule(verbs=("get", "list", "watch"), namespaces=(NS,))
ITSELF = Rule(verbs=("get",), resources=("namespaces",), resource_names=(NS,))


@pytest.fixture(name="stack")
def _stack(tmp_path):
    """Serve an example; gives the sandbox, and what runs `check` on it."""

    def serve(name):
        documents = _documents([str(EXAMPLES / name)])
        return running(documents, kubeconfig_path=tmp_path / "kubeconfig", controllers=False)

    return serve


@pytest.fixture(name="check")
def _check(tmp_path, capsys):
    """Run `check` against what is served: status, what it printed, and what it wrote to stderr."""

    async def check(*flags):
        argv = ["check", "--kubeconfig", str(tmp_path / "kubeconfig"), *flags]
        code = await asyncio.to_thread(main, argv)
        out, err = capsys.readouterr()
        return code, out, err

    return check


def firing(report):
    return [
        (each["reason"], each["subject"])
        for each in report["findings"]
        if each["disposition"] == "firing"
    ]


async def test_a_single_pass_lists_everything_once_and_watches_nothing(stack, check):
    async with stack("broken-stack") as sandbox:
        code, _, err = await check("-o", "json")
        lists = [each for each in sandbox.request_log.recent if each.verb == "list"]
        assert (code, err) == (1, "")
        assert sandbox.request_log.count(verb="watch") == 0
        places = [(each.resource, each.path) for each in lists]
        assert len(places) == len(set(places)) > 15


async def test_a_tenant_gets_an_answer(stack, check):
    """With rights in one namespace: its fault, no refusal asked for, and that the cluster is unknown."""
    async with stack("broken-stack") as sandbox:
        sandbox.access.allow_only([IN_NAMESPACE, ITSELF])
        code, out, err = await check("-n", NS, "-o", "json")
        report = json.loads(out)
        assert (code, err) == (1, "")
        assert PODS in firing(report)
        assert {each["cause"] for each in report["unknown"]} == {"not asked for"}
        assert "cluster" not in {each["subject"] for each in report["ready"]}
        assert any("the cluster layer is unknown" in each for each in report["notLookedAt"])
        assert sandbox.request_log.count(code=403) == 0
        text = (await check("-n", NS))[1]
        assert f"Only namespace {NS} was read: the cluster layer is unknown" in " ".join(
            text.split()
        )


async def test_a_tenant_who_may_not_get_the_namespace_gets_an_answer_too(stack, check):
    async with stack("broken-stack") as sandbox:
        sandbox.access.allow_only([IN_NAMESPACE])
        code, out, _ = await check("-n", NS)
        assert (code, PODS[0] in out) == (1, True)
        assert (
            f"kubectl create role status-reporter-reads -n {NS} --verb=get --resource=namespaces"
            in out
        )


async def test_who_has_no_rights_at_all_is_told_of_one_namespace(stack, check):
    """One line for each place, not one for each kind, and how to ask for less."""
    async with stack("broken-stack") as sandbox:
        sandbox.access.allow_only([])
        code, out, err = await check()
        assert (code, out) == (2, "")
        assert len(err.splitlines()) < 7
        assert "Permission: " in err
        assert "with rights in one namespace only: -n NAMESPACE" in err


async def test_a_namespace_in_which_nothing_may_be_read_is_not_healthy(stack, check):
    """The cluster layer counts as judged no more than its objects do: status 2, and what to grant."""
    async with stack("healthy-stack") as sandbox:
        sandbox.access.allow_only([ITSELF])
        code, out, err = await check("-n", NS)
    assert (code, out) == (2, "")
    assert f"kubectl create role status-reporter-reads -n {NS} --verb=list,watch" in err


async def test_what_the_reporter_cannot_see_is_no_cause(stack, check):
    """Pods are forbidden on a healthy stack: nothing is primary, it is said apart, no log line before it.

    The models have no verdict, so that it is no success.
    """
    async with stack("healthy-stack") as sandbox:
        sandbox.access.deny(Rule(resources=("pods",)))
        code, out, err = await check()
        assert (code, err.count("\n")) == (2, 1)
        assert "have no verdict. Permission: pods cannot be read (forbidden)" in err
        assert out.startswith("Nothing fires, but 8 subjects have no verdict at ")
        assert out.splitlines()[0].endswith("(the present); the reporter cannot see everything.")
        assert "What the reporter cannot see, which is not a cause:" in out
        report = json.loads((await check("-o", "json"))[1])
        assert firing(report) == [("clusterStatusUnknown", "cluster")]
        assert not report["findings"][-1]["primary"]


def settings_for(path):
    return load_settings({"kubeconfig": str(path)})


async def refused(request):
    return status(401, "Unauthorized", "Unauthorized")


async def unwell(request):
    return status(503, "ServiceUnavailable", "try again later")


async def hanging(request):
    await asyncio.Event().wait()


def after_version(handler):
    async def answer(request):
        if request.path == "/version":
            return web.json_response({"major": "1"})
        return await handler(request)

    return answer


DISCOVERED = {
    "kind": "APIGroupDiscoveryList",
    "items": [{"versions": [{"version": "v1", "resources": [{"resource": "pods"}]}]}],
}


async def lists_hang(request):
    if request.path.count("/") > 1:
        await asyncio.Event().wait()
    return web.json_response(DISCOVERED)


@pytest.mark.parametrize(
    ("handler", "says"),
    [
        (refused, ["credentials expired or refused", "to renew: the token of user u in "]),
        (unwell, ["answered 503: try again later", " times", "GET /version"]),
        (hanging, ["no answer in time from the API server", "tried once", "GET /version"]),
        (after_version(unwell), ["nothing could be listed", "API discovery: ", "answered 503"]),
        (after_version(hanging), ["nothing could be listed", "API discovery: no answer"]),
        (lists_hang, ["nothing could be listed", "kinds: no answer", "kubectl get --raw /readyz"]),
    ],
)
async def test_a_server_that_is_of_no_use_is_told_in_one_line(tmp_path, handler, says):
    """What was tried, and what is to be renewed; within the time that somebody waits."""
    async with serving(handler) as url:
        kubeconfig(tmp_path / "config", url)
        with pytest.raises(KubeError) as error:
            await read_cluster(settings_for(tmp_path / "config"), patience=0.2)
    text = str(error.value)
    assert text.startswith(f"{url}: ")
    assert [each for each in says if each not in text] == []
    assert "\n" not in text


def told_by_a_daemon(at):
    """An Event that a daemon wrote of a model whose KV cache is full."""
    subject = "inferenceset/chat-models/phi-4-mini"
    return {
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "name": "kv-cache", "namespace": "kube-system",
            "labels": {
                "status-reporter.io/reason": "inferencesetKVCacheSaturated",
                "status-reporter.io/state": "firing",
            },
            "annotations": {
                "status-reporter.io/since": "2026-11-20T11:40:00.000000Z",
                "status-reporter.io/subject": subject,
            },
        },
        "type": "Warning", "reason": "inferencesetKVCacheSaturated",
        "message": "InferenceSet chat-models/phi-4-mini: the KV cache is full",
        "involvedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "chat-models"},
        "source": {"component": "productionstack-status-reporter"}, "lastTimestamp": at,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("refreshed", "fires"), [("2026-11-20T11:59:30Z", True), ("2026-11-20T11:30:00Z", False)]
)
def test_a_single_pass_does_not_contradict_the_daemon(run, healthy, tmp_path, *, refreshed, fires):
    """What a daemon tells of metrics that this pass did not read stands, as stale, while it is fresh."""
    (tmp_path / "event.json").write_text(json.dumps(told_by_a_daemon(refreshed)))
    sources = ("--from", healthy, "--from", tmp_path / "event.json")
    code, out, _ = run("check", *sources, "--now", "2026-11-20T12:00:00Z", "-o", "json")
    report = json.loads(out)
    subject = "inferenceset/chat-models/phi-4-mini"
    assert code == (1 if fires else 0)
    assert (("inferencesetKVCacheSaturated", subject) in firing(report)) == fires
    assert all(each["stale"] for each in report["findings"])
    assert "Metrics of model pods were not read" in report["notLookedAt"][0]
