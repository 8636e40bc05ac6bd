"""What the objects that the operator makes hold: containers, the endpoint picker, monitors and accelerators."""

import json
import subprocess
from dataclasses import replace
from functools import reduce
from itertools import product
from pathlib import Path

import pytest
import yaml

from reporter.stacks.otterscale.manifests import wanted as gpu
from reporter.stacks.otterscale.manifests.wanted import config_checksum
from reporter.stacks.otterscale.objects import Parallelism, Resources
from tests.tables import rows
from tests.unit.stacks.otterscale.manifests.building import (
    OPERATOR,
    container,
    document,
    documents,
    pod,
    service,
)

MADE = yaml.safe_load(Path(__file__).with_name("made.yaml").read_text(encoding="utf-8"))
CASES = {
    f"{group['what']}: {case['spec']} {case.get('operator', '')}": (group["of"], case)
    for group in MADE
    for case in group["cases"]
}
SIDE = "VLLM_NIXL_SIDE_CHANNEL_PORT"


@rows(("of", "case"), CASES)
def test_what_stands_in_an_object(of, case):
    operator = replace(OPERATOR, **case.get("operator", {}))
    kind, _, name = of.partition(" ")
    role, _, named = of.partition("/")
    made_of = service(name if "." in name else "qwen3", **case["spec"])
    if name:
        found = document(made_of, kind, name, operator)
    else:
        found = container(made_of, role, named, operator) if named else pod(made_of, role, operator)
    found = json.loads(json.dumps(found))
    assert {path: at(found, path) for path in case.get("has", {})} == case.get("has", {})
    assert found == case.get("is", found)


def at(doc, path):
    """What stands at a place; None for nothing."""
    return reduce(lambda found, step: (found or {}).get(step), path.split("."), doc)


def env(*values):
    return [
        {"name": SIDE, "value": each}
        if isinstance(each, str)
        else {"name": SIDE, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        for each in values
    ]


@pytest.mark.parametrize(
    ("variables", "port"),
    [
        ([], None), (env("5600"), 5600), (env("+5600"), 5600), (env("65535"), 65535),
        (env("65536"), None), (env("0" * 5000 + "5600"), 5600), (env("9" * 5000), None),
        (env("0"), None), (env("-1"), None), (env(""), None), (env("5600.0"), None),
        (env(" 5600"), None), (env("5_600"), None), (env("$(PORT)"), None), (env("8000"), None),
        (env(None), None), (env(None, "5600"), None), (env("none", "5600"), None),
        (env("5600", "5700"), 5600),
    ],
)  # fmt: skip
def test_port_of_the_side_channel(variables, port):
    """The first variable of the name counts, if it is a literal port that is not taken."""
    made = service(engine={"env": variables}, prefill={})
    roles = ("decode", "prefill")
    side = [{"name": "nixl-side", "containerPort": port, "protocol": "TCP"}] if port else []
    assert {role: container(made, role, "vllm")["ports"][1:] for role in roles} == dict.fromkeys(
        roles, side
    )


@pytest.mark.parametrize(
    ("spec", "decode", "proxy", "prefill"),
    [
        ({"engine": {"port": 9000}}, 9000, None, 9000),
        ({"engine": {"port": 9000}, "routingProxy": {}}, 8200, 9000, 9000),
        ({"engine": {}, "routingProxy": {"targetPort": 8300}}, 8300, 8000, 8000),
    ],
)
def test_ports_from_client_to_model(spec, decode, proxy, *, prefill):
    made = service(prefill={}, **spec)
    listening = {
        role: [
            (each["name"], each["ports"][0]["containerPort"])
            for each in [*pod(made, role)["initContainers"], *pod(made, role)["containers"]]
            if "ports" in each
        ]
        for role in ("decode", "prefill")
    }
    before = [("routing-proxy", proxy)] if proxy else []
    assert listening == {"decode": [*before, ("vllm", decode)], "prefill": [("vllm", prefill)]}
    target = document(made, "InferencePool", "qwen3")["spec"]["targetPorts"]
    assert target == [{"number": prefill}]


@pytest.mark.parametrize("uid", ["", "0d5b"])
def test_owner(uid):
    """The ModelService owns what is beside it, once it has a uid; nothing owns cluster objects."""
    made = documents(service(uid=uid, inferencePool={"endpointPicker": {}}))
    owner = {
        "apiVersion": "model.otterscale.io/v1alpha1",
        "kind": "ModelService",
        "name": "qwen3",
        "uid": "0d5b",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for (kind, _), each in made.items():
        owned = uid and not kind.startswith("Cluster")
        assert each["metadata"].get("ownerReferences") == ([owner] if owned else None)


UNPACK, PROXY = "model-unpack", "routing-proxy"


@pytest.mark.parametrize(
    ("spec", "kit", "decode", "prefill"),
    [
        ({}, "kit", [UNPACK], [UNPACK]),
        ({}, "", [], []),
        ({"routingProxy": {}}, "kit", [UNPACK, PROXY], [UNPACK]),
        ({"routingProxy": {}}, "", [PROXY], []),
    ],
)
def test_which_there_are(spec, kit, decode, *, prefill):
    operator = replace(OPERATOR, kit_image=kit)
    for role, expected in (("decode", decode), ("prefill", prefill)):
        made = pod(service(prefill={}, **spec), role, operator)
        assert [each["name"] for each in made.get("initContainers", [])] == expected
        assert made.get("initContainers") != []


@pytest.mark.parametrize(
    ("kit_status", "cache", "status", "said"),
    [
        (0, "new/kit", 0, "unpack --plain-http -o -d /a b reg/m:v1\n"),
        (3, "new/kit", 3, "unpack --plain-http -o -d /a b reg/m:v1\n"),
        (0, "kit/below-a-file", 1, ""),
    ],
)
def test_what_the_script_of_model_unpack_does(kit_status, cache, status, *, said, tmp_path):
    """It makes the cache directory, unpacks, and ends with the first step that fails."""
    (script,) = container(service(), "decode", UNPACK)["args"]
    kit = tmp_path / "kit"
    kit.write_text(f'#!/bin/sh\necho "$@"\nexit {kit_status}\n')
    kit.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "OCI_MODEL_IMAGE": "reg/m:v1",
        "MODEL_MOUNT_PATH": "/a b",
        "KITOPS_HOME": str(tmp_path / cache),
    }
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == said
    assert done.returncode == status
    assert (tmp_path / cache).is_dir() is bool(said)


@pytest.mark.parametrize(
    ("accelerator", "name"),
    [
        ("nvidia", "nvidia.com/gpu"), ("amd", "amd.com/gpu"), ("intel-gaudi", "habana.ai/gaudi"),
        ("google", "google.com/tpu"), ("cpu", None), ("of tomorrow", None),
    ],
)  # fmt: skip
def test_resource_name(accelerator, name):
    assert gpu.RESOURCE_NAMES.get(accelerator) == name
    made = gpu.with_accelerators(Resources(), accelerator, 2)
    assert made == ({"limits": {name: "2"}, "requests": {name: "2"}} if name else {})


@pytest.mark.parametrize(
    ("parallelism", "count"),
    [
        (Parallelism(), 1),
        (Parallelism(tensor=4), 4),
        (Parallelism(tensor=4, data_local=2), 8),
        (Parallelism(data=8), 1),
        (Parallelism(tensor=2, data=4, data_local=2), 4),
        (Parallelism(tensor=0, data_local=-1), 1),
    ],
)
def test_count(parallelism, count):
    assert gpu.count(parallelism) == count


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            Resources(limits={"memory": "16Gi"}, requests={"cpu": 4}),
            {
                "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"},
                "requests": {"cpu": 4, "nvidia.com/gpu": "1"},
            },
        ),
        (Resources(limits={"nvidia.com/gpu": 7}), {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}),
        (Resources(claims=({"name": "gpu"},)), {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}, "claims": [{"name": "gpu"}]}),
    ],
)  # fmt: skip
def test_the_users_resources_stay_but_for_that_key(given, made):
    assert gpu.with_accelerators(given, "nvidia", 1) == made


def test_none_are_asked_for_where_the_count_is_0():
    assert gpu.with_accelerators(Resources(), "nvidia", 0) == {}


UNIFIED = "3aee930c4fc2cf8c749623ba30a077bd93d5cca0c6513c87a5fe3427b089f2f1"
DISAGGREGATED = "da2206ceec8c17d0eef3714ea7387e412c7b565661113eef5c0d0fd2b083eb23"
MODES = [({}, "default-plugins.yaml", UNIFIED), ({"prefill": {}}, "pd-config.yaml", DISAGGREGATED)]


@pytest.mark.parametrize(("spec", "key", "checksum"), MODES)
def test_configuration_is_the_operators_to_the_byte(spec, key, checksum):
    """The checksums are those of the operator's own texts."""
    data = document(service(**spec), "ConfigMap", "qwen3-epp-config")["data"]
    assert [*data] == [key]
    assert config_checksum(data) == checksum


POOL = {"inferencePool": {"endpointPicker": {}}}


@pytest.mark.parametrize(
    ("monitoring", "pod_monitors", "service_monitor"),
    [
        (None, True, False),
        ({}, True, False),
        ({"podMonitor": {}}, False, False),
        ({"podMonitor": {"interval": "15s"}}, False, False),
        ({"podMonitor": {"enabled": False}}, False, False),
        ({"podMonitor": {"enabled": True}}, True, True),
    ],
)
def test_which_monitors_there_are(monitoring, pod_monitors, service_monitor):
    """Of prefill only where there is prefill, of the endpoint picker only where a pool names one."""
    for prefill, pool in product([None, {}], [{}, POOL]):
        made = documents(service(monitoring=monitoring, prefill=prefill, **pool))
        wanted = {
            ("PodMonitor", "qwen3-decode"): pod_monitors,
            ("PodMonitor", "qwen3-prefill"): pod_monitors and prefill is not None,
            ("ServiceMonitor", "qwen3-epp"): service_monitor and bool(pool),
        }
        assert {key: key in made for key in wanted} == wanted, (prefill, pool)
