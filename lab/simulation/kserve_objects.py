"""Objects of an InferenceService in Knative mode: what KServe and Knative create, and what they read.

There are no Configurations, Routes and Deployments of revisions: a Knative Service owns its
revisions, and a revision its pods.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Final, TypeAlias

from lab.simulation.objects import Object, name_of, owner_reference

NAME: Final = "serving.kserve.io/inferenceservice"
COMPONENT: Final = "component"
SERVICE: Final = "serving.knative.dev/service"
REVISION: Final = "serving.knative.dev/revision"
"""Labels."""

COMPONENTS: Final = ("predictor", "transformer")
"""In the order in which KServe reconciles them."""

_SERVING_VERSION: Final = "serving.knative.dev/v1"
_KSERVE_CONTAINER: Final = "kserve-container"
_RUNTIME_IMAGE: Final = "vllm/vllm-openai:v0.14.0"


def status_of(obj: Object | None) -> Object:
    return dict((obj or {}).get("status") or {})


def components_of(inferenceservice: Object) -> list[str]:
    return [each for each in COMPONENTS if inferenceservice["spec"].get(each)]


def service_name(inferenceservice: Object, component: str) -> str:
    return f"{name_of(inferenceservice)}-{component}"


def _made(kind: str, name: str, owner: Object, *, labels: Object, spec: Object) -> Object:
    return {
        "apiVersion": "v1" if kind == "Pod" else _SERVING_VERSION,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": spec,
    }


def knative_service(inferenceservice: Object, component: str) -> Object:
    """Return the Knative Service that KServe wants for a component."""
    labels = {NAME: name_of(inferenceservice), COMPONENT: component}
    template = {
        "metadata": {"labels": labels},
        "spec": _template(inferenceservice["spec"][component]),
    }
    spec = {"template": template, "traffic": _asked_traffic(inferenceservice, component)}
    name = service_name(inferenceservice, component)
    return _made("Service", name, inferenceservice, labels=labels, spec=spec)


def revision(service: Object, number: int) -> Object:
    template = deepcopy(service["spec"]["template"])
    labels = {**template["metadata"]["labels"], SERVICE: name_of(service)}
    name = f"{name_of(service)}-{number:05}"
    return _made("Revision", name, service, labels=labels, spec=template["spec"])


def is_of_template(found: Object, service: Object) -> bool:
    """True if a revision was created from the current template."""
    return bool(found["spec"] == service["spec"]["template"]["spec"])


def pod(of: Object) -> Object:
    """Return the pod of a revision, with the proxy that a webhook adds."""
    name = name_of(of)
    spec = deepcopy(of["spec"])
    spec["containers"].append({"name": "queue-proxy", "image": "knative/queue:v1.19.0"})
    labels = {**of["metadata"]["labels"], REVISION: name, "app": name}
    return _made("Pod", f"{name}-deployment-0", of, labels=labels, spec=spec)


def newest_first(revisions: Sequence[Object]) -> list[Object]:
    return sorted(revisions, key=name_of, reverse=True)


def _template(spec: Object) -> Object:
    model = spec.get("model") or {}
    container = (spec.get("containers") or [{}])[0]
    serving = {
        "name": _KSERVE_CONTAINER,
        "image": container.get("image") or _RUNTIME_IMAGE,
        "args": [model["storageUri"]] if model.get("storageUri") else [],
        "ports": [{"containerPort": 8080}],
    }
    return {"containers": [serving]}


def _asked_traffic(inferenceservice: Object, component: str) -> list[Object]:
    percent = inferenceservice["spec"][component].get("canaryTrafficPercent")
    stored = status_of(inferenceservice).get("components") or {}
    rolled_out = (stored.get(component) or {}).get("latestRolledoutRevision")
    if percent is None or percent == 100 or not rolled_out:  # noqa: PLR2004 - the whole
        return [{"latestRevision": True, "percent": 100}]
    rest = {"latestRevision": False, "percent": 100 - percent, "tag": "prev"}
    return [{"latestRevision": True, "percent": percent}, {"revisionName": rolled_out, **rest}]


TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"


def serving_container(pod: Object) -> Object:
    """Return the status of the container that serves, or an empty one."""
    statuses = status_of(pod).get("containerStatuses") or ()
    return next((each for each in statuses if each["name"] == _KSERVE_CONTAINER), {})


def last_end(container: Object) -> Object:
    return dict((container.get("lastState") or {}).get("terminated") or {})


def failed_end(container: Object) -> Object | None:
    """Return the last end of a container that crash-loops, or None."""
    waiting = (container.get("state") or {}).get("waiting") or {}
    return last_end(container) if waiting.get("reason") == "CrashLoopBackOff" else None


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

    def put(self, type_: str, said: Said) -> None:
        """Write a condition; its time changes if any other field does."""
        status, reason, message = said
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
            self.put(type_, _said(condition))

    def sum_up(self, parts: Sequence[str]) -> None:
        """Derive Ready from its parts: the first False one, else the first Unknown one."""
        for status in (FALSE, UNKNOWN):
            bad = next((each for each in parts if self.status(each) == status), None)
            if bad is not None:
                self.put("Ready", _said({"status": status, **self._found.get(bad, {})}))
                return
        self.put("Ready", (TRUE, "", ""))

    def __iter__(self) -> Iterator[Object]:
        return (self._found[type_] for type_ in sorted(self._found))


def _said(condition: Object) -> Said:
    return condition["status"], condition.get("reason", ""), condition.get("message", "")


def condition_of(obj: Object | None, type_: str) -> Object | None:
    conditions = status_of(obj).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), None)


Fate: TypeAlias = Callable[[Object], Object]
"""Maps the status of a healthy run to the pod's status."""


def runs(status: Object) -> Object:
    return status


def load_fails(message: str) -> Fate:
    """Let the serving container end in an error again and again."""

    def fate(status: Object) -> Object:
        moments = {"startedAt": status["startTime"], "finishedAt": status["startTime"]}
        ended = {"reason": "Error", "exitCode": 1, "message": message, **moments}
        text = f"back-off 40s restarting failed container={_KSERVE_CONTAINER}"
        crashing = {
            "ready": False,
            "started": False,
            "lastState": {"terminated": ended},
            "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": text}},
        }
        return {
            **status,
            "containerStatuses": [
                each | (crashing if each["name"] == _KSERVE_CONTAINER else {})
                for each in status["containerStatuses"]
            ],
            "conditions": [
                each | (_UNREADY if each["type"] in {"Ready", "ContainersReady"} else {})
                for each in status["conditions"]
            ],
        }

    return fate


_UNREADY: Final = {"status": "False", "reason": "ContainersNotReady"}
