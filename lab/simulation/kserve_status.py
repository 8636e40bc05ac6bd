"""The status that KServe's controller writes in Knative mode, and Knative's, from which it follows.

The rules are those of github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0. They are implemented here a second
time, independently of the reporter, so that tests can compare the two. A revision that was ready
stays ready without pods, because Knative scales it to zero.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from lab.simulation.kserve_objects import (
    FALSE,
    TRUE,
    UNKNOWN,
    Conditions,
    Said,
    components_of,
    condition_of,
    failed_end,
    last_end,
    newest_first,
    serving_container,
    status_of,
)
from lab.simulation.objects import Object, is_ready, name_of

_OF_REVISION: Final = ("ContainerHealthy", "ResourcesAvailable")
_OF_SERVICE: Final = ("ConfigurationsReady", "RoutesReady")
_GOOD: Final[Said] = (TRUE, "", "")


def revision_status(revision: Object, pods: Sequence[Object], now: str) -> Object:
    conditions = _conditions(revision, _OF_REVISION, now)
    was_ready = conditions.status("Ready") == TRUE
    healthy, available = _health(pods, was_ready=was_ready)
    conditions.put("ContainerHealthy", healthy)
    conditions.put("ResourcesAvailable", available)
    idle = (FALSE, "NoTraffic", "The target is not receiving traffic.")
    conditions.put("Active", _GOOD if pods else idle)
    conditions.sum_up(_OF_REVISION)
    return {
        "observedGeneration": revision["metadata"].get("generation", 1),
        "conditions": [*conditions],
        "actualReplicas": sum(map(is_ready, pods)),
        "desiredReplicas": len(pods),
    }


def _health(pods: Sequence[Object], *, was_ready: bool) -> tuple[Said, Said]:
    """Return ContainerHealthy and ResourcesAvailable."""
    starting = (UNKNOWN, "Deploying", "")
    if any(map(is_ready, pods)):
        return _GOOD, _GOOD
    for pod in pods:
        if ended := last_end(serving_container(pod)):
            text = f"Container failed with: {ended.get('message', '')}"
            return (FALSE, f"ExitCode{ended.get('exitCode', 0)}", text), starting
    return (_GOOD, _GOOD) if was_ready else (starting, starting)


def service_status(service: Object, revisions: Sequence[Object], now: str) -> Object:
    newest = newest_first(revisions)
    ready = [each for each in newest if _ready(each) == TRUE]
    status = status_of(service)
    status["observedGeneration"] = service["metadata"].get("generation", 1)
    if newest:
        status["latestCreatedRevisionName"] = name_of(newest[0])
    if ready:
        status["latestReadyRevisionName"] = name_of(ready[0])
        status["traffic"] = [
            _resolved(each, service, ready[0]) for each in service["spec"]["traffic"]
        ]
        status["url"] = _url(service)
        cluster = f"{name_of(service)}.{service['metadata']['namespace']}.svc.cluster.local"
        status["address"] = {"url": f"http://{cluster}"}
    conditions = _conditions(service, _OF_SERVICE, now)
    conditions.put("ConfigurationsReady", _configurations(newest))
    conditions.put("RoutesReady", _routes(service, newest, has_ready=bool(ready)))
    conditions.sum_up(_OF_SERVICE)
    return {**status, "conditions": [*conditions]}


def _configurations(newest: Sequence[Object]) -> Said:
    if not newest or _ready(newest[0]) == UNKNOWN:
        return UNKNOWN, "", ""
    if _ready(newest[0]) == TRUE:
        return _GOOD
    why = (condition_of(newest[0], "Ready") or {}).get("message", "")
    text = f'Revision "{name_of(newest[0])}" failed with message: {why}.'
    return FALSE, "RevisionFailed", text


def _routes(service: Object, newest: Sequence[Object], *, has_ready: bool) -> Said:
    if has_ready:
        return _GOOD
    configuration = f'Configuration "{name_of(service)}"'
    if newest and _ready(newest[0]) == FALSE:
        return FALSE, "RevisionMissing", f"{configuration} does not have any ready Revision."
    text = f"{configuration} is waiting for a Revision to become ready."
    return UNKNOWN, "RevisionMissing", text


def _conditions(obj: Object, parts: Sequence[str], now: str) -> Conditions:
    stored = status_of(obj).get("conditions") or ()
    return Conditions(stored, now, frozenset({"Ready", *parts}))


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


_WHOLE: Final = 100
_RESTS_ON: Final = ("PredictorReady", "IngressReady")
_LOADED: Final = ("Loaded", "UpToDate")
_PENDING: Final = ("Pending", "InProgress")
_FAILED: Final = ("FailedToLoad", "BlockedByFailedLoad")


def whole_status(
    inferenceservice: Object, services: Mapping[str, Object], pods: Sequence[Object], *, now: str
) -> Object:
    """Return the status after one pass.

    Args:
        inferenceservice: the object, with its previous status.
        services: Knative Services by component.
        pods: the pods of the predictor's latest created revision, sorted by name.
        now: RFC 3339.

    """
    stored = status_of(inferenceservice)
    components = dict(stored.get("components") or {})
    conditions = Conditions(stored.get("conditions") or (), now, frozenset({"Ready", *_RESTS_ON}))
    status = {**stored, "components": components, "deploymentMode": "Knative"}
    for component in components_of(inferenceservice):
        service = services.get(component)
        if service is not None:
            components[component] = _propagated(components.get(component) or {}, service)
            status["observedGeneration"] = status_of(service).get("observedGeneration", 0)
            _take_over(conditions, component, service)
    for type_, name in (("RoutesReady", _route), ("LatestDeploymentReady", _configuration)):
        _last_bad(conditions, type_, [*map(name, components_of(inferenceservice))])
    conditions.put("Stopped", (FALSE, "", ""))
    _ingress(inferenceservice, status, conditions)
    conditions.sum_up(_RESTS_ON)
    model = _model(status, services.get("predictor"), pods, conditions=conditions)
    return {**status, "conditions": [*conditions], "modelStatus": model}


def _propagated(before: Object, service: Object) -> Object:
    """Return a component's status after a pass: revisions, traffic, and URLs, never cleared."""
    status = status_of(service)
    created = status.get("latestCreatedRevisionName", "")
    ready = status.get("latestReadyRevisionName", "")
    traffic = status.get("traffic") or []
    rolled_out, previous = rolled(
        (before.get("latestRolledoutRevision", ""), before.get("previousRolledoutRevision", "")),
        created,
        ready,
        traffic=traffic,
    )
    told: Object = {
        "latestCreatedRevision": created,
        "latestReadyRevision": ready,
        "latestRolledoutRevision": rolled_out,
        "previousRolledoutRevision": previous,
        "traffic": traffic,
    }
    if (condition_of(service, "Ready") or {}).get("status") == TRUE:
        told |= {key: status[key] for key in ("url", "address") if key in status}
    kept = {key: before[key] for key in ("url", "address") if key in before}
    return kept | {key: each for key, each in told.items() if each}


def rolled(
    history: tuple[str, str], created: str, ready: str, *, traffic: Sequence[Object]
) -> tuple[str, str]:
    """Return the latest and the previous rolled-out revision after a pass."""
    rolled_out, previous = history
    whole = sum(each.get("percent", 0) for each in traffic if each["revisionName"] == ready)
    for each in traffic:
        percent = each.get("percent")
        if each["revisionName"] != ready or not each.get("latestRevision") or percent is None:
            continue
        if rolled_out != ready:
            if percent == _WHOLE:
                rolled_out, previous = ready, rolled_out
        elif created == ready and percent < _WHOLE and whole == _WHOLE and previous:
            rolled_out = previous
    return rolled_out, previous


def _take_over(conditions: Conditions, component: str, service: Object) -> None:
    ready = f"{component.capitalize()}Ready"
    conditions.take_over(ready, condition_of(service, "Ready"))
    conditions.take_over(_route(component), condition_of(service, "RoutesReady"))
    conditions.take_over(_configuration(component), condition_of(service, "ConfigurationsReady"))


def _route(component: str) -> str:
    return f"{component.capitalize()}RouteReady"


def _configuration(component: str) -> str:
    return f"{component.capitalize()}ConfigurationReady"


def _last_bad(conditions: Conditions, type_: str, parts: Sequence[str]) -> None:
    bad = [each for each in parts if conditions.status(each) != TRUE]
    conditions.put(
        type_, (conditions.status(bad[-1]), f"{bad[-1]} not ready", "") if bad else _GOOD
    )


def _ingress(inferenceservice: Object, status: Object, conditions: Conditions) -> None:
    """Write IngressReady: True once the component that requests reach first has a URL."""
    entry = "transformer" if "transformer" in inferenceservice["spec"] else "predictor"
    if not (status["components"].get(entry) or {}).get("url"):
        conditions.put("IngressReady", (FALSE, f"{entry.capitalize()} ingress not created", ""))
        return
    name, place = name_of(inferenceservice), inferenceservice["metadata"]["namespace"]
    conditions.put("IngressReady", _GOOD)
    status["url"] = f"http://{name}-{place}.example.com"
    status["address"] = {"url": f"http://{name}.{place}.svc.cluster.local"}


def _model(
    status: Object, service: Object | None, pods: Sequence[Object], *, conditions: Conditions
) -> Object:
    """Return the model status, from the first pod."""
    before = dict(status.get("modelStatus") or {})
    if service is None:
        return before
    predictor = status["components"].get("predictor") or {}
    newest = predictor.get("latestCreatedRevision") == predictor.get("latestReadyRevision")
    look, failure = _PENDING, None
    if not pods:
        failed = any(each["status"] == FALSE for each in status_of(service).get("conditions", ()))
        look = _FAILED if failed else _PENDING
    elif conditions.status("Ready") == TRUE and newest:
        look = _LOADED
    elif (failure := failed_end(serving_container(pods[0]))) is not None:
        look = _FAILED
    target, transition = look
    states = before.get("states") or {}
    active = "Loaded" if target == "Loaded" else states.get("activeModelState", "")
    ready = sum(map(is_ready, pods))
    told: Object = {
        "transitionStatus": transition,
        "states": {"activeModelState": active, "targetModelState": target},
        "copies": {"failedCopies": 0, **({"totalCopies": ready} if ready else {})},
    }
    if failure is not None:
        told["lastFailureInfo"] = {
            "reason": "ModelLoadFailed",
            "message": failure.get("message", ""),
            "exitCode": failure.get("exitCode", 0),
        }
    return {**before, **told}
