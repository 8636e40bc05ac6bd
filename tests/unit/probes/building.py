"""Objects and snapshots for tests, written the way the API writes them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce

import msgspec
import yaml

from reporter.model.instant import Instant
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource, parse_selector
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.stacks.otterscale.objects import Made
from tests.tables import ALL

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
CREATED = "2026-11-20T10:00:00Z"
SINCE = "2026-11-20T11:50:00Z"
SINCE_AT = datetime(2026, 11, 20, 11, 50, tzinfo=UTC)
CREATED_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)

Document = dict[str, object]


def resource_of(doc: Document) -> Resource[KubeObject]:
    """The resource of a document; without an `apiVersion`, one that is read for all stacks."""
    fitting = [each for each in _of_kind(doc, ALL) if each.type is not Made]
    selected = [each for each in fitting if each.label_selector and _selects(each, doc)]
    plain = [each for each in fitting if not each.label_selector]
    by_stack = sorted(plain, key=lambda each: bool(each.stack))
    return (selected + by_stack)[0]


def resources_of(
    doc: Document, declared: Iterable[Resource[KubeObject]]
) -> list[Resource[KubeObject]]:
    """The resources that read a document: all objects of the kind, or as declared."""
    built_in = [resource_of(doc)] if _of_kind(doc, ALL) else []
    others = (*(each for each in ALL if each.type is Made), *declared)
    return built_in + [each for each in _of_kind(doc, others) if _selects(each, doc)]


def _of_kind(
    doc: Document, resources: Iterable[Resource[KubeObject]]
) -> list[Resource[KubeObject]]:
    group, _, _ = str(doc.get("apiVersion", "")).rpartition("/")
    fitting = [each for each in resources if each.kind == doc["kind"]]
    return [each for each in fitting if "apiVersion" not in doc or each.group == group]


def _selects(resource: Resource[KubeObject], doc: Document) -> bool:
    metadata = doc.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return parse_selector(resource.label_selector).matches(labels)


def at(seconds: float = 0) -> Instant:
    """The moment `seconds` after noon, on both clocks."""
    return Instant(NOW, timedelta(days=1)).after(seconds)


def merged(base: Document, *patches: Document) -> Document:
    """Return `base` with JSON merge patches on top; None removes a field."""
    return reduce(_merge, patches, base)


def _merge(base: object, patch: object) -> object:
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), value)
    return result


def documents(text: str) -> list[Document]:
    """Return the documents of a YAML text."""
    return [each for each in yaml.safe_load_all(text) if each]


def condition(type_: str, status: str, reason: str = "", message: str = "", since: str = SINCE):
    """A condition."""
    return {
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since,
    }  # fmt: skip


def document(kind: str, name: str, namespace: str = "", *patches: Document) -> Document:
    """Any object: its kind, where it is, and the rest as merge patches."""
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": CREATED}
    if namespace:
        metadata["namespace"] = namespace
    return merged({"kind": kind, "metadata": metadata}, *patches)


DELETING: Document = {"metadata": {"deletionTimestamp": "2026-11-20T11:59:00Z"}}


def namespace(name: str, *patches: Document, managed: bool = False) -> Document:
    """A Namespace; a managed one is a workload namespace."""
    labels = {"productionstack.kaito.sh/managed-by": "modelharness"} if managed else {}
    return document("Namespace", name, "", {"metadata": {"labels": labels}}, *patches)


def deployment(namespace: str, name: str, *patches: Document, ready: int = 1, wanted: int = 1):
    """A Deployment whose last rollout is complete."""
    up = "True" if ready else "False"
    return document(
        "Deployment", name, namespace,
        {
            "metadata": {"generation": 3},
            "spec": {"replicas": wanted, "selector": {"matchLabels": {"app": name}}},
            "status": {
                "observedGeneration": 3, "replicas": wanted, "updatedReplicas": wanted,
                "readyReplicas": ready, "availableReplicas": ready,
                "conditions": [
                    condition("Available", up, "MinimumReplicasAvailable" if ready else "MinimumReplicasUnavailable"),
                    condition("Progressing", "True", "NewReplicaSetAvailable"),
                ],
            },
        },
        *patches,
    )  # fmt: skip


def pod(namespace: str, name: str, app: str, *patches: Document, ready: bool = True) -> Document:
    """A running pod of the Deployment `app`."""
    return document(
        "Pod", name, namespace,
        {
            "metadata": {"labels": {"app": app}},
            "spec": {"containers": [{"name": "main"}]},
            "status": {
                "phase": "Running",
                "conditions": [condition("Ready", "True" if ready else "False")],
                "containerStatuses": [
                    {"name": "main", "ready": ready, "state": {"running": {"startedAt": SINCE}}}
                ],
            },
        },
        *patches,
    )  # fmt: skip


def waiting(reason: str, message: str = "") -> Document:
    """A patch of a pod: its container waits for that reason."""
    state = {"waiting": {"reason": reason, "message": message}}
    status = {"name": "main", "ready": False, "restartCount": 4, "state": state}
    return {"status": {"containerStatuses": [status]}}


ALL_CRDS = frozenset(
    {str(each) for each in ALL if each.custom} | {"clustertriggerauthentications.keda.sh"}
)


def snapshot_of(
    *docs: Document,
    served: Iterable[str] | None = ALL_CRDS,
    unknown: Mapping[Resource[KubeObject], ResourceState] | None = None,
    covered: Iterable[str] | None = None,
    declared: Iterable[Resource[KubeObject]] = (),
) -> Snapshot:
    """A snapshot of a live cluster with these objects.

    A custom resource that is not `served` is absent; one in `unknown` has that state. `declared`
    are the resources of declarations.
    """
    declared = tuple(declared)
    resources = (*ALL, *declared)
    objects: dict[Resource[KubeObject], list[KubeObject]] = {each: [] for each in resources}
    for doc in docs:
        for resource in resources_of(doc, declared):
            objects[resource].append(msgspec.convert(doc, resource.type, strict=True))
    names = None if served is None else frozenset(served)
    states = {each: ResourceState(Served.SERVED) for each in resources}
    for each in resources:
        if each.custom and names is not None and str(each) not in names:
            states[each] = ResourceState(Served.ABSENT)
    return Snapshot(
        tables={resource: table_of(group) for resource, group in objects.items()},
        states=states | dict(unknown or {}),
        discovery=Discovery(names),
        covered=None if covered is None else frozenset(covered),
    )


FORBIDDEN = ResourceState(
    Served.UNKNOWN, cause="forbidden", permission="list, watch on ...", since=at(-300)
)
NOT_IN_DUMP = ResourceState(Served.UNKNOWN, cause="not in the dump")


SHARED = (
    ("istio-system", "istiod"),
    ("llm-gateway-auth", "apikey-operator"),
    ("llm-gateway-auth", "apikey-authz"),
    ("kaito-system", "body-based-router"),
    ("kaito-system", "kaito-workspace"),
    ("keda", "keda-operator"),
    ("keda", "keda-operator-metrics-apiserver"),
    ("keda", "keda-kaito-scaler"),
)
"""The namespaces of the Deployments in the charts, which the default settings expect."""


ALL_ON = dict.fromkeys(("istio", "gateway-auth", "bbr", "kaito", "keda", "keda-scaler"), "on")
"""The components of `SHARED` that are expected whether anything needs them or not."""


def says(message: str, text: str) -> bool:
    """Tell whether a message ends with a text, begins with `text...`, or contains `...text...`."""
    if text.startswith("..."):
        return text.strip(".") in message
    return message.startswith(text[:-3]) if text.endswith("...") else message.endswith(text)


def healthy_cluster(*without: str) -> list[Document]:
    """The shared control plane, all of it ready, `without` some Deployments."""
    places = sorted({place for place, _ in SHARED} | {"kube-system"})
    parts = [deployment(place, name) for place, name in SHARED if name not in without]
    return [*(namespace(place) for place in places), *parts]


def healthy_harness(name: str) -> list[Document]:
    """A workload namespace whose Gateway is programmed and served."""
    gateway = f"{name}-gw"
    labels = {
        "gateway.networking.k8s.io/gateway-name": gateway,
        "kaito.sh/owned-by": "modelharness",
    }
    plane = f"{gateway}-istio"
    return [
        namespace(name, managed=True),
        document("GatewayClass", "istio", "", {"status": {"conditions": [condition("Accepted", "True", "Accepted")]}}),
        document(
            "Gateway", gateway, name,
            {
                "metadata": {"labels": {"kaito.sh/owned-by": "modelharness"}},
                "spec": {"gatewayClassName": "istio"},
                "status": {
                    "conditions": [
                        condition("Accepted", "True", "Accepted"),
                        condition("Programmed", "True", "Programmed"),
                    ],
                    "listeners": [{
                        "name": "http",
                        "conditions": [
                            condition("Conflicted", "False", "NoConflicts"),
                            condition("ResolvedRefs", "True", "ResolvedRefs"),
                            condition("Programmed", "True", "Programmed"),
                        ],
                    }],
                },
            },
        ),
        deployment(name, plane, {"metadata": {"labels": labels}}),
        pod(name, f"{plane}-1", plane, {"metadata": {"labels": labels}}),
    ]  # fmt: skip


def replaced(docs: Iterable[Document], kind: str, *patches: Document) -> list[Document]:
    """Return `docs` with patches on top of each document of that kind."""
    return [merged(each, *patches) if each["kind"] == kind else each for each in docs]
