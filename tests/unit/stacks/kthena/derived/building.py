"""A ModelServing `serving/m` and what Kthena's controller makes of it, in a given state.

Documents are written the way the API writes them; `facts` decodes them. Revision A is made of
roles with image v1, B of roles with image v2.
"""

from collections.abc import Iterable

import msgspec

from reporter.model.finding import Derived
from reporter.model.objects import Pod, PodGroup, Service
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.facts import ModelServingFacts
from reporter.stacks.kthena.derived.status import (
    DerivedModelServing,
    derive,
    digest,
    our_share,
    status_document,
)
from reporter.stacks.kthena.objects import (
    ENTRY_LABEL,
    GROUP_LABEL,
    NAME_LABEL,
    REVISION_LABEL,
    ROLE_HASH_LABEL,
    ROLE_ID_LABEL,
    ROLE_LABEL,
    ControllerRevision,
    ModelServing,
    ModelServingStatus,
)
from tests.unit.probes.building import NOW, Document, condition, document, merged

NS = "serving"
NAME = "m"
UID = "uid-m"
GONE = {"metadata": {"deletionTimestamp": "2026-11-20T11:59:00Z"}}
A, B = "aaa", "bbb"
IMAGES = {A: "v1", B: "v2"}
STARTED = "2026-11-20T10:05:00Z"
LATER = "2026-11-20T11:00:00Z"


def role(name: str, replicas: int | None = 1, workers: int = 0, image: str = "v1", **more: object):
    """An entry of `spec.template.roles`."""
    found: Document = {"name": name, "workerReplicas": workers, "entryTemplate": template(image)}
    if replicas is not None:
        found["replicas"] = replicas
    if workers:
        found["workerTemplate"] = template(image)
    return found | more


def template(image: str, **container: object) -> Document:
    containers = [{"name": "main", "image": image} | container]
    return {"metadata": {"labels": {"app": "m"}}, "spec": {"containers": containers}}


DECODE = role("decode")
PREFILL = role("prefill", workers=1)


def at_image(roles: Iterable[Document], image: str) -> list[Document]:
    """The same roles with another image."""
    changed = {"entryTemplate": template(image)}
    worker = {"workerTemplate": template(image)}
    return [each | changed | (worker if "workerTemplate" in each else {}) for each in roles]


def modelserving(
    *roles: Document,
    replicas: int | None = 1,
    generation: int = 1,
    partition: int | str | None = None,
    by_role: bool = False,
    policy: str | None = "RoleRecreate",
    status: Document | None = None,
    **spec: object,
) -> Document:
    """A ModelServing; `by_role` asks for RoleRollingUpdate."""
    strategy: Document = {"type": "RoleRollingUpdate" if by_role else "ServingGroupRollingUpdate"}
    if partition is not None:
        strategy["rollingUpdateConfiguration"] = {"partition": partition}
    found: Document = {"rolloutStrategy": strategy, "template": {"roles": list(roles)}}
    found |= {"replicas": replicas} if replicas is not None else {}
    found |= {"recoveryPolicy": policy} if policy is not None else {}
    return document(
        "ModelServing", NAME, NS,
        {"metadata": {"uid": UID, "generation": generation}},
        {"spec": found | spec, "status": status or {}},
    )  # fmt: skip


def _owned(uid: str, **labels: str | None) -> Document:
    owner = {"kind": "ModelServing", "name": NAME, "uid": uid, "controller": True}
    named = {NAME_LABEL: NAME} | {key: value for key, value in labels.items() if value}
    return {"metadata": {"labels": named, "ownerReferences": [owner]}}


def _ready(status: str, since: str = STARTED) -> list[Document]:
    return [
        condition("Initialized", "True", since=STARTED),
        condition("Ready", status, since=since),
    ]


def _containers(restarts: int = 0, *, ready: bool = False) -> list[Document]:
    return [{"name": "main", "ready": ready, "restartCount": restarts}]


_READY = {
    "phase": "Running",
    "conditions": _ready("True"),
    "containerStatuses": _containers(ready=True),
}
STATES: dict[str, Document] = {
    "ready": _READY,
    "ready after restarts": _READY | {"containerStatuses": _containers(7, ready=True)},
    "ready, not running": _READY | {"phase": "Pending"},
    "pending": {"phase": "Pending"},
    "unknown": _READY | {"phase": "Unknown"},
    "succeeded": {"phase": "Succeeded", "conditions": _ready("False", LATER)},
    "starting": {
        "phase": "Running",
        "conditions": _ready("False"),
        "containerStatuses": _containers(),
    },
    "not ready any more": {
        "phase": "Running",
        "conditions": _ready("False", LATER),
        "containerStatuses": _containers(),
    },
    "restarted": {
        "phase": "Running",
        "conditions": _ready("False", LATER),
        "containerStatuses": _containers(1),
    },
    "init restarted": {"phase": "Pending", "initContainerStatuses": _containers(2)},
    "failed": {"phase": "Failed", "conditions": _ready("False", LATER)},
    "terminating": _READY,
    "terminating, not ready": {"phase": "Running", "conditions": _ready("False", LATER)},
}
"""States of a pod; what begins with `terminating` is being deleted, too."""


def pod(
    group: str,
    role_id: str,
    index: int = 0,
    state: str = "ready",
    *patches: Document,
    revision: str | None = A,
    hash_: str | None = None,
    uid: str = UID,
) -> Document:
    """A pod of an instance; 0 is its entry pod."""
    labels = _owned(
        uid,
        **{
            GROUP_LABEL: group,
            ROLE_LABEL: role_id.rpartition("-")[0],
            ROLE_ID_LABEL: role_id,
            REVISION_LABEL: revision,
            ROLE_HASH_LABEL: hash_,
            ENTRY_LABEL: "true" if index == 0 else None,
        },
    )
    gone = GONE if state.startswith("terminating") else {}
    status = {"status": STATES[state]}
    return document("Pod", f"{group}-{role_id}-{index}", NS, labels, gone, status, *patches)


def instance(
    group: str, role_id: str, *states: str, revision: str | None = A, hash_: str | None = None
) -> list[Document]:
    """The pods of an instance, one for each state."""
    return [
        pod(group, role_id, index, state, revision=revision, hash_=hash_)
        for index, state in enumerate(states or ("ready",))
    ]


def service(group: str, role_id: str, *patches: Document, uid: str = UID) -> Document:
    """The headless Service of an instance."""
    labels = {GROUP_LABEL: group, ROLE_LABEL: role_id.rpartition("-")[0], ROLE_ID_LABEL: role_id}
    return document("Service", f"{group}-{role_id}-0", NS, _owned(uid, **labels), *patches)


def pod_group(group: str, *patches: Document, uid: str = UID) -> Document:
    """The PodGroup of a group."""
    return document("PodGroup", group, NS, _owned(uid, **{GROUP_LABEL: group}), *patches)


def controller_revision(
    revision: str, *roles: Document, created: str = STARTED, uid: str = UID
) -> Document:
    """The ControllerRevision that keeps these roles."""
    return document(
        "ControllerRevision", f"{NAME}-{revision}", NS,
        _owned(uid, **{REVISION_LABEL: revision}),
        {"metadata": {"creationTimestamp": created}},
        {"data": {"data": list(roles)}, "revision": 1},
    )  # fmt: skip


def kept(*roles: Document, revisions: Iterable[str] = (A, B)) -> list[Document]:
    """The ControllerRevisions of the same roles with the image of each revision."""
    created = {A: STARTED, B: LATER}
    return [
        controller_revision(each, *at_image(roles, IMAGES[each]), created=created[each])
        for each in revisions
    ]


def group(
    ordinal: int, *roles: Document, state: str = "Running", revision: str = A
) -> list[Document]:
    """All that exists of a group: of a Deleting one its PodGroup is gone already."""
    name = f"{NAME}-{ordinal}"
    of_pods = {"Running": "ready", "Creating": "pending", "Deleting": "terminating"}[state]
    pods = [
        pod(name, f"{each['name']}-{number}", index, of_pods, revision=revision)
        for each in roles
        for number in range(each.get("replicas", 1))
        for index in range(1 + each["workerReplicas"])
    ]
    return pods if state == "Deleting" else [*pods, pod_group(name)]


_TYPES = {
    "Pod": Pod,
    "Service": Service,
    "PodGroup": PodGroup,
    "ControllerRevision": ControllerRevision,
}


def facts(serving: Document, *documents: Document, pod_groups: bool = True) -> ModelServingFacts:
    """The facts that these documents are; `pod_groups` says whether PodGroups are in use."""
    found: dict[str, list] = {kind: [] for kind in _TYPES}
    for each in documents:
        found[each["kind"]].append(msgspec.convert(each, _TYPES[each["kind"]]))
    return ModelServingFacts(
        modelserving=msgspec.convert(serving, ModelServing),
        pods=tuple(found["Pod"]),
        services=tuple(found["Service"]),
        pod_groups=tuple(found["PodGroup"]) if pod_groups else None,
        revisions=tuple(found["ControllerRevision"]),
    )


def derived(
    serving: Document, *documents: Document, pod_groups: bool = True
) -> DerivedModelServing:
    return derive(facts(serving, *documents, pod_groups=pod_groups))


def differs(on_record: ModelServingStatus, wanted: Document, *, whole: bool = True) -> bool:
    """Whether a write would be made, of all of a status or of the roles only."""
    one, other = (
        digest(our_share(each, whole=whole)) for each in (status_document(on_record), wanted)
    )
    return one != other


def stored(serving: Document, status: Document, *patches: Document) -> Document:
    """The ModelServing once a derived status is written at noon, with patches on top."""
    ref = ObjectRef("workload.serving.volcano.sh/v1alpha1", "ModelServing", NS, NAME, UID)
    dated = Derived(ref, status).dated(NOW).status
    return merged(serving | {"status": dict(dated)}, *patches)


def truth(status: Document) -> dict[str, str]:
    """The status of each condition by its type."""
    return {each["type"]: each["status"] for each in status["conditions"]}


def of_type(status: Document, type_: str) -> Document:
    return next(each for each in status["conditions"] if each["type"] == type_)


def counters(status: Document) -> str:
    """R/C/U/A, as the worked examples write them."""
    names = ("replicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    return "/".join(str(status[name]) for name in names)


def revisions(status: Document) -> str:
    """currentRevision/updateRevision as letters; `-` where there is none."""
    letters = {A: "A", B: "B", "": "-"}
    fields = (status.get("currentRevision", ""), status.get("updateRevision", ""))
    return "/".join(letters[each] for each in fields)


def entries(status: Document) -> list[str]:
    """The entries of roleStatuses: `m-0 prefill-0 Running`."""
    return [
        f"{each['servingGroupName']} {each['roleID']} {each['status']}"
        for each in status.get("roleStatuses", ())
    ]
