"""Images, tracing and tokens are compared where the operator's arguments give them, and only there."""

import dataclasses
import re

import pytest

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.stacks.otterscale import operator_flags as given
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.operator_flags import OPERATOR_FLAGS as RENDER_FLAGS
from reporter.stacks.otterscale.reasons import MADE_DEPLOYMENTS
from tests.tables import rows
from tests.unit.probes.building import merged, snapshot_of
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    IDLE,
    NAME,
    changed,
    children,
    found,
    healthy,
    modelservice,
    one,
    operator,
    pods,
)

DECODE = "Deployment qwen3-decode differs: spec.template.spec"
PREFILL = "Deployment qwen3-prefill differs: spec.template.spec"
PICKER = "Deployment qwen3-epp differs: spec.template.spec.containers[epp]"
TRACED = OperatorSettings(tracing_enabled=True, tracing_otel_endpoint="http://u:secret@otel:4317")
SECRET = "qwen3-epp-sa-metrics-reader-secret/token"


def made_by(operator=None, **spec):
    """A ModelService that wants no pods, and what an operator with these settings made for it."""
    spec = IDLE | spec
    made = children(operator=operator or OperatorSettings(), **spec)
    rest = [each for each in healthy(**spec) if each["kind"] in {"Namespace", "Gateway"}]
    return [modelservice(**spec), *made, *pods(made), *rest]


def flags_of(operator):
    """All flags that can be given, as an operator has them."""
    words = {True: "true", False: "false"}
    values = {flag: getattr(operator, field) for flag, field in given.FLAGS.items()}
    return {flag: words[each] if isinstance(each, bool) else each for flag, each in values.items()}


def flags_given(operator):
    """The same, by field."""
    return {given.FLAGS[flag]: value for flag, value in flags_of(operator).items()}


def with_flags(docs, flags):
    """The same beside an operator with these flags."""
    arguments = (f"--{field.replace('_', '-')}={value}" for field, value in flags.items())
    return [*docs, operator(*arguments)]


_EFFECT = re.compile(r" \((metrics|the gateway|its pods|requests)[^)]*\)")


def drift(docs, **flags):
    """What the one Event says differs; None if there is no drift."""
    docs = with_flags(docs, flags)
    if not found(docs):
        return None
    ((reason, _),) = found(docs)
    assert reason == "Drift"
    text = one(docs, "Drift").message.partition(": ")[2]
    return _EFFECT.sub("", text.partition("; the operator ")[0])


def test_what_can_be_given_is_what_render_takes():
    """The same names; the version is told only by labels."""
    assert set(given.FLAGS.values()) == RENDER_FLAGS.keys() - {"version"}
    assert set(given.FLAGS.values()) < {each.name for each in dataclasses.fields(OperatorSettings)}


OPERATORS = [
    OperatorSettings(),
    TRACED,
    dataclasses.replace(TRACED, tracing_sampler="", tracing_sampler_arg=""),
    OperatorSettings(metrics_endpoint_auth=False, kit_image="", provider="none"),
    OperatorSettings(default_gateway_name=""),
]


@pytest.mark.parametrize("made", OPERATORS)
@pytest.mark.parametrize(
    "spec", [{}, {"prefill": None, "routingProxy": None}, {"inferencePool": None}]
)
def test_what_is_as_given_is_no_drift(made, spec):
    assert found(with_flags(made_by(made, **spec), flags_of(made))) == []


VLLM, KIT = "ghcr.io/llm-d/llm-d-cuda:v0.5.1", "ghcr.io/kitops-ml/kitops:v1.11.0"
SIDECAR, SCHEDULER = (f"ghcr.io/llm-d/llm-d-{each}:v0.6.0" for each in ("routing-sidecar", "inference-scheduler"))  # fmt: skip
UNPACKS = [f"{each}.initContainers[model-unpack].image" for each in (DECODE, PREFILL)]
ENGINES = [f"{each}.containers[vllm].image" for each in (DECODE, PREFILL)]
PROXY = f"{DECODE}.initContainers[routing-proxy]"
ENVS, ARGUMENTS = [f"{PROXY}.env", f"{PICKER}.env"], f"{PICKER}.args"
MONITOR = "ServiceMonitor qwen3-epp differs: spec.endpoints.authorization"
SAMPLER, ARGUMENT, ENDPOINT = "OTEL_TRACES_SAMPLER=", "OTEL_TRACES_SAMPLER_ARG=0.01", "OTEL_EXPORTER_OTLP_ENDPOINT="  # fmt: skip
NO_AUTH = OperatorSettings(metrics_endpoint_auth=False)


def each_of(places, has, should):
    return [(each, has, should) for each in places]


@rows(
    ("made", "flags", "differs"),
    {
        "engine image": (OperatorSettings(), {"default_engine_image": "vllm:new"}, each_of(ENGINES, VLLM, "vllm:new")),
        "picker image": (OperatorSettings(), {"default_epp_image": "epp:new"}, [(f"{PICKER}.image", SCHEDULER, "epp:new")]),
        "proxy image": (OperatorSettings(), {"default_routing_proxy_image": "proxy:new"}, [(f"{PROXY}.image", SIDECAR, "proxy:new")]),
        "unpacking image": (OperatorSettings(), {"kit_image": "kit:new"}, each_of(UNPACKS, KIT, "kit:new")),
        "no unpacking": (OperatorSettings(kit_image="kit:v1"), {"kit_image": ""}, each_of(UNPACKS, "kit:v1", "nothing")),
        "unpacking": (OperatorSettings(kit_image=""), {"kit_image": "kit:v1"}, each_of(UNPACKS, "nothing", "kit:v1")),
        "sampler": (
            TRACED, {"tracing_enabled": "true", "tracing_sampler": "always_on"},
            each_of(ENVS, f"{SAMPLER}parentbased_traceidratio", f"{SAMPLER}always_on"),
        ),
        "sampler argument": (TRACED, {"tracing_enabled": "true", "tracing_sampler_arg": ""}, each_of(ENVS, ARGUMENT, "nothing")),
        "endpoint: no address, there may be a password in it": (
            TRACED, {"tracing_enabled": "true", "tracing_otel_endpoint": "http://u:secret@other"},
            each_of(ENVS, f"{ENDPOINT}(another one)", f"{ENDPOINT}(as given)"),
        ),
        "no token": (
            OperatorSettings(), {"metrics_endpoint_auth": "false"},
            [(ARGUMENTS, "nothing", "--metrics-endpoint-auth=false"), (MONITOR, SECRET, "nothing")],
        ),
        "token": (
            NO_AUTH, {"metrics_endpoint_auth": "true"},
            [(ARGUMENTS, "--metrics-endpoint-auth=false", "nothing"), (MONITOR, "nothing", SECRET)],
        ),
    },
)  # fmt: skip
def test_what_is_not_as_given_is_named(made, flags, differs):
    docs = made_by(made)
    assert drift(docs, **flags) == "; ".join(
        f"{place} has {has} and should have {should}" for place, has, should in differs
    )
    assert drift(docs) is None


OTHER = OperatorSettings(
    metrics_endpoint_auth=False,
    default_engine_image="engine:x",
    default_epp_image="epp:x",
    default_routing_proxy_image="proxy:x",
    kit_image="kit:x",
    tracing_enabled=True,
    tracing_otel_endpoint="http://x:4317",
    tracing_sampler="always_on",
    tracing_sampler_arg="x",
)


@pytest.mark.parametrize("field", [None, *given.FLAGS.values()])
def test_what_most_others_have_is_not_expected(field):
    """Two ModelServices were made otherwise; only the one setting that is given counts."""
    others = (children(name, **IDLE) for name in ("llama", "phi"))
    services = (modelservice(name=name, **IDLE) for name in ("llama", "phi"))
    docs = [*made_by(OTHER), *services, *(each for made in others for each in made)]
    is_tracing = field in {given.ENDPOINT, given.SAMPLER, given.SAMPLER_ARG}
    fields = {field, given.TRACING} if is_tracing else {field}
    flags = {key: each for key, each in flags_given(OTHER).items() if key in fields}
    assert drift(docs, **flags) is None


@pytest.mark.parametrize(
    ("spec", "flags"),
    [
        ({"engine": {"image": "own"}}, {"default_engine_image": "vllm:new"}),
        ({"inferencePool": {"endpointPicker": {"image": "own"}}}, {"default_epp_image": "epp:new"}),
        ({"routingProxy": {"image": "own"}}, {"default_routing_proxy_image": "proxy:new"}),
        ({"routingProxy": None, "prefill": None}, {"default_routing_proxy_image": "proxy:new"}),
    ],
)
def test_an_image_that_the_resource_names_is_its_own_matter(spec, flags):
    docs = made_by(**spec)
    assert drift(docs, **flags) is None
    for each in docs:
        if each["kind"] == "Deployment":
            pod = each["spec"]["template"]["spec"]
            for container in (*pod["containers"], *pod.get("initContainers", [])):
                container["image"] = f"patched/{container['name']}"
    named = " ".join(drift(docs, **flags_given(OperatorSettings())).split("; "))
    own = {"engine": "[vllm]", "inferencePool": "[epp]", "routingProxy": "[routing-proxy]"}
    (mine,) = {own[key] for key in spec if key != "prefill"}
    assert mine not in named
    assert "[model-unpack].image has patched/model-unpack" in named


def by_default(gateway="gone"):
    """A ModelService without a route of its own."""
    docs = made_by(OperatorSettings(default_gateway_name=gateway), httpRoute=None)
    place = {"metadata": {"name": gateway, "namespace": "llm-d"}}
    (there,) = (each for each in docs if each["kind"] == "Gateway")
    return [*docs, merged(there, place)]


NAMES = "OTEL_SERVICE_NAME=llm-d-routing-sidecar, OTEL_TRACES_EXPORTER=otlp"
SAMPLES = "OTEL_TRACES_SAMPLER=parentbased_traceidratio, OTEL_TRACES_SAMPLER_ARG=0.01"
TRACES_ITSELF = {"env": [{"name": "OTEL_SERVICE_NAME", "value": "mine"}]}
LONG = f"registry.internal.example/mirror/ghcr.io/llm-d/llm-d-cuda:v0.5.1@sha256:{'a' * 63}"


def with_token():
    """A PodMonitor that has one: they are made without, with and without authentication of the picker."""
    (made,) = (
        each
        for each in made_by()
        if each["metadata"]["name"] == "qwen3-decode" and each["kind"] == "PodMonitor"
    )
    token = {"authorization": {"credentials": {"name": "mine", "key": "k"}}}
    endpoints = [made["spec"]["podMetricsEndpoints"][0] | token]
    return changed(
        made_by(), "PodMonitor", "qwen3-decode", {"spec": {"podMetricsEndpoints": endpoints}}
    )


@rows(
    ("docs", "flags", "text"),
    {
        "traced, and should not be": (
            made_by(TRACED), {"tracing_enabled": "false"},
            f"{PROXY}.env has {ENDPOINT}(set), {NAMES}, {SAMPLES} and should have nothing; {PICKER}.args has --tracing=true and should have --tracing=false, ...",
        ),
        "as it should be: an endpoint and a sampler that nobody gave are no matter": (made_by(TRACED), {"tracing_enabled": "true"}, None),
        "not traced, and should be": (
            made_by(), {"tracing_enabled": "true"},
            f"{PROXY}.env has nothing and should have {NAMES}; {PICKER}.args has --tracing=false and should have --tracing=true, ...",
        ),
        "not traced, as it should be": (made_by(), {"tracing_enabled": "false"}, None),
        "variables of the engine are the user's: it may trace vLLM itself": (made_by(engine=TRACES_ITSELF), {"tracing_enabled": "false"}, None),
        "images that differ only at their end, where a digest is": (
            made_by(OperatorSettings(default_epp_image=f"{LONG}1")), {"default_epp_image": f"{LONG}2"},
            f"{PICKER}.image has {LONG}1 and should have {LONG}2",
        ),
        "a token for pods that ask for none": (
            with_token(), {"metrics_endpoint_auth": "true"},
            "PodMonitor qwen3-decode differs: spec.podMetricsEndpoints.authorization has mine/k and should have nothing",
        ),
        "which another flag says nothing of": (with_token(), {"default_gateway_name": "any"}, None),
        "a default Gateway that nobody gave": (by_default("old"), {}, None),
        "the one that was given": (by_default("old"), {"default_gateway_name": "old"}, None),
        "another one": (
            by_default("old"), {"default_gateway_name": "new"}, "HTTPRoute qwen3 differs: spec.parentRefs has llm-d/old and should have llm-d/new",
        ),
        "none": (
            by_default("old"), {"default_gateway_name": ""},
            "HTTPRoute qwen3 should not exist: spec.httpRoute is not set and there is no default Gateway",
        ),
    },
)  # fmt: skip
def test_what_differs_from_what_is_given(docs, flags, text):
    """No value of an endpoint is told: there may be a password in it."""
    told = drift(docs, **flags)
    assert (told or "").startswith(text.removesuffix("...")) if text else told is None
    assert text is None or text.endswith("...") or told == text
    assert "secret" not in (told or "")


def test_a_default_gateway_that_is_given_makes_a_route_expected():
    """Of a single ModelService nothing else tells that there should be one."""
    docs = [each for each in by_default() if each["kind"] != "HTTPRoute"]
    assert found(docs) == []
    told = found(with_flags(docs, {"default_gateway_name": "gone"}))
    assert told == [("ObjectMissing", f"HTTPRoute models/{NAME}")]


def test_other_variables_are_not_even_kept():
    """There may be passwords among them."""
    variables = [{"name": "HF_TOKEN", "value": "hf_x"}, {"name": "OTEL_SERVICE_NAME", "value": "x"}]
    docs = made_by()
    epp = next(
        each for each in docs if each["metadata"]["name"] == EPP and each["kind"] == "Deployment"
    )
    epp["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    epp["spec"]["template"]["spec"]["containers"][0]["env"] = variables
    told = drift(docs, tracing_enabled="false")
    assert told == (
        f"{PICKER}.env has OTEL_SERVICE_NAME=x and should have nothing, "
        "spec.template.spec.containers[epp].env[NAMESPACE] has nothing and should have an entry, "
        "spec.template.spec.containers[epp].env[POD_NAME] has nothing and should have an entry, "
        "spec.template.spec.containers[epp].env[HF_TOKEN] has an entry and should have nothing"
    )
    snapshot = snapshot_of(*docs)
    for resource in (DEPLOYMENTS, MADE_DEPLOYMENTS):
        assert "hf_x" not in str(snapshot[resource].get("models", EPP))
