"""A healthy production stack of any size: one namespace of the example, many times over."""

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from lab.demo.sample_stack import load_stack
from lab.sandbox.objects import Object
from tests.bench.pods import fill, managed_fields

SETS_PER_NAMESPACE: Final = 10
MODEL_PODS: Final = 3
PICKER_PODS: Final = 2
"""Of each InferenceSet; the data plane of each Gateway has one more."""

_MODELS_PER_NODE: Final = 8
AGE: Final = timedelta(days=2)
"""Old enough that nothing is told to be ready: a reporter that starts writes nothing."""

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MANAGED: Final = "productionstack.kaito.sh/managed-by"
_NAMESPACE: Final = "chat-models"
_SET: Final = "phi-4-mini"
"""The namespace and the InferenceSet of the example that are multiplied."""


@dataclass(frozen=True, slots=True)
class Model:
    """Where one InferenceSet is, and what belongs to it."""

    namespace: str
    name: str

    @property
    def picker(self) -> str:
        """Name of its endpoint picker's Deployment."""
        return f"{self.name}-inferencepool-epp"

    @property
    def route(self) -> str:
        """Name of its HTTPRoute."""
        return f"{self.name}-route"

    def pod(self, replica: int) -> str:
        """Name of one of its model pods."""
        return f"{self.name}-w{replica}-0"

    @property
    def gateway(self) -> str:
        """Name of its namespace's Gateway."""
        return f"{self.namespace}-gw"


def models(sets: int) -> list[Model]:
    """Return where the InferenceSets of a cluster of that size are."""
    return [Model(f"models-{i // SETS_PER_NAMESPACE:03}", f"model-{i:04}") for i in range(sets)]


def build(sets: int, age: timedelta = AGE) -> Iterator[Object]:
    """Yield the documents of a healthy cluster with that many InferenceSets."""
    example = [each for each in load_stack(datetime.now(UTC) - age) if isinstance(each, dict)]
    numbers = count()
    for document in _documents(_Template(example), models(sets)):
        if document["kind"] == "Pod":
            fill(document, next(numbers))
        if document["kind"] not in {"ConfigMap", "CustomResourceDefinition"}:
            document["metadata"]["managedFields"] = managed_fields(document)
        yield document


class _Template:
    """The example, sorted by what a document is multiplied with."""

    def __init__(self, example: Iterable[Object]) -> None:
        self.shared: list[Object] = []
        self.namespace: list[str] = []
        self.model: list[Object] = []
        self.node: str = ""
        example = [each for each in example if each.get("metadata", {}).get("name")]
        workload = {
            each["metadata"]["name"]
            for each in example
            if each["kind"] == "Namespace" and _MANAGED in each["metadata"].get("labels", {})
        }
        others = {
            each["metadata"]["name"]
            for each in example
            if each["kind"] == "InferenceSet" and each["metadata"]["name"] != _SET
        }
        for each in example:
            name = each["metadata"]["name"]
            place = name if each["kind"] == "Namespace" else each["metadata"].get("namespace")
            if place == _NAMESPACE and _SET in json.dumps(each):
                self.model.append(each)
            elif place == _NAMESPACE and not any(other in json.dumps(each) for other in others):
                self.namespace.append(json.dumps(each))
            elif each["kind"] == "Node" and name.startswith("gpu-"):
                self.node = json.dumps(each).replace(name, "{node}")
            elif place not in workload:
                self.shared.append(each)


def _documents(template: _Template, placed: Sequence[Model]) -> Iterator[Object]:
    yield from template.shared
    for number in range(-(-len(placed) * MODEL_PODS // _MODELS_PER_NODE)):
        yield _named(template.node, {"{node}": f"gpu-{number:04}"})
    for namespace in dict.fromkeys(model.namespace for model in placed):
        for text in template.namespace:
            yield _named(text, {_NAMESPACE: namespace})
    pods = count()
    for model in placed:
        names = {_NAMESPACE: model.namespace, _SET: model.name}
        for document in template.model:
            yield from _of_model(document, names, pods)


def _of_model(document: Object, names: dict[str, str], pods: Iterator[int]) -> Iterator[Object]:
    """Yield the copies of a document that one InferenceSet has."""
    name, kind = document["metadata"]["name"], document["kind"]
    labels = document["metadata"].get("labels", {})
    text = json.dumps(document)
    if kind == "Workspace" or "kaito.sh/workspace" in labels:
        workspace = labels.get("kaito.sh/workspace", name)
        for replica in range(MODEL_PODS):
            own = {workspace: f"{names[_SET]}-w{replica}"} | names
            copied = _named(text, own)
            if kind == "Pod":
                copied["spec"]["nodeName"] = f"gpu-{next(pods) // _MODELS_PER_NODE:04}"
            yield copied
    elif kind == "Pod":
        for replica in range(PICKER_PODS):
            yield _named(text, {name: f"{name[:-1]}{replica}"} | names)
    else:
        copied = _named(text, names)
        if kind in {"InferenceSet", "Deployment"}:
            _scale(copied, MODEL_PODS if kind == "InferenceSet" else PICKER_PODS)
        yield copied


def _scale(document: Object, replicas: int) -> None:
    document["spec"]["replicas"] = replicas
    for key in document["status"]:
        if key == "replicas" or key.endswith("Replicas"):
            document["status"][key] = replicas


def _named(text: str, names: dict[str, str]) -> Object:
    for old, new in names.items():
        text = text.replace(old, new)
    key = "/".join(names.values())
    unique: Object = json.loads(
        _UUID.sub(lambda found: str(uuid.uuid5(uuid.UUID(found[0]), key)), text)
    )
    return unique


def build_young(sets: int) -> Iterator[Object]:
    """Yield a cluster that was just installed, so that each InferenceSet is told to be ready."""
    return build(sets, age=timedelta(0))
