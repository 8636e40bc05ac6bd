"""The API server: our CustomResourceDefinitions, as the reporter's table has them and wide enough.

The checks and the record about an API server are true, and the sandbox passes the same.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from e2e.stack import sample
from e2e.stack.objects import gateway, lost
from lab.sandbox.objects import name_of, namespace_of
from reporter.probes.cluster.parts import required_crds
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import ALL

CUSTOM = [each for each in ALL if each.custom and each.stack != "dialects"]
"""The API server of these tests serves no kinds of dialects: paths fit any schema."""
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
CRDS = {crd["metadata"]["name"] for crd in sample.crds()}


async def test_server_serves_what_the_table_says_with_a_structural_schema(stage):
    """Each kind that is read, in all its versions; those that are required are among them."""
    assert {each.name for each in required_crds(FullEvaluationSettings())} <= CRDS
    crds = {
        each["metadata"]["name"]: each
        for each in await stage.api.items("customresourcedefinitions.apiextensions.k8s.io")
    }
    for resource in CUSTOM:
        said = crds[resource.crd_name]["status"]["conditions"]
        conditions = {each["type"]: each["status"] for each in said}
        assert conditions["Established"] == "True", resource
        assert "NonStructuralSchema" not in conditions, resource
    names = {str(resource) for resource in CUSTOM}
    assert {
        (each.name, each.version, each.kind, each.namespaced)
        for each in await stage.api.resources()
        if each.name in names
    } == {
        (str(each), version, each.kind, each.namespaced)
        for each in CUSTOM
        for version in each.versions
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
        name, place = name_of(fresh), {"namespace": namespace_of(fresh)}
        try:
            await stage.api.install(fresh)
            stored = await stage.api.get(resource.name, name, **place)
        finally:
            await stage.api.delete(resource.name, name, **place)
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
