"""ModelServings with a status, and plans for them."""

import msgspec

from reporter.model.finding import Derived
from reporter.stacks.kthena.derived.ownership import Act, Verdict
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.reasons import MODELSERVINGS
from reporter.stacks.kthena.statuses import StatusPlan, StatusTarget, plan_statuses
from tests.unit.probes.building import NOW


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
    document = {
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
    return msgspec.convert(document, ModelServing)


def target(found: ModelServing, wanted) -> StatusTarget:
    return StatusTarget(MODELSERVINGS, found, Derived(MODELSERVINGS.ref(found), wanted))


def plan(*names_and_versions: tuple[str, str], whole: bool = False, state="Running", left_out=()):
    """A plan that writes one role of each object over a version."""
    targets = [
        target(modelserving(name, version), roles(state, replicas=1))
        for name, version in names_and_versions
    ]
    verdicts = {each.uid: Verdict(Act.WRITE, left_out=left_out) for each in targets}
    return plan_statuses(targets, verdicts, NOW, whole=whole)


def nothing(*names: str) -> StatusPlan:
    """A plan that writes nothing although objects are there."""
    return StatusPlan((), frozenset(f"uid-{name}" for name in names))
