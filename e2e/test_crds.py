"""The API server: our CustomResourceDefinitions, as the reporter's table has them and wide enough.

The checks and the record about an API server are true, and the sandbox passes the same.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from e2e.stack import sample
from e2e.stack.api import ApiError
from e2e.stack.objects import gateway, lost
from reporter.probes.cluster.parts import required_crds
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import ALL

CUSTOM = [each for each in ALL if each.custom and each.stack != "dialects"]
"""The API server of these tests serves no kinds of dialects: paths fit any schema."""
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BY_NAME = {crd["metadata"]["name"]: crd for crd in sample.crds()}


@pytest.mark.parametrize("resource", CUSTOM, ids=str)
def test_crd_is_what_the_table_says(resource):
    crd = BY_NAME[resource.crd_name]
    spec = crd["spec"]
    assert spec["group"] == resource.group
    assert (spec["names"]["plural"], spec["names"]["kind"]) == (resource.plural, resource.kind)
    assert spec["scope"] == ("Namespaced" if resource.namespaced else "Cluster")
    assert [each["name"] for each in spec["versions"]] == [*resource.versions]
    assert [each["storage"] for each in spec["versions"]].count(True) == 1
    assert all(each["served"] and "status" in each["subresources"] for each in spec["versions"])


def test_there_is_a_crd_for_each_that_is_required():
    assert {each.name for each in required_crds(FullEvaluationSettings())} <= BY_NAME.keys()


async def test_server_serves_every_version_with_a_structural_schema(stage):
    crds = {
        each["metadata"]["name"]: each
        for each in await stage.api.items("customresourcedefinitions.apiextensions.k8s.io")
    }
    for resource in CUSTOM:
        said = crds[resource.crd_name]["status"]["conditions"]
        conditions = {each["type"]: each["status"] for each in said}
        assert conditions["Established"] == "True", resource
        assert "NonStructuralSchema" not in conditions, resource
    served = {(each.name, each.version) for each in await stage.api.resources()}
    names = {str(resource) for resource in CUSTOM}
    assert {each for each in served if each[0] in names} == {
        (str(resource), version) for resource in CUSTOM for version in resource.versions
    }


@pytest.mark.parametrize(
    ("example", "fewest"),
    [
        ("healthy-stack", 21),
        ("broken-stack", 21),
        ("inferenceservice/failing-load", 12),
        ("llminferenceservice/broken", 11),
    ],
)
async def test_server_keeps_all_that_an_example_says(stage, workload, example, fewest):
    """Spec and status come back as written: nothing is refused or pruned."""
    group_kinds = {(each.group, each.kind) for each in CUSTOM}
    kept = 0
    for obj in objects(example):
        if (obj["apiVersion"].rpartition("/")[0], obj["kind"]) not in group_kinds:
            continue
        fresh = renamed(obj, workload)
        resource = await stage.api.resource_of(fresh)
        await stage.api.create(fresh)
        name, namespace = fresh["metadata"]["name"], fresh["metadata"].get("namespace", "")
        try:
            if "status" in fresh:
                await stage.stack.status(resource.name, namespace, name, status=fresh["status"])
            stored = await stage.api.get(resource.name, name, namespace=namespace)
        finally:
            await stage.api.delete(resource.name, name, namespace=namespace)
        kept += 1
        assert lost({**fresh, "metadata": {}}, stored) == []
    assert kept >= fewest


def objects(example):
    for path in sorted((EXAMPLES / example).glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield from document["items"]


def renamed(obj, namespace):
    """An object of its own, in another namespace if it is in one."""
    place = obj["metadata"].get("namespace")
    name = f"{place or namespace}-{obj['metadata']['name']}"
    metadata = {"name": name, **({"namespace": namespace} if place else {})}
    return {**obj, "metadata": metadata}


@pytest.mark.parametrize(
    ("resource", "status", "told"),
    [
        ("gateways.gateway.networking.k8s.io", {"conditions": [{"type": "Accepted"}]}, "Required"),
        (
            "inferencesets.kaito.sh",
            {"conditions": [{"type": "A", "status": "Yes", "reason": "B", "message": ""}]},
            "Unsupported value",
        ),
        ("workspaces.kaito.sh", {"workerNodes": "gpu-0"}, "must be of type array"),
    ],
)
async def test_server_refuses_what_upstream_refuses(stage, workload, resource, status, told):
    first = (await stage.api.items(resource, namespace=workload))[0]["metadata"]["name"]
    with pytest.raises(ApiError, match=told):
        await stage.stack.status(resource, workload, first, status=status)


async def test_gateway_begins_with_conditions_of_1970(stage, workload):
    """A default of upstream's CRD; its time must not be taken for the start of a fault."""
    await stage.api.create(gateway(workload, "young"))
    found = await stage.api.get("gateways.gateway.networking.k8s.io", "young", namespace=workload)
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]} == {
        "Accepted": "Unknown",
        "Programmed": "Unknown",
    }


@pytest.mark.timeout(600)
def test_the_checks_hold_on_a_real_server():
    """All of `tests/api_behaviour`, on a control plane of its own: some checks look at whole lists."""
    checks = [sys.executable, "-m", "pytest", "-q", "-n", "4", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "e2e.envtest", "--run", *checks, "tests/api_behaviour"]
    done = subprocess.run(command, cwd=EXAMPLES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
