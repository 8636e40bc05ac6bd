"""Which pods of the stacks other than KAITO are scraped, and where."""

import pytest

from reporter.metrics.samples.sample import ContainerRun
from reporter.metrics.scraping.attempt import proxy_path, url_of
from reporter.metrics.scraping.targets import PodAddresses, find_targets
from reporter.model.subject import Subject
from reporter.setting_types import StackMode
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import SCRAPED, Stack
from tests.unit.metrics.scraping.test_targets import found, model_pod, subject
from tests.unit.probes.building import DELETING, SINCE, SINCE_AT, pod, snapshot_of

CHOSEN = "decode"
"""The name of a container where its users choose it."""


def stack_pod(row, *patches, port_name="metrics"):
    """A running pod of a stack other than KAITO, with a sidecar before the container that serves."""
    ports = [{"name": "grpc", "containerPort": 9000}, {"name": port_name, "containerPort": 8123}]
    container = {
        "name": row.container or CHOSEN,
        "image": f"example/{row.images[0] if row.images else 'engine'}:1",
        "ports": ports,
    }
    state = {"ready": True, "restartCount": 1, "state": {"running": {"startedAt": SINCE}}}
    return pod(
        "models", "m-7d9f8b6c5-24567", "m",
        {
            "metadata": {"labels": {row.label: "m", **row.labels}},
            "spec": {"containers": [{"name": "sidecar", "image": "vllm-router"}, container]},
            "status": {
                "podIP": "10.0.0.8",
                "containerStatuses": [
                    {"name": "sidecar", **state, "restartCount": 5}, {"name": row.container or CHOSEN, **state}
                ],
            },
        },
        *patches,
    )  # fmt: skip


def found_with(stacks, *documents):
    subjects = [subject(INFERENCESET_KIND), *(subject(row.kind, "m") for row in SCRAPED)]
    return find_targets(
        snapshot_of(*documents, *subjects), FullEvaluationSettings(stacks=stacks), PodAddresses()
    )


def container(row, **changes):
    """The same with another container in its place, under its own name or not."""
    own = {
        "name": row.container or CHOSEN,
        "image": f"example/{row.images[0] if row.images else 'engine'}:1",
        **changes,
    }
    return {"spec": {"containers": [own]}}


def test_engines_of_modelservings_are_known_by_image_or_by_the_name_of_a_port():
    (row,) = (each for each in SCRAPED if each.stack == Stack.KTHENA)
    ports = [{"name": "metrics", "containerPort": 30000}]
    engine = {"name": CHOSEN, "image": "registry/sglang:v0.5", "ports": [{"containerPort": 8001}]}
    sidecar = {"name": "sidecar", "image": "exporter", "ports": ports}

    def port_of(*containers):
        pod_of = stack_pod(row, {"spec": {"containers": list(containers)}})
        targets = found(pod_of, subject(row.kind, "m"))
        return [each.port for each in targets]

    assert port_of(sidecar, engine) == [8001]
    assert port_of({"name": CHOSEN, "image": "registry/ours:1", "ports": ports}) == [30000]
    assert (
        port_of({"name": CHOSEN, "image": "registry/ours:1", "ports": [{"containerPort": 80}]})
        == []
    )


every_row = pytest.mark.parametrize("row", SCRAPED, ids=lambda row: row.stack)


@every_row
def test_pods_of_other_stacks(row):
    """Whose they are is in a label; of the container that serves come the port and the restarts."""
    (target,) = found(subject(row.kind, "m"), stack_pod(row, port_name=row.port or "metrics"))
    assert target.subject == Subject(row.kind, "models", "m")
    assert target.port == (8123 if row.port else 9000)
    assert target.containers == (ContainerRun(row.container or CHOSEN, 1, SINCE_AT),)
    assert (target.address, target.ready) == ("10.0.0.8", True)


@every_row
def test_pods_of_subjects_that_do_not_exist(row):
    """A label alone makes nobody ask a pod, whatever the stack."""
    assert found(stack_pod(row)) == ()
    assert (
        found(subject(row.kind, "other"), subject(row.kind, "m", "elsewhere"), stack_pod(row)) == ()
    )


@every_row
def test_a_port_of_another_name(row):
    """The first one is taken; without any, the one that settings name, or none is scraped.

    Where users choose the container's name nothing else says that it serves a page.
    """
    (target,) = found(subject(row.kind, "m"), stack_pod(row, port_name="other"))
    assert target.port == 9000
    without = found(subject(row.kind, "m"), stack_pod(row, container(row)))
    assert [each.port for each in without] == ([None] if row.container else [])


@every_row
def test_pods_of_other_stacks_that_serve_no_metrics_of_vllm(row):
    """Routers, transformers and other engines carry the same label."""
    others = [
        *([container(row, name="other")] if row.container else []),
        {"metadata": {"labels": {row.label: None}}},
        *({"metadata": {"labels": {key: None}}} for key in row.labels),
        *({"metadata": {"labels": {key: "other"}}} for key in row.labels),
        *([container(row, image="example/engine:1")] if row.images else []),
        {"status": {"phase": "Pending"}},
        {"status": {"containerStatuses": None}},
        DELETING,
    ]
    for patch in others:
        assert found(subject(row.kind, "m"), stack_pod(row, patch)) == (), patch


@every_row
@pytest.mark.parametrize("mode", StackMode)
def test_pods_of_a_stack_that_is_off_are_not_scraped(row, mode):
    names = {each.name for each in found_with({row.stack: mode}, model_pod(), stack_pod(row))}
    assert names == {"qwen-0"} | ({"m-7d9f8b6c5-24567"} if mode is not StackMode.OFF else set())


LLM = next(row for row in SCRAPED if row.stack == "llmisvc")
PLACE = "leaderworkerset.sigs.k8s.io/worker-index"


def grouped(name, index):
    """A pod of a group of LLMInferenceServices."""
    return stack_pod(LLM, {"metadata": {"name": name, "labels": {PLACE: index}}})


def test_the_leader_of_each_group_is_scraped():
    pods = [grouped("m-kserve-mn-1", "0"), grouped("m-kserve-mn-1-2", "2")]
    assert [each.name for each in found(subject(LLM.kind, "m"), *pods)] == ["m-kserve-mn-1"]


@pytest.mark.parametrize(("scheme", "told"), [("HTTPS", "https"), ("HTTP", "http"), (None, "http")])
def test_the_scheme_is_that_of_the_readiness_probe(scheme, told):
    """One setting of KServe makes all pods speak TLS, and nothing else says so of a pod."""
    probe = {"httpGet": {"scheme": scheme}} if scheme else {"exec": {}}
    (target,) = found(subject(LLM.kind, "m"), stack_pod(LLM, container(LLM, readinessProbe=probe)))
    assert target.scheme == told
    assert url_of(target, 5000).scheme == told
    assert proxy_path(target, 5000).startswith(
        f"/api/v1/namespaces/models/pods/{'https:' if told == 'https' else ''}m-"
    )
