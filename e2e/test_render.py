"""Manifests of `status-reporter render`, compared with the API server's own dry run."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from e2e.envtest.commands import EnvtestError
from e2e.stack.objects import lost
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import wanted
from reporter.stacks.otterscale.objects import ModelService

EXAMPLES = sorted(
    (Path(__file__).resolve().parent.parent / "examples" / "modelservice").glob("*.yaml")
)
NAMESPACE = "chat-models"

# Every setting of the operator that affects which objects exist, or their content.
OPERATORS = {
    "istio": ("--provider", "istio"),
    "gke": ("--provider", "gke"),
    "none": ("--provider", "none"),
    "auth off": ("--metrics-endpoint-auth=false",),
    "no route, no unpacking": ("--default-gateway-name", "", "--kit-image", ""),
    "traced": ("--tracing-enabled", "--tracing-otel-endpoint", "http://otel-collector:4317"),
    "versions like numbers": ("--operator-version", "1e3", "--tracing-sampler-arg", "1_0"),
}


@pytest.fixture(name="place")
async def _place(stage):
    """The namespace of the examples, with the kinds that they need."""
    await stage.stack.install_crds()
    return await stage.namespace(NAMESPACE)


def render(*arguments, stdin=None):
    done = subprocess.run(
        [sys.executable, "-m", "reporter", "render", *map(str, arguments)],
        input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def applied(kubectl, manifests, *flags):
    """The result of applying manifests; every field must be known to the API server."""
    out = kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-o", "json", *flags, "-f", "-",
        stdin=manifests,
    )  # fmt: skip
    return json.loads(out)["items"]


def key_of(obj):
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@pytest.mark.parametrize("output", ["yaml", "json"])
@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
async def test_server_accepts_what_is_rendered(place, kubectl, operator, output):
    files = [each for path in EXAMPLES for each in ("-f", path)]
    manifests = render(*files, *operator, "-o", output)
    read = json.loads(manifests)["items"] if output == "json" else [*yaml.safe_load_all(manifests)]
    found = applied(kubectl, manifests)
    assert [key_of(each) for each in found] == [key_of(each) for each in read]
    assert {place, ""} >= {each["metadata"].get("namespace", "") for each in found}
    # The server writes no zeros and no empty text.
    assert lost(read, found, empty_counts=False) == []


async def test_server_accepts_the_examples_and_fills_in_the_defaults(place, kubectl):
    """A ModelService from the API server renders like the file from which it was created."""
    for path in EXAMPLES:
        stored = kubectl("apply", "--dry-run=server", "-o", "json", "-f", str(path))
        assert json.loads(stored)["metadata"]["namespace"] == place
        without_owner = render("-f", path, "-o", "json")
        with_owner = render("-f", "-", "-o", "json", stdin=stored)
        items = json.loads(with_owner)["items"]
        owners = [each["metadata"].pop("ownerReferences", None) for each in items]
        assert items == json.loads(without_owner)["items"]
        assert [owner is None for owner in owners] == [
            each["kind"].startswith("Cluster") for each in items
        ]
        assert len(applied(kubectl, with_owner)) == len(items)


async def test_nothing_differs_once_it_is_applied(place, kubectl):
    """The API server stores what was rendered: `kubectl diff` is empty."""
    (path,) = (each for each in EXAMPLES if each.stem == "unified")
    manifests = render("-f", path)
    kubectl("apply", "-f", "-", stdin=manifests)
    assert kubectl("diff", "-f", "-", stdin=manifests) == ""


MANAGER = "--field-manager=model-operator"


@pytest.fixture(name="rendered")
async def _rendered(place, kubectl):
    """The objects for a live ModelService, which is piped in so that it owns them."""
    (path,) = (each for each in EXAMPLES if each.stem == "prefill-decode")
    kubectl("apply", "-f", str(path))
    name = yaml.safe_load(path.read_text())["metadata"]["name"]
    live = kubectl("get", "modelservice", name, "-n", place, "-o", "json")
    yield render("-f", "-", stdin=live), as_operator(json.loads(live))
    kubectl("delete", "modelservice", "--all", "-n", place, "--wait=false")


def as_operator(live):
    """The same objects as the operator writes them: without the API server's defaults."""
    service = msgspec.convert(live, ModelService)
    items = [each.document for each in wanted(service, OperatorSettings())]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def made(kubectl, manifests):
    """Uid, generation and owner of each object, which change with its spec."""
    found = json.loads(kubectl("get", "-o", "json", "-f", "-", stdin=manifests))["items"]
    return {
        key_of(each): (
            each["metadata"]["uid"],
            each["metadata"].get("generation"),
            [owner["kind"] for owner in each["metadata"].get("ownerReferences", ())],
        )
        for each in found
    }


def test_the_operator_changes_nothing_of_what_was_applied(rendered, kubectl):
    """Created by the recipe, before the operator starts; it then writes each object as a whole."""
    rendered, operators = rendered
    kubectl("apply", "--server-side", "-f", "-", stdin=rendered)
    before = made(kubectl, rendered)
    kubectl("replace", MANAGER, "-f", "-", stdin=operators)
    assert made(kubectl, rendered) == before
    owners = {kind: owner for (kind, _, _), (_, _, owner) in before.items()}
    assert {kind for kind, owner in owners.items() if owner != ["ModelService"]} == {
        "ClusterRole",
        "ClusterRoleBinding",
    }
    kubectl("delete", "-f", "-", "--wait=false", stdin=rendered)


def test_the_recipe_changes_nothing_of_what_the_operator_made(rendered, kubectl):
    """Both own the fields then; if somebody wants another value, apply refuses and names them."""
    rendered, operators = rendered
    kubectl("create", MANAGER, "-f", "-", stdin=operators)
    before = made(kubectl, rendered)
    kubectl("apply", "--server-side", "-f", "-", stdin=rendered)
    assert made(kubectl, rendered) == before
    documents = [*yaml.safe_load_all(rendered)]
    picker = next(
        each
        for each in documents
        if each["kind"] == "Deployment" and "epp" in each["metadata"]["name"]
    )
    picker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 5
    with pytest.raises(EnvtestError, match=r"conflict with \"model-operator\""):
        kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(picker))
    assert made(kubectl, rendered) == before
    kubectl("delete", "-f", "-", "--wait=false", stdin=rendered)
