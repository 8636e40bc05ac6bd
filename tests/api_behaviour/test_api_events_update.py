"""How Events change, and their two views (rows of 1.1, 1.3 and 1.5)."""

import pytest

from tests.api_behaviour.api_client import (
    APPLY,
    CORE_EVENTS,
    JSON_PATCH,
    MERGE,
    MICRO,
    NEW_EVENTS,
    STRATEGIC,
    Api,
    new_event,
    old_event,
    strict_event,
    unique,
)

LATER = "2026-11-20T11:00:00.000000Z"


@pytest.fixture(name="core")
def _core(namespace: str) -> str:
    return CORE_EVENTS.format(namespace)


@pytest.fixture(name="new")
def _new(namespace: str) -> str:
    return NEW_EVENTS.format(namespace)


async def test_one_object_two_views(api: Api, core: str, new: str, *, namespace: str):
    """Both views show the same name, uid and version."""
    made = await api.made(core, old_event("e", namespace, count=2, message="m"))
    other = (await api.get(f"{new}/e")).json
    assert {**made["metadata"], "managedFields": 0} == {**other["metadata"], "managedFields": 0}
    assert (other["apiVersion"], other["kind"]) == ("events.k8s.io/v1", "Event")


async def test_old_style_in_the_new_view(api: Api, core: str, new: str, *, namespace: str):
    """Nothing is computed: an old Event shows deprecated fields and no eventTime."""
    event = old_event(
        "e",
        namespace,
        count=2,
        message="m",
        reason="R",
        type="Warning",
        source={"component": "c", "host": "h"},
        firstTimestamp="2026-11-20T10:00:00Z",
        lastTimestamp="2026-11-20T10:05:00Z",
    )
    await api.made(core, event)
    view = (await api.get(f"{new}/e")).json
    assert view["eventTime"] is None
    assert view["regarding"] == event["involvedObject"]
    assert (view["note"], view["reason"], view["type"]) == ("m", "R", "Warning")
    assert view["deprecatedCount"] == 2
    assert view["deprecatedSource"] == {"component": "c", "host": "h"}
    assert view["deprecatedFirstTimestamp"] == "2026-11-20T10:00:00Z"
    assert view["deprecatedLastTimestamp"] == "2026-11-20T10:05:00Z"
    assert {"message", "involvedObject", "source", "count", "firstTimestamp"}.isdisjoint(view)


async def test_new_style_in_the_core_view(api: Api, core: str, new: str):
    """An Event of the new API shows empty legacy fields in core, and no count."""
    await api.made(new, strict_event("e", related={"kind": "Node", "name": "n"}))
    view = (await api.get(f"{core}/e")).json
    assert view["source"] == {}
    assert (view["firstTimestamp"], view["lastTimestamp"]) == (None, None)
    assert "count" not in view
    assert view["reportingComponent"] == "checks.example.com/agent"
    assert (view["eventTime"], view["message"]) == (MICRO, "all is well")
    assert view["related"] == {"kind": "Node", "name": "n"}


@pytest.mark.parametrize(
    "change",
    [
        {"message": "new"},
        {"count": 7},
        {"type": "Warning"},
        {"reason": "Other"},
        {"action": "Other"},
        {"eventTime": LATER},
        {"lastTimestamp": "2026-11-20T11:00:00Z"},
        {"reportingInstance": "agent-1"},
        {"source": {"component": "c"}},
        {"involvedObject": {"name": "other", "namespace": "x"}},
        {"series": {"count": 1, "lastObservedTime": LATER}},
        {"metadata": {"labels": {"a": "b"}}},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_everything_is_mutable_in_core(api: Api, core: str, change):
    """Through core/v1 every field can be changed."""
    reference = {"kind": "Pod", "name": "p", "namespace": "x"}
    await api.made(core, new_event("e", involvedObject=reference))
    answer = await api.patch(f"{core}/e", change)
    assert answer.status == 200, answer.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"note": "new"}, "message"),
        ({"reason": "Other"}, "reason"),
        ({"type": "Warning"}, "type"),
        ({"eventTime": LATER}, "eventTime"),
        ({"action": "Other"}, "action"),
        ({"related": {"kind": "Node", "name": "n"}}, "related"),
        ({"regarding": {"name": "other"}}, "involvedObject"),
        ({"reportingController": "other"}, "reportingController"),
        ({"reportingInstance": "agent-1"}, "reportingInstance"),
        ({"deprecatedCount": 2}, "count"),
        ({"deprecatedSource": {"component": "c"}}, "source"),
        ({"deprecatedFirstTimestamp": "2026-11-20T10:00:00Z"}, "firstTimestamp"),
        ({"deprecatedLastTimestamp": "2026-11-20T10:00:00Z"}, "lastTimestamp"),
        ({"series": {"count": 1, "lastObservedTime": LATER}}, "series.count"),
        ({"series": {"count": 2, "lastObservedTime": LATER}}, None),
        ({"metadata": {"labels": {"a": "b"}}}, None),
        ({"metadata": {"annotations": {"a": "b"}}}, None),
    ],
)
async def test_immutable_in_the_new_view(api: Api, new: str, change, *, field):
    """Through events.k8s.io/v1 only series and metadata change (since about 1.24)."""
    await api.made(new, strict_event("e"))
    answer = await api.patch(f"{new}/e", change)
    assert (422 if field else 200) == answer.status, answer.text
    if field:
        assert {cause["field"] for cause in answer.json["details"]["causes"]} == {field}


async def test_basic_rules_hold_on_update(api: Api, core: str):
    """An update is judged by the basic rules of its new state."""
    await api.made(core, new_event("e", involvedObject={"name": "p", "namespace": "x"}))
    answer = await api.patch(f"{core}/e", {"message": "x" * 1025})
    assert (answer.status, answer.reason) == (422, "Invalid")


async def test_setting_event_time_triggers_all_rules(api: Api, core: str, namespace: str):
    """Giving an old Event an eventTime asks for everything a new one needs."""
    await api.made(core, old_event("e", namespace))
    answer = await api.patch(f"{core}/e", {"eventTime": MICRO})
    fields = [cause["field"] for cause in answer.json["details"]["causes"]]
    assert answer.status == 422
    assert {"reportingInstance", "action", "reason"} < set(fields)
    assert len(fields) == 6


async def test_removing_event_time_triggers_the_old_rule(api: Api, namespace: str):
    """A foreign subject is only allowed while eventTime stays."""
    path, name = CORE_EVENTS.format("kube-system"), unique("e")
    await api.made(path, new_event(name, involvedObject={"name": "p", "namespace": namespace}))
    answer = await api.patch(f"{path}/{name}", {"eventTime": None})
    assert answer.status == 422
    assert answer.json["details"]["causes"][0]["field"] == "involvedObject.namespace"
    await api.delete(f"{path}/{name}")


async def test_put_without_version(api: Api, core: str, namespace: str):
    """An Event can be replaced without a resourceVersion; with a stale one it is a conflict."""
    made = await api.made(core, old_event("e", namespace))
    put = await api.put(f"{core}/e", old_event("e", namespace, message="2"))
    assert (put.status, put.json["message"]) == (200, "2")
    assert put.json["metadata"]["uid"] == made["metadata"]["uid"]
    stale = old_event("e", namespace, message="3")
    stale["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    answer = await api.put(f"{core}/e", stale)
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert answer.json["message"].startswith('Operation cannot be fulfilled on events "e": the obj')


async def test_put_creates(api: Api, core: str, namespace: str):
    """A PUT to a free name makes the Event."""
    answer = await api.put(f"{core}/e", old_event("e", namespace))
    assert (answer.status, answer.json["metadata"]["name"]) == (201, "e")


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (MERGE, {"count": 5}),
        (STRATEGIC, {"count": 5}),
        (JSON_PATCH, [{"op": "replace", "path": "/count", "value": 5}]),
    ],
)
async def test_patch_types(api: Api, core: str, namespace: str, *, kind: str, patch):
    """Events take merge, strategic and JSON patches."""
    await api.made(core, old_event("e", namespace, count=4))
    answer = await api.patch(f"{core}/e", patch, kind)
    assert (answer.status, answer.json["count"]) == (200, 5)


async def test_apply_event(api: Api, core: str, namespace: str):
    """Events take server-side apply, which creates them too."""
    event = old_event("e", namespace, count=1)
    answer = await api.patch(f"{core}/e", event, APPLY, fieldManager="m")
    assert (answer.status, answer.json["count"]) == (201, 1)


@pytest.mark.parametrize("version", ["stale", "none"])
async def test_version_in_a_patch(api: Api, core: str, namespace: str, *, version: str):
    """A patch needs no version, but one that it carries has to be the present one."""
    made = await api.made(core, old_event("e", namespace, count=1))
    await api.patch(f"{core}/e", {"count": 2})
    metadata = {"resourceVersion": made["metadata"]["resourceVersion"]}
    patch = {"count": 3, **({"metadata": metadata} if version == "stale" else {})}
    answer = await api.patch(f"{core}/e", patch)
    assert (409 if version == "stale" else 200) == answer.status


async def test_no_op_is_not_written(api: Api, core: str, namespace: str):
    """A patch or PUT that changes nothing leaves the version as it is."""
    event = old_event("e", namespace, count=1)
    made = await api.made(core, event)
    patched = await api.patch(f"{core}/e", {"count": 1})
    replaced = await api.put(f"{core}/e", event)
    versions = {item.json["metadata"]["resourceVersion"] for item in (patched, replaced)}
    assert {made["metadata"]["resourceVersion"]} == versions


async def test_patch_of_a_missing_event(api: Api, core: str):
    """A patch, other than an apply, does not create."""
    answer = await api.patch(f"{core}/gone", {"count": 1})
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.json["details"] == {"name": "gone", "kind": "events"}
