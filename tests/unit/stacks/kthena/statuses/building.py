"""ModelServings with a status, plans for them, and their CRD as the chart has it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml
from prometheus_client import CollectorRegistry

from reporter.model.finding import Derived
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.output import StatusWriter
from reporter.stacks.kthena.owning import Claim, StatusPlan
from reporter.stacks.kthena.reasons import MODELSERVINGS
from reporter.stacks.output import WriterParts
from tests.unit.probes.building import NOW

PLURAL = "modelservings.workload.serving.volcano.sh"
_FILE = "helm/productionstack-status-reporter/files/crds/modelservings.yaml"


def entry(index: int, state: str):
    return {
        "servingGroupName": "m-0",
        "roleName": "prefill",
        "roleID": f"prefill-{index}",
        "status": state,
    }


def roles(*states: str, **more: object):
    """A status with one instance for each state."""
    return {"roleStatuses": [entry(index, state) for index, state in enumerate(states)], **more}


def modelserving(name: str = "m", version: str = "1", status=None, **metadata) -> ModelServing:
    """A ModelServing as the snapshot has it."""
    stored = {
        "apiVersion": MODELSERVINGS.api_version(),
        "kind": "ModelServing",
        "metadata": {
            "name": name,
            "namespace": "serving",
            "uid": f"uid-{name}",
            "resourceVersion": version,
            **metadata,
        },
        "status": status or {},
    }
    return msgspec.convert(stored, ModelServing)


def target(found: ModelServing, wanted) -> Claim:
    return Claim(MODELSERVINGS, found, Derived(MODELSERVINGS.ref(found), wanted))


def write(status, stored=None, *, whole: bool = False, name="m", version="1", left_out=()):
    """The request that makes a status what it should be."""
    made = target(modelserving(name, version, stored), status)
    return made.write(left_out, NOW, whole=whole)


def plan(*names_and_versions: tuple[str, str], whole: bool = False, state="Running") -> StatusPlan:
    """A plan that writes one role of each object over a version."""
    wanted = roles(state, replicas=1)
    return {
        f"uid-{name}": write(wanted, whole=whole, name=name, version=version)
        for name, version in names_and_versions
    }


def nothing(*names: str) -> StatusPlan:
    """A plan that writes nothing although objects are there."""
    return {f"uid-{name}": None for name in names}


class TellingWriter(StatusWriter):
    """A writer that tells what became of each request."""

    def __init__(self, send, told, may_write=lambda: True, changed=lambda: None, outdated=None):
        super().__init__(
            send,
            WriterParts(
                client=None,
                registry=CollectorRegistry(),
                may_write=may_write,
                changed=changed,
                outdated=outdated or (lambda _: None),
            ),
        )
        self._told = told

    def _observe(self, write, outcome):
        super()._observe(write, outcome)
        self._told(outcome)


def definition(without: Iterable[str] = ()) -> dict[str, Any]:
    """The CRD; `without` names fields of the status that it lacks."""
    found = yaml.safe_load((Path(__file__).parents[5] / _FILE).read_text())
    properties = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    for field in without:
        del properties["status"]["properties"][field]
    return found


def document(name: str, namespace: str) -> dict[str, Any]:
    """A ModelServing that the CRD accepts."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    role = {"name": "prefill", "replicas": 1, "workerReplicas": 0, "entryTemplate": template}
    return {
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServing",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": "a"}},
        "spec": {"replicas": 1, "template": {"roles": [role]}},
    }
