"""A pool and its endpoint picker that do not lead to each other."""

import pytest

from reporter.catalogue.resources import INFERENCEPOOLS
from reporter.workload.endpoint_pickers import flaws
from tests.unit.probes.building import deployment, document, merged, snapshot_of

SERVICE = document(
    "Service", "epp", "ns", {"spec": {"selector": {"app": "epp"}, "ports": [{"port": 9002}]}}
)
OLD = document(
    "InferencePool", "qwen", "ns", {"apiVersion": "inference.networking.x-k8s.io/v1alpha2"}
)


def told(*args, port=9002, docs=(SERVICE,)):
    """What is told of pool qwen, whose picker runs with these flags."""
    pool = document(
        "InferencePool", "qwen", "ns",
        {"apiVersion": "inference.networking.k8s.io/v1", "spec": {"targetPorts": [{"number": 8000}], "endpointPickerRef": {"name": "epp", "port": {"number": port}}}},
    )  # fmt: skip
    template = {"metadata": {"labels": {"app": "epp"}}, "spec": {"containers": [{"name": "main", "args": [*args]}]}}  # fmt: skip
    picker = deployment("ns", "epp", {"spec": {"template": template}})
    snapshot = snapshot_of(pool, picker, *docs)
    return [each.text for each in flaws(snapshot[INFERENCEPOOLS].get("ns", "qwen"), snapshot)]


@pytest.mark.parametrize(
    ("port", "docs"),
    [
        (9002, (SERVICE,)),
        (0, (SERVICE,)),
        (8000, ()),
        (8000, (merged(SERVICE, {"spec": {"ports": None}}),)),
        (9002, (merged(SERVICE, {"spec": {"ports": [{"port": 8000}]}}),)),
    ],
    ids=[
        "the port of the Service",
        "no port",
        "no Service",
        "a Service without ports",
        "the engines' port alone",
    ],
)
def test_ports_that_are_right_or_cannot_be_compared(port, docs):
    """A missing Service is told elsewhere."""
    assert told(port=port, docs=docs) == []


def test_a_port_that_the_service_does_not_have():
    """The Gateway asks a port that does not exist, and each request fails."""
    assert told(port=8000) == ["names port 8000 of Service epp for its endpoint picker, which has 9002"]  # fmt: skip


def test_a_picker_of_a_pool_in_another_namespace():
    """The pool that it names may be there."""
    assert told("--pool-name=mistral", "--pool-namespace=other") == []
    assert told("--pool-name=mistral", "--pool-namespace=ns") != []


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["--pool-group=inference.networking.x-k8s.io"], "--pool-group inference.networking.x-k8s.io"),
        (["--pool-name", "mistral"], "--pool-name mistral"),
        (["--poolName=mistral", "--pool-group", "inference.networking.k8s.io"], "--poolName mistral --pool-group inference.networking.k8s.io"),
    ],
    ids=["the former group", "another name", "both"],
)  # fmt: skip
def test_a_picker_of_a_pool_that_does_not_exist(args, names):
    """It sees no endpoints."""
    [text] = told(*args)
    assert names in text


@pytest.mark.parametrize(
    ("args", "docs"),
    [
        ([], ()),
        (["--pool-name", "qwen"], ()),
        (["--pool-name", "$(POOL)"], ()),
        (["--pool-group=example.com"], ()),
        (["--pool-group=inference.networking.x-k8s.io"], (OLD,)),
    ],
    ids=["no flags", "its pool", "a variable", "an unknown group", "the same pool in the other group"],
)  # fmt: skip
def test_a_picker_of_its_pool(args, docs):
    """Nothing is told where the flags lead to a pool, or cannot be followed."""
    assert told(*args, docs=(SERVICE, *docs)) == []
