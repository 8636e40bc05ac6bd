"""The status that KServe's controller writes in Knative mode.

The rules are those of github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0. They are implemented here a second
time, independently of the reporter, so that tests can compare the two.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from lab.simulation.kserve_objects import Object, components_of, name_of, status_of
from lab.simulation.kserve_signs import (
    FALSE,
    TRUE,
    UNKNOWN,
    Conditions,
    condition_of,
    failed_end,
    is_ready,
    is_running,
    last_end,
    serving_container,
    storage_initializer,
)

_WHOLE: Final = 100
_RESTS_ON: Final = ("PredictorReady", "IngressReady")
_ROUTE: Final = {"explainer": "ExplainerRoutesReady"}
_LOADED: Final = ("Loaded", "UpToDate")
_PENDING: Final = ("Pending", "InProgress")
_LOADING: Final = ("Loading", "InProgress")
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
        _last_bad(conditions, type_, [name(each) for each in components_of(inferenceservice)])
    conditions.put("Stopped", FALSE)
    _ingress(inferenceservice, status, conditions)
    conditions.sum_up(_RESTS_ON)
    model = _model(status, services.get("predictor"), pods, conditions=conditions)
    if model is None:
        return stored
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
    kept: Object = {key: before[key] for key in ("url", "address") if key in before}
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
    return _ROUTE.get(component, f"{component.capitalize()}RouteReady")


def _configuration(component: str) -> str:
    return f"{component.capitalize()}ConfigurationReady"


def _last_bad(conditions: Conditions, type_: str, parts: Sequence[str]) -> None:
    bad = [each for each in parts if conditions.status(each) != TRUE]
    if not bad:
        conditions.put(type_, TRUE)
        return
    status = FALSE if conditions.status(bad[-1]) == FALSE else UNKNOWN
    conditions.put(type_, status, f"{bad[-1]} not ready")


def _ingress(inferenceservice: Object, status: Object, conditions: Conditions) -> None:
    """Write IngressReady: True once the component that requests reach first has a URL."""
    entry = "transformer" if "transformer" in inferenceservice["spec"] else "predictor"
    if not (status["components"].get(entry) or {}).get("url"):
        conditions.put("IngressReady", FALSE, f"{entry.capitalize()} ingress not created")
        return
    name, place = name_of(inferenceservice), inferenceservice["metadata"]["namespace"]
    conditions.put("IngressReady", TRUE)
    status["url"] = f"http://{name}-{place}.example.com"
    status["address"] = {"url": f"http://{name}.{place}.svc.cluster.local"}


def _model(
    status: Object, service: Object | None, pods: Sequence[Object], *, conditions: Conditions
) -> Object | None:
    """Return the model status from the first pod; None if the pass is not stored at all."""
    before = dict(status.get("modelStatus") or {})
    if service is None:
        return before
    look, failure = _PENDING, None
    if not pods:
        failed = any(each["status"] == FALSE for each in status_of(service).get("conditions", ()))
        look = _FAILED if failed else _PENDING
    else:
        storage, serving = storage_initializer(pods[0]), serving_container(pods[0])
        predictor = status["components"].get("predictor") or {}
        newest = predictor.get("latestCreatedRevision") == predictor.get("latestReadyRevision")
        if storage and is_running(storage):
            if last_end(storage):
                return None
            look = _LOADING
        elif storage and (failure := failed_end(storage)) is not None:
            look = _FAILED
        elif conditions.status("Ready") == TRUE and newest:
            look = _LOADED
        elif serving and (failure := failed_end(serving)) is not None:
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
