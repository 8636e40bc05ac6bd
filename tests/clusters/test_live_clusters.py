"""A look at a cluster that has what it needs and no more: without any flag, nothing is told."""

import asyncio
import json

import pytest

from lab.sandbox.controllers import running
from lab.sandbox.objects import Object
from reporter.cli.main import main
from tests.clusters.live import LIVE_CLUSTERS


@pytest.fixture(name="ask")
def _ask(tmp_path, capsys):
    """Serve some objects, run commands there, and return of each its exit status and what it printed."""

    async def ask(objects, *commands):
        path = tmp_path / "kubeconfig"
        async with running(objects, kubeconfig_path=path, controllers=False):
            answers = []
            for command in commands:
                argv = [*map(str, command), "--kubeconfig", str(path)]
                status = await asyncio.to_thread(main, argv)
                out, err = capsys.readouterr()
                assert err == ""
                answers.append((status, out))
            return answers

    return lambda *asked: asyncio.run(ask(*asked))


@pytest.fixture(name="look")
def _look(ask):
    """Serve some objects and return the exit status of `check` and its report."""

    def look(objects):
        ((status, out),) = ask(objects, ("check", "-o", "json"))
        return status, json.loads(out)

    return look


def without(objects: tuple[Object, ...], what: str) -> list[Object]:
    """Return the objects without one, or without a kind."""
    kind, _, place = what.rpartition(" ")
    plural, _, group = what.partition(".")
    found = []
    for each in objects:
        meta = each["metadata"]
        if kind and (each["kind"], f"{meta.get('namespace')}/{meta['name']}") == (kind, place):
            continue
        ours = each["apiVersion"].partition("/")[0] == group and not kind
        if (ours and each["kind"].lower() + "s" == plural) or meta["name"] == what:
            continue
        found.append(each)
    assert len(found) < len(objects)
    return found


def told(report):
    return {(each["disposition"], each["reason"]): each["message"] for each in report["findings"]}


@pytest.mark.parametrize("name", LIVE_CLUSTERS)
def test_a_healthy_cluster_is_told_nothing_of(look, name):
    """Exit status 0, no finding at all, nothing unknown."""
    status, report = look(LIVE_CLUSTERS[name].objects)
    assert (status, told(report), report["unknown"]) == (0, {}, [])


@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param(name, what, id=f"{name}: {what}")
        for name, cluster in LIVE_CLUSTERS.items()
        for what in cluster.removed
    ],
)
@pytest.mark.long
def test_a_part_that_is_needed_is_missed(look, name, what):
    """Its cause fires, names it, and no other does."""
    cluster = LIVE_CLUSTERS[name]
    status, report = look(without(cluster.objects, what))
    firing = {key: message for key, message in told(report).items() if key[0] == "firing"}
    assert (status, firing.keys()) == (1, {("firing", cluster.removed[what])})
    assert what.rpartition(" ")[2] in firing["firing", cluster.removed[what]]


@pytest.mark.long
def test_a_dump_holds_what_shows_a_need_too(ask, capsys, tmp_path):
    """Where a stack has lost its own kind, what is left of it still says what it needs."""
    path, now = tmp_path / "d.tgz", ("--now", "2026-11-20T12:00:00Z", "-o", "json")
    left = LIVE_CLUSTERS["kserve alone"].objects
    for each in ("inferenceservices.serving.kserve.io", "Deployment knative-serving/controller"):
        left = without(left, each)
    _, live = ask(left, ("dump", "-o", path), ("check", *now))
    assert {"clusterCRDMissing", "clusterKnativeNotReady"} <= {
        reason for _, reason in told(json.loads(live[1]))
    }
    status = main(["check", "--from", str(path), *now])
    assert (status, capsys.readouterr().out) == live
