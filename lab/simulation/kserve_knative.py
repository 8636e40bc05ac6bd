"""The status that Knative writes: of a revision from its pods, of a Service from its revisions.

A revision that was ready stays ready without pods, because Knative scales it to zero.
"""

from collections.abc import Sequence
from typing import Final

from lab.simulation.kserve_objects import Object, name_of, newest_first, status_of
from lab.simulation.kserve_signs import (
    FALSE,
    TRUE,
    UNKNOWN,
    Conditions,
    Said,
    condition_of,
    is_ready,
    last_end,
    serving_container,
    waiting,
)

_OF_REVISION: Final = ("ContainerHealthy", "ResourcesAvailable")
_OF_SERVICE: Final = ("ConfigurationsReady", "RoutesReady")
_PULL: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName"})


def revision_status(revision: Object, pods: Sequence[Object], now: str) -> Object:
    """Return the status of a revision with these pods."""
    conditions = _conditions(revision, _OF_REVISION, now)
    was_ready = conditions.status("Ready") == TRUE
    healthy, available = _health(pods, was_ready=was_ready)
    conditions.put_said("ContainerHealthy", healthy)
    conditions.put_said("ResourcesAvailable", available)
    active = (
        (TRUE, "", "") if pods else (FALSE, "NoTraffic", "The target is not receiving traffic.")
    )
    conditions.put_said("Active", active)
    conditions.sum_up(_OF_REVISION)
    return {
        "observedGeneration": revision["metadata"].get("generation", 1),
        "conditions": [*conditions],
        "actualReplicas": sum(map(is_ready, pods)),
        "desiredReplicas": len(pods),
    }


def _health(pods: Sequence[Object], *, was_ready: bool) -> tuple[Said, Said]:
    """Return ContainerHealthy and ResourcesAvailable."""
    good, starting = (TRUE, "", ""), (UNKNOWN, "Deploying", "")
    if any(map(is_ready, pods)):
        return good, good
    for pod in pods:
        container = serving_container(pod)
        ended = last_end(container) if container else {}
        wait = waiting(container) if container else {}
        if ended:
            text = f"Container failed with: {ended.get('message', '')}"
            return (FALSE, f"ExitCode{ended.get('exitCode', 0)}", text), starting
        if wait.get("reason") in _PULL:
            return starting, (FALSE, wait["reason"], wait.get("message", ""))
    return (good, good) if was_ready else (starting, starting)


def service_status(service: Object, revisions: Sequence[Object], now: str) -> Object:
    """Return the status of a Knative Service with these revisions."""
    newest = newest_first(revisions)
    ready = [each for each in newest if _ready(each) == TRUE]
    status = status_of(service)
    status["observedGeneration"] = service["metadata"].get("generation", 1)
    if newest:
        status["latestCreatedRevisionName"] = name_of(newest[0])
    if ready:
        status["latestReadyRevisionName"] = name_of(ready[0])
        status["traffic"] = [_resolved(each, service, ready[0]) for each in _asked(service)]
        status["url"] = _url(service)
        cluster = f"{name_of(service)}.{service['metadata']['namespace']}.svc.cluster.local"
        status["address"] = {"url": f"http://{cluster}"}
    conditions = _conditions(service, _OF_SERVICE, now)
    conditions.put_said("ConfigurationsReady", _configurations(newest))
    conditions.put_said("RoutesReady", _routes(service, newest, has_ready=bool(ready)))
    conditions.sum_up(_OF_SERVICE)
    return {**status, "conditions": [*conditions]}


def _configurations(newest: Sequence[Object]) -> Said:
    if not newest or _ready(newest[0]) == UNKNOWN:
        return UNKNOWN, "", ""
    if _ready(newest[0]) == TRUE:
        return TRUE, "", ""
    why = (condition_of(newest[0], "Ready") or {}).get("message", "")
    text = f'Revision "{name_of(newest[0])}" failed with message: {why}.'
    return FALSE, "RevisionFailed", text


def _routes(service: Object, newest: Sequence[Object], *, has_ready: bool) -> Said:
    if has_ready:
        return TRUE, "", ""
    configuration = f'Configuration "{name_of(service)}"'
    if newest and _ready(newest[0]) == FALSE:
        return FALSE, "RevisionMissing", f"{configuration} does not have any ready Revision."
    text = f"{configuration} is waiting for a Revision to become ready."
    return UNKNOWN, "RevisionMissing", text


def _conditions(obj: Object, parts: Sequence[str], now: str) -> Conditions:
    stored = status_of(obj).get("conditions") or ()
    return Conditions(stored, now, frozenset({"Ready", *parts}))


def _asked(service: Object) -> list[Object]:
    return list(service["spec"]["traffic"])


def _resolved(entry: Object, service: Object, ready: Object) -> Object:
    tag = entry.get("tag")
    return {
        **entry,
        "revisionName": entry.get("revisionName") or name_of(ready),
        **({"url": _url(service, f"{tag}-")} if tag else {}),
    }


def _url(service: Object, prefix: str = "") -> str:
    return f"http://{prefix}{name_of(service)}.{service['metadata']['namespace']}.example.com"


def _ready(revision: Object) -> str:
    return str((condition_of(revision, "Ready") or {}).get("status", UNKNOWN))
