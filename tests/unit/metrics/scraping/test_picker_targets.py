"""Which endpoint pickers are scraped, where, and what each may pick from."""

import pytest

from reporter.catalogue.resources import INFERENCEPOOLS, SERVICES
from reporter.metrics.samples.sample import Picked
from reporter.metrics.scraping.targets import PodAddresses, find_targets
from reporter.model.subject import Subject
from reporter.stacks import STACKS
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.metrics.scraping.test_targets import model_pod, subject
from tests.unit.probes.building import (
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    document,
    merged,
    pod,
    snapshot_of,
)

ROWS = {each.name: each.pickers for each in STACKS if each.pickers}
KEY = "inferenceset.kaito.sh/created-by"
APP = {"app": "picker"}
FORMER = "inference.networking.x-k8s.io/v1alpha2"


def picker(row, *patches, name="picker-7d9f8b6c5-24567"):
    """A running pod of a picker, whose port has a name that charts give it."""
    ports = [{"name": "grpc", "containerPort": 9002}, {"name": "metrics", "containerPort": 9191}]
    return pod(
        "models", name, "picker",
        {
            "metadata": {"labels": {row.label: row.value("m"), **row.labels}},
            "spec": {"containers": [{"name": "main", "ports": ports}]},
            "status": {"podIP": "10.0.0.9"},
        },
        *patches,
    )  # fmt: skip


def pool(*patches, name="m-pool", **selector):
    reference = {"name": "m-epp-service", "port": {"number": 9002}}
    labels = selector or {KEY: "m"}
    spec = {"selector": {"matchLabels": labels}, "endpointPickerRef": reference}
    return document("InferencePool", name, "models",
        {"apiVersion": "inference.networking.k8s.io/v1", "spec": spec}, *patches)  # fmt: skip


SERVICE = document("Service", "m-epp-service", "models", {"spec": {"selector": APP}})


def engine(*patches, name="m-0", **fields):
    return model_pod({"metadata": {"labels": {KEY: "m"}}}, *patches, name=name, **fields)


def pickers(*documents, row=ROWS["kaito"], unknown=(), addresses=True, **settings):
    """The pickers that are scraped, with a subject of the stack in the cluster."""
    own = subject(row.kind, "m")
    of_pods = [] if row is ROWS["kaito"] else [subject(ROWS["kaito"].kind, "m")]
    snapshot = snapshot_of(*documents, own, *of_pods, unknown=dict.fromkeys(unknown, FORBIDDEN))
    evaluation = FullEvaluationSettings(**settings)
    targets = find_targets(snapshot, evaluation, PodAddresses() if addresses else None)
    return [each for each in targets or () if each.picked is not None]


@pytest.mark.parametrize("stack", ROWS)
def test_the_pickers_of_each_stack(stack):
    """By plain HTTP, on the port that is named for metrics, with what they may pick."""
    row = ROWS[stack]
    (found,) = pickers(picker(row), engine(), pool(), SERVICE, row=row)
    assert found.subject == Subject(row.kind, "models", "m")
    assert (found.scheme, found.address, found.port) == ("http", "10.0.0.9", 9191)
    assert found.picked == Picked((SINCE_AT,))


def test_the_default_port():
    (found,) = pickers(picker(ROWS["kaito"], {"spec": {"containers": [{"name": "main"}]}}))
    assert found.port == 9090


NOT_SCRAPED = {
    "of nobody that exists": {"metadata": {"labels": {"inferencepool": "other-inferencepool-epp"}}},
    "terminating": DELETING,
    "pending": {"status": {"phase": "Pending"}},
    "address of the metadata service": {"status": {"podIP": "169.254.169.254"}},
}


@pytest.mark.parametrize("patch", NOT_SCRAPED.values(), ids=NOT_SCRAPED)
def test_what_is_not_scraped(patch):
    """As of model pods."""
    assert pickers(picker(ROWS["kaito"], patch), engine(), pool(), SERVICE) == []


def test_nothing_is_scraped_of_a_stack_that_is_off():
    assert pickers(picker(ROWS["kaito"]), stacks="kaito=off,llmisvc=on") == []


PICKED = {
    "not Ready": ([engine(ready=False)], ()),
    "not selected": ([engine({"metadata": {"labels": {"tier": "b"}}}), pool(tier="a")], ()),
    "two pools select it": ([engine(), pool(), pool(name="n-pool")], (SINCE_AT,)),
    "another picker's pool": ([engine(), pool({"spec": {"endpointPickerRef": {"name": "another"}}})], ()),
    "a pool that goes": ([engine(), pool(DELETING)], ()),
    "a Service that selects nothing": ([engine(), pool(), merged(SERVICE, {"spec": {"selector": {"app": "other"}}})], ()),
    "not the first pod of a group": ([engine(name="m-1"), pool()], ()),
    "the former group": (
        [
            engine(),
            document("InferencePool", "m-pool", "models", {
                "apiVersion": FORMER,
                "spec": {"selector": {KEY: "m"}, "extensionRef": {"name": "m-epp-service"}},
            }),
        ],
        (SINCE_AT,),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("documents", "since"), PICKED.values(), ids=PICKED)
def test_what_a_picker_may_pick(documents, since):
    """The pods that serve a page, are Ready, and are selected by a pool which names the picker."""
    (found,) = pickers(picker(ROWS["kaito"]), SERVICE, *documents)
    assert found.picked == Picked(since)


@pytest.mark.parametrize("unknown", [SERVICES, INFERENCEPOOLS])
def test_while_pools_are_unknown_a_verdict_stays(unknown):
    """A picker that seems to have nothing to pick would have no fault any more."""
    documents = (picker(ROWS["kaito"]), engine(), pool(), SERVICE)
    assert pickers(*documents, unknown=[unknown]) == []
    assert len(pickers(*documents, unknown=[unknown], addresses=False)) == 1
