"""ModelServices for tests, as an API server returns them, and looks into manifests."""

import msgspec

from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import unwanted, wanted
from reporter.stacks.otterscale.objects import ModelService

OPERATOR = OperatorSettings()

MINIMAL = {
    "model": {"name": "Qwen/Qwen3-0.6B", "image": "registry/qwen3:v1"},
    "engine": {},
    "accelerator": {"type": "nvidia"},
    "decode": {},
}


def service(name="qwen3", namespace="models", uid="", status=None, generation=0, **spec):
    """A ModelService of the smallest form, with some fields of its spec set."""
    metadata = {"name": name, "namespace": namespace, "uid": uid, "generation": generation}
    document = {"metadata": metadata, "spec": {**MINIMAL, **spec}, "status": status or {}}
    return msgspec.convert(document, ModelService)


def documents(service_, operator=OPERATOR):
    """The documents that should exist, by kind and name."""
    made = wanted(service_, operator)
    return {(each.ref.kind, each.ref.name): each.document for each in made}


def document(service_, kind, name, operator=OPERATOR):
    """One document that should exist."""
    return documents(service_, operator)[kind, name]


def pod(service_, role, operator=OPERATOR):
    """The pod's spec of a role: `decode`, `prefill` or, of the endpoint picker, `epp`."""
    made = document(service_, "Deployment", f"{service_.name}-{role}", operator)
    return made["spec"]["template"]["spec"]


def container(service_, role, name, operator=OPERATOR):
    """One container of a role's pods."""
    spec = pod(service_, role, operator)
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    (found,) = (each for each in containers if each["name"] == name)
    return found


def names(service_, operator=OPERATOR):
    """The kinds that should exist, and those that are deleted, in the order of the operator."""
    made = [each.ref.kind for each in wanted(service_, operator)]
    return made, [each.ref.kind for each in unwanted(service_, operator)]
