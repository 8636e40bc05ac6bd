"""Objects of an InferenceService in Knative mode: what KServe and Knative create, and what they read.

There are no Configurations, Routes and Deployments of revisions: a Knative Service owns its
revisions, and a revision its pods.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON."""

NAME: Final = "serving.kserve.io/inferenceservice"
COMPONENT: Final = "component"
SERVICE: Final = "serving.knative.dev/service"
REVISION: Final = "serving.knative.dev/revision"
"""Labels."""

SOURCE: Final = "internal.serving.kserve.io/storage-initializer-sourceuri"
"""Annotation of a pod with the URI from which its model is fetched before it serves."""

COMPONENTS: Final = ("predictor", "transformer", "explainer")
"""In the order in which KServe reconciles them."""

SERVING_VERSION: Final = "serving.knative.dev/v1"
KSERVE_CONTAINER: Final = "kserve-container"
STORAGE_INITIALIZER: Final = "storage-initializer"

_RUNTIME_IMAGE: Final = "vllm/vllm-openai:v0.14.0"
_MODEL_FOLDER: Final = "/mnt/models"
_PORT: Final = 8080


def name_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def status_of(obj: Object | None) -> Object:
    return dict((obj or {}).get("status") or {})


def components_of(inferenceservice: Object) -> Iterator[str]:
    return (each for each in COMPONENTS if inferenceservice["spec"].get(each))


def service_name(inferenceservice: Object, component: str) -> str:
    return f"{name_of(inferenceservice)}-{component}"


def knative_service(inferenceservice: Object, component: str) -> Object:
    """Return the Knative Service that KServe wants for a component."""
    labels = {NAME: name_of(inferenceservice), COMPONENT: component}
    return {
        "apiVersion": SERVING_VERSION,
        "kind": "Service",
        "metadata": {
            "name": service_name(inferenceservice, component),
            "namespace": inferenceservice["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [_owner(inferenceservice)],
        },
        "spec": {
            "template": _template(inferenceservice["spec"][component], labels),
            "traffic": _asked_traffic(inferenceservice, component),
        },
    }


def revision(service: Object, number: int) -> Object:
    template = service["spec"]["template"]
    labels = {**template["metadata"]["labels"], SERVICE: name_of(service)}
    return {
        "apiVersion": SERVING_VERSION,
        "kind": "Revision",
        "metadata": {
            "name": f"{name_of(service)}-{number:05}",
            "namespace": service["metadata"]["namespace"],
            "labels": labels,
            "annotations": deepcopy(template["metadata"]["annotations"]),
            "ownerReferences": [_owner(service)],
        },
        "spec": deepcopy(template["spec"]),
    }


def is_of_template(found: Object, service: Object) -> bool:
    """True if a revision was created from the current template."""
    wanted = revision(service, 0)
    annotations = found["metadata"].get("annotations") or {}
    source = wanted["metadata"]["annotations"].get(SOURCE)
    return bool(found["spec"] == wanted["spec"] and annotations.get(SOURCE) == source)


def pod(of: Object, node: str = "") -> Object:
    """Return the pod of a revision, with the proxy and the model fetcher that webhooks add."""
    metadata = of["metadata"]
    name = name_of(of)
    spec = deepcopy(of["spec"])
    spec["containers"].append({"name": "queue-proxy", "image": "knative/queue:v1.19.0"})
    source = (metadata.get("annotations") or {}).get(SOURCE)
    if source:
        spec["initContainers"] = [
            {
                "name": STORAGE_INITIALIZER,
                "image": "kserve/storage-initializer:v0.20.0",
                "args": [source, _MODEL_FOLDER],
            }
        ]
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-deployment-0",
            "namespace": metadata["namespace"],
            "labels": {**metadata["labels"], REVISION: name, "app": name},
            "ownerReferences": [_owner(of)],
        },
        "spec": spec,
    }


def newest_first(revisions: Sequence[Object]) -> list[Object]:
    """Sort revisions by number, the newest first."""
    return sorted(revisions, key=name_of, reverse=True)


def _template(spec: Object, labels: Object) -> Object:
    model = spec.get("model") or {}
    annotations = {SOURCE: model["storageUri"]} if model.get("storageUri") else {}
    container = (spec.get("containers") or [{}])[0]
    serving = {
        "name": KSERVE_CONTAINER,
        "image": container.get("image") or model.get("image") or _RUNTIME_IMAGE,
        "args": [*(container.get("args") or model.get("args") or ())],
        "ports": model.get("ports") or [{"containerPort": _PORT}],
    }
    return {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"containers": [serving]},
    }


def _asked_traffic(inferenceservice: Object, component: str) -> list[Object]:
    percent = inferenceservice["spec"][component].get("canaryTrafficPercent")
    stored = status_of(inferenceservice).get("components") or {}
    rolled_out = (stored.get(component) or {}).get("latestRolledoutRevision")
    if percent is None or percent == 100 or not rolled_out:  # noqa: PLR2004 - the whole
        return [{"latestRevision": True, "percent": 100}]
    return [
        {"latestRevision": True, "percent": percent},
        {
            "revisionName": rolled_out,
            "latestRevision": False,
            "percent": 100 - percent,
            "tag": "prev",
        },
    ]


def _owner(obj: Object) -> Object:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": name_of(obj),
        "uid": obj["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"

_CRASH_LOOP: Final = "CrashLoopBackOff"


def is_ready(pod: Object) -> bool:
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return status.get("phase") == "Running" and conditions.get("Ready") == TRUE


def serving_container(pod: Object) -> Object | None:
    """Return the status of the container that serves."""
    return _container(pod, "containerStatuses", KSERVE_CONTAINER)


def storage_initializer(pod: Object) -> Object | None:
    """Return the status of the container that fetches the model."""
    return _container(pod, "initContainerStatuses", STORAGE_INITIALIZER)


def is_running(container: Object) -> bool:
    return bool((container.get("state") or {}).get("running"))


def waiting(container: Object) -> Object:
    return dict((container.get("state") or {}).get("waiting") or {})


def last_end(container: Object) -> Object:
    return dict((container.get("lastState") or {}).get("terminated") or {})


def failed_end(container: Object) -> Object | None:
    """Return the failed end of a container that ended in Error or crash-loops, or None."""
    ended = (container.get("state") or {}).get("terminated")
    if ended:
        return dict(ended) if ended.get("reason") == "Error" else None
    return last_end(container) if waiting(container).get("reason") == _CRASH_LOOP else None


def _container(pod: Object, field: str, name: str) -> Object | None:
    statuses = (pod.get("status") or {}).get(field) or ()
    return next((each for each in statuses if each["name"] == name), None)


Said: TypeAlias = tuple[str, str, str]
"""Status, reason and message of a condition."""


class Conditions:
    """The conditions of an object while they are written, as Knative keeps them."""

    def __init__(self, stored: Sequence[Object], now: str, errors: frozenset[str]) -> None:
        """Start from the stored conditions; all types except `errors` get severity Info."""
        self._found = {each["type"]: each for each in stored}
        self._now = now
        self._errors = errors

    def status(self, type_: str) -> str:
        return str(self._found.get(type_, {}).get("status", UNKNOWN))

    def get(self, type_: str) -> Object | None:
        return self._found.get(type_)

    def put_said(self, type_: str, said: Said) -> None:
        status, reason, message = said
        self.put(type_, status, reason, message=message)

    def put(self, type_: str, status: str, reason: str = "", *, message: str = "") -> None:
        """Write a condition; its time changes if any other field does."""
        wanted = {"type": type_, "status": status}
        wanted |= {"reason": reason} if reason else {}
        wanted |= {"message": message} if message else {}
        wanted |= {} if type_ in self._errors else {"severity": "Info"}
        before = self._found.get(type_, {})
        if {key: each for key, each in before.items() if key != "lastTransitionTime"} != wanted:
            self._found[type_] = {**wanted, "lastTransitionTime": self._now}

    def take_over(self, type_: str, condition: Object | None) -> None:
        """Copy a condition of another object; without one, ours stays."""
        if condition is not None:
            reason, message = condition.get("reason", ""), condition.get("message", "")
            self.put(type_, condition["status"], reason, message=message)

    def sum_up(self, parts: Sequence[str]) -> None:
        """Derive Ready from its parts: the first False one, else the first Unknown one."""
        for status in (FALSE, UNKNOWN):
            bad = next((each for each in parts if self.status(each) == status), None)
            if bad is not None:
                found = self._found.get(bad, {})
                said = (status, found.get("reason", ""), found.get("message", ""))
                self.put_said("Ready", said)
                return
        self.put("Ready", TRUE)

    def __iter__(self) -> Iterator[Object]:
        return (self._found[type_] for type_ in sorted(self._found))


def condition_of(obj: Object | None, type_: str) -> Object | None:
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), None)


Fate: TypeAlias = Callable[[Object, Object], Object]
"""Maps a pod, and the status of a healthy run, to the pod's status."""

_UNREADY: Final = ("Ready", "ContainersReady")


def runs(pod: Object, status: Object) -> Object:
    return _fetched(pod, status)


def load_fails(message: str, exit_code: int = 1) -> Fate:
    """Let the serving container end in an error again and again."""

    def fate(pod: Object, status: Object) -> Object:
        ended = _ended(status, message, exit_code)
        return _serving(_fetched(pod, status), ended | _crash_loop(KSERVE_CONTAINER))

    return fate


def _fetched(pod: Object, status: Object) -> Object:
    if not pod["spec"].get("initContainers"):
        return status
    done = {
        "name": STORAGE_INITIALIZER,
        "image": "kserve/storage-initializer:v0.20.0",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "state": {"terminated": {"exitCode": 0, "reason": "Completed"}},
    }
    return {**status, "initContainerStatuses": [done]}


def _serving(status: Object, change: Object) -> Object:
    statuses = [
        {**each, "ready": False, "started": False, **change}
        if each["name"] == KSERVE_CONTAINER
        else each
        for each in status["containerStatuses"]
    ]
    return {**_unready(status, *_UNREADY), "containerStatuses": statuses}


def _unready(status: Object, *types: str) -> Object:
    conditions = [
        {**each, "status": "False", "reason": "ContainersNotReady"}
        if each["type"] in types
        else each
        for each in status["conditions"]
    ]
    return {**status, "conditions": conditions}


def _ended(status: Object, message: str, exit_code: int) -> Object:
    moments = {"startedAt": status["startTime"], "finishedAt": status["startTime"]}
    ended = {"reason": "Error", "exitCode": exit_code, "message": message, **moments}
    return {"lastState": {"terminated": ended}, "restartCount": 3}


def _crash_loop(container: str) -> Object:
    text = f"back-off 40s restarting failed container={container}"
    return {"state": {"waiting": {"reason": "CrashLoopBackOff", "message": text}}}
