import dataclasses
import io
import json
import subprocess
import sys

import pytest
import yaml

from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.operator_flags import OPERATOR_FLAGS as FLAGS
from reporter.stacks.otterscale.render import yaml_text
from tests.tables import rows

MINIMAL = """\
apiVersion: model.otterscale.io/v1alpha1
kind: ModelService
metadata: {name: qwen3}
spec:
  model: {name: m, image: i}
  engine: {}
  accelerator: {type: nvidia}
  decode: {}
"""
NOT_FLAGS = {"unpack_script"}
MADE = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other-decode}
spec:
  template:
    spec:
      initContainers: [{name: model-unpack, args: ["the script of the operator"]}]
"""


@pytest.fixture(name="write")
def _write(tmp_path):
    def write(text, name="service.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture(name="rendered")
def _rendered(run):
    """The objects that are rendered, by kind and name."""

    def rendered(*argv):
        status, out, err = run("render", *argv, "-o", "json")
        assert status == 0, err
        items = json.loads(out)["items"]
        return {(each["kind"], each["metadata"]["name"]): each for each in items}

    return rendered


def test_the_script_that_unpacks_is_that_of_the_operator_where_it_is_known(rendered, write):
    """A Deployment that it made tells; nothing else of the operator is in our own text."""

    def script(*texts):
        made = rendered("-f", write("".join(texts)))["Deployment", "qwen3-decode"]
        (unpack,) = made["spec"]["template"]["spec"]["initContainers"]
        return unpack["args"]

    assert script(MINIMAL, MADE) == ["the script of the operator"]
    assert script(MINIMAL) == [OperatorSettings().unpack_script]


def test_defaults_that_server_side_apply_compares_are_rendered(rendered, write):
    """Else it refuses what the operator made, where the API server has filled them in."""
    text = MINIMAL + "  httpRoute: {gatewayRef: {name: g}}\n"
    made = rendered("-f", write(text))
    (parent,) = made["HTTPRoute", "qwen3"]["spec"]["parentRefs"]
    assert parent == {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "g"}
    (rule,) = made["HTTPRoute", "qwen3"]["spec"]["rules"]
    assert [each["weight"] for each in rule["backendRefs"]] == [1]
    (picker,) = made["Deployment", "qwen3-epp"]["spec"]["template"]["spec"]["containers"]
    references = [each["valueFrom"]["fieldRef"] for each in picker["env"]]
    assert {each["apiVersion"] for each in references} == {"v1"}


@pytest.mark.parametrize("example", ["unified", "prefill-decode"])
def test_both_outputs_say_the_same(run, examples, example):
    path = examples / "modelservice" / f"{example}.yaml"
    status, text, err = run("render", "-f", path)
    assert (status, err) == (0, "")
    status, document, _ = run("render", "-f", path, "-o", "json")
    assert status == 0
    items = json.loads(document)["items"]
    assert [*yaml.safe_load_all(text)] == items
    assert len(items) > 10


def test_what_would_be_deleted_is_named_at_the_end(run, write):
    """As comments in YAML, which kubectl skips; beside the document in JSON."""
    path = write(MINIMAL)
    _, text, _ = run("render", "-f", path, "--provider=none")
    _, _, err = run("render", "-f", path, "--provider=none", "-o", "json")
    lines = err.splitlines()
    assert text.splitlines()[-len(lines) :] == [f"# {each}" for each in lines]
    assert lines[0] == (
        "If these exist, the operator deletes them, for ModelService default/qwen3:"
    )
    assert "  Deployment default/qwen3-prefill: spec.prefill is not set" in lines
    assert "  DestinationRule default/qwen3-epp: the provider is not istio" in lines
    assert "  ClusterRole default-qwen3-epp: spec.inferencePool is not set" in lines


def test_each_setting_of_the_operator_has_a_flag():
    fields = {each.name for each in dataclasses.fields(OperatorSettings)}
    assert {*FLAGS} == fields - NOT_FLAGS


def test_help_names_the_flags_and_their_defaults(run):
    out = " ".join(run("render", "--help")[1].split())
    for field in {*FLAGS} - {"version"}:
        assert f"--{field.replace('_', '-')} " in out
    assert "(otterscale-llm-d-infra-inference-gateway)" in out
    assert "--operator-version TEXT" in out


EPP, DECODE = ("Deployment", "qwen3-epp"), ("Deployment", "qwen3-decode")


@pytest.mark.parametrize(
    ("flags", "key", "says", "does_not"),
    [
        (["--provider", "gke"], None, None, "DestinationRule"),
        (["--metrics-endpoint-auth=false"], EPP, "--metrics-endpoint-auth=false", None),
        (["--metrics-endpoint-auth", "true"], EPP, "--tracing=false", "--metrics-endpoint-auth"),
        (["--default-gateway-name", "g1"], ("HTTPRoute", "qwen3"), "'name': 'g1'", None),
        (["--default-gateway-name="], None, None, "HTTPRoute"),
        (["--default-engine-image", "e:1"], DECODE, "'image': 'e:1'", None),
        (["--default-epp-image", "p:1"], EPP, "'image': 'p:1'", None),
        (["--default-routing-proxy-image", "r:1"], DECODE, "'image': 'r:1'", None),
        (["--kit-image", "k:1"], DECODE, "'image': 'k:1'", None),
        (["--kit-image", ""], DECODE, None, "model-unpack"),
        (["--tracing-enabled"], EPP, "--tracing=true", None),
        (["--tracing-enabled", "--tracing-otel-endpoint", "o:1"], EPP, "'value': 'o:1'", None),
        (["--tracing-enabled", "--tracing-sampler", "s1"], EPP, "'value': 's1'", None),
        (["--tracing-enabled", "--tracing-sampler-arg", "0.7"], EPP, "'value': '0.7'", None),
        (["--operator-version", "v9"], EPP, "'app.kubernetes.io/version': 'v9'", None),
    ],
)
def test_flags(rendered, write, flags, *, key, says, does_not):
    made = rendered("-f", write(MINIMAL + "  routingProxy: {}\n"), *flags)
    text = str(made[key] if key else made)
    assert says is None or says in text
    assert does_not is None or does_not not in text


@pytest.mark.parametrize(
    ("flags", "written", "namespace"),
    [
        ([], "", "default"),
        (["-n", "models"], "", "models"),
        (["-n", "models"], ", namespace: own", "own"),
    ],
)
def test_namespace(rendered, write, flags, *, written, namespace):
    made = rendered("-f", write(MINIMAL.replace("qwen3", f"qwen3{written}")), *flags)
    assert made[DECODE]["metadata"]["namespace"] == namespace
    assert f"--pool-namespace={namespace}" in str(made[EPP])


def test_several_documents_files_lists_and_standard_input(rendered, write, monkeypatch):
    second = MINIMAL.replace("qwen3", "second")
    items = [yaml.safe_load(MINIMAL.replace("qwen3", each)) for each in ("third", "fourth")]
    many = {"apiVersion": "v1", "kind": "List", "items": items}
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(MINIMAL.replace("qwen3", "piped").encode()))
    )
    paths = (write(f"---\n{MINIMAL}---\n{second}---\n"), write(json.dumps(many), "many.json"), "-")
    made = rendered(*(each for path in paths for each in ("-f", path)))
    services = ["qwen3", "second", "third", "fourth", "piped"]
    assert [name for kind, name in made if kind == "InferencePool"] == services


def test_what_kubectl_prints_is_read(rendered, write):
    """With what an API server adds; the owner is then known."""
    stored = yaml.safe_load(MINIMAL)
    stored["metadata"] |= {
        "uid": "0d5b",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["model.otterscale.io/epp-cluster-rbac"],
        "managedFields": [{"manager": "kubectl"}],
    }
    stored["status"] = {"phase": "Ready", "decodeReady": 1}
    made = rendered("-f", write(yaml.safe_dump(stored)))
    assert made[DECODE]["metadata"]["ownerReferences"][0]["uid"] == "0d5b"


def test_null_is_as_good_as_absent(rendered, write):
    nulls = MINIMAL.replace("engine: {}", "engine: {port: null, args: null, image: ~}")
    nulls += "  prefill: null\n  httpRoute:\n"
    assert rendered("-f", write(nulls, "a.yaml")) == rendered("-f", write(MINIMAL, "b.yaml"))


NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: models}\n"
MISSPELT = "decode: {replica: 2, parallelism: {tensors: 4}}"
X = "x" * 60
TOO_LONG = f"its name is too long: endpoint picker {X}-epp would have 64 characters, and Services and labels hold 63 at most"


@rows(
    ("text", "says", "name"),
    {
        "other kinds, which are left out": (MINIMAL + NAMESPACE, ["not rendered: 1 Namespace"], "qwen3"),
        "fields that are not known": (
            MINIMAL.replace("decode: {}", MISSPELT),
            [f"ModelService qwen3: spec.decode.{each} is not a known field; ignored" for each in ("replica", "parallelism.tensors")], "qwen3",
        ),
        "a name that is too long for what follows from it": (MINIMAL.replace("qwen3", X), [f"ModelService {X}: {TOO_LONG}"], X),
        "a name that no label holds, although an API server takes it": (
            MINIMAL.replace("qwen3", f"{X}xxxx"),
            [f"ModelService {X}xxxx: its name has 64 characters, and labels hold 63 at most: the operator can create nothing"], f"{X}xxxx",
        ),
    },
)  # fmt: skip
def test_what_is_named_beside(run, write, text, *, says, name):
    status, out, err = run("render", "-f", write(text))
    assert status == 0
    assert err.splitlines() == [f"status-reporter: {each}" for each in says]
    assert f"name: {name}-decode" in out
    assert "kind: Namespace" not in out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("kind: ModelService", "kind: Pod", "there is no ModelService, only 1 Pod"),
        (MINIMAL, "", "it is empty; did the command that should have written it fail?"),
        (MINIMAL, "just text", "a document is not a Kubernetes object"),
        (MINIMAL, "a: [", "service.yaml: "),
        ("v1alpha1", "v1", "a ModelService has the version model.otterscale.io/v1; only"),
        ("  decode: {}\n", "", "missing required field `decode` - at `$.spec`"),
        ("image: i", "image: ''", "Expected `str` of length >= 1 - at `$.spec.model.image`"),
        ("image: i", "image: 5", "Expected `str`, got `int` - at `$.spec.model.image`"),
        ("nvidia", "nvidea", "'nvidea' is not allowed - at `$.spec.accelerator.type`; allowed"),
        ("engine: {}", "engine: {port: 70000}", "Expected `int` <= 65535 - at `$.spec.engine."),
        ("engine: {}", "engine: {env: [{name: A, value: 1}]}", "Expected `str`, got `int`"),
        ("engine: {}", "engine: {imagePullPolicy: Sometimes}", "at `$.spec.engine.imagePullPolicy`"),
        ("engine: {}", "engine: {env: [{name: A=B}]}", "at `$.spec.engine.env[0].name`"),
        (
            "decode: {}",
            "decode: {resources: {limits: {memory: 80 GB}}}",
            "'80 GB' is no quantity, such as 500m or 8Gi - at `$.spec.decode.resources.limits[memory]`",
        ),
        ("decode: {}", "decode: {resources: {requests: {cpu: -1}}}", "-1 is negative - at"),
        ("decode: {}", "decode: {}\n  httpRoute: {gatewayRef: {name: g}, hostnames: [a.example, 10.0.0.1]}", "'10.0.0.1' can be no host name"),
        ("decode: {}", "decode: {replicas: -1}", "Expected `int` >= 0 - at `$.spec.decode."),
        ("name: qwen3", "name: ''", "it has no name"),
        ("qwen3", "My_Model", "ModelService My_Model: 'My_Model' is not a valid name of an object"),
        ("qwen3", '"a\\nkind: X"', "ModelService a kind: X: 'a\\nkind: X' is not a valid name of an object"),
        ("qwen3", "x" * 254, "x' is not a valid name of an object"),
        ("qwen3", "qwen3, namespace: My_NS", "'My_NS' is not a valid name of a namespace - at `$.meta"),
        ("{name: qwen3}", "{}", "a ModelService without a name: Object missing required field"),
        (
            "decode: {}",
            "decode: {}\n  inferencePool: {endpointPicker: {failureMode: FailWell}}",
            "'FailWell' is not allowed - at `$.spec.inferencePool.endpointPicker.failureMode`",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_rendered_is_refused_in_one_line(run, write, old, *, new, says):
    assert old in MINIMAL
    status, out, err = run("render", "-f", write(MINIMAL.replace(old, new)))
    assert (status, out) == (2, "")
    assert says in err
    assert err.startswith("status-reporter: render: ")
    assert err.count("\n") == 1


def test_what_the_api_server_takes_is_rendered(rendered, write):
    """Quantities in each of their forms, a wildcard, and what is left to defaults."""
    amounts = "{cpu: 500m, memory: 1.5Gi, nvidia.com/gpu: 1, a: 1e3, b: .5, c: 12e-2}"
    text = MINIMAL.replace("engine: {}", "engine: {imagePullPolicy: '', env: [{name: a.b c}]}")
    text = text.replace("decode: {}", f"decode: {{resources: {{limits: {amounts}}}}}")
    text += '  httpRoute: {gatewayRef: {name: g}, hostnames: ["*.example.com", a-1.example]}\n'
    assert DECODE in rendered("-f", write(text))


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "nothing to render; name a file with -f"),
        (["-f", "missing.yaml"], "missing.yaml: no such file or folder"),
        (["-f", "x", "--provider", "isto"], "invalid choice: 'isto'"),
        (["-f", "x", "--tracing-enabled=maybe"], "invalid choice: 'maybe'"),
        (["-f", "x", "--default-engine-imag", "y"], "did you mean --default-engine-image?"),
        (["-f", "x", "-n", ""], "--namespace: it is empty"),
        (["-f", "x", "-n", "a b"], "--namespace: 'a b' is not a valid name of a namespace"),
        (["x"], "'x' is not understood"),
    ],
)
def test_wrong_usage(run, argv, says):
    status, out, err = run("render", *argv)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "1e3", "0x1f", "012", "1_0", "1:30", "-5", ".5", "y", "N", "on", "null", "~", "",
        "2026-01-01",
    ],
)  # fmt: skip
def test_text_that_looks_like_something_else_is_quoted(text):
    """Parsers disagree on some of these; none disagrees on what is quoted."""
    (line,) = yaml_text([{"key": text}]).splitlines()[1:]
    assert line[5] in {'"', "'"}
    assert yaml.safe_load(line) == {"key": text}


def test_no_client_of_an_api_server_is_loaded():
    """Nothing is read from a cluster, so that it also is quick."""
    code = (
        "import sys; from reporter.stacks.otterscale import render as command; "
        "print(sorted({'aiohttp', 'httpx', 'kubernetes_asyncio', 'pydantic'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
