"""Selecting and printing Events (rows of 1.6 and 1.7)."""

import datetime as dt

import pytest

from tests.api_behaviour.api_client import (
    CORE_EVENTS,
    NEW_EVENTS,
    TABLE,
    Api,
    new_event,
    old_event,
)


@pytest.fixture(name="core")
async def _core(api: Api, namespace: str) -> str:
    path = CORE_EVENTS.format(namespace)
    reference = {
        "kind": "Pod",
        "namespace": namespace,
        "name": "web-0",
        "uid": "u-1",
        "apiVersion": "v1",
        "resourceVersion": "7",
        "fieldPath": "spec.containers{main}",
    }
    old = old_event("old", namespace, reason="Old", type="Warning", source={"component": "kubelet"})
    labelled = new_event("new", involvedObject=reference)
    labelled["metadata"]["labels"] = {"state": "firing"}
    await api.made(path, old)
    await api.made(path, labelled)
    return path


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=new", ["new"]),
        ("metadata.name==new", ["new"]),
        ("metadata.name!=new", ["old"]),
        ("metadata.namespace=default", []),
        ("involvedObject.kind=Pod", ["new", "old"]),
        ("involvedObject.name=web-0", ["new"]),
        ("involvedObject.uid=u-1", ["new"]),
        ("involvedObject.apiVersion=v1", ["new"]),
        ("involvedObject.resourceVersion=7", ["new"]),
        ("involvedObject.fieldPath=spec.containers{main}", ["new"]),
        ("involvedObject.fieldPath=", ["old"]),
        ("reason=Old", ["old"]),
        ("type=Warning", ["old"]),
        ("type!=Warning,reason=Checked", ["new"]),
        ("type=Warning,reason=Checked", []),
        ("reportingComponent=checks.example.com/agent", ["new"]),
        ("source=kubelet", ["old"]),
        ("source=checks.example.com/agent", ["new"]),
    ],
)
async def test_core_field_selectors(api: Api, core: str, selector: str, *, names: list[str]):
    """The fields of core/v1 select, source stands in for the reporting component."""
    answer = await api.get(core, fieldSelector=selector)
    assert names == [item["metadata"]["name"] for item in answer.json["items"]]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("regarding.kind=Pod", ["new", "old"]),
        ("regarding.name=web-0", ["new"]),
        ("regarding.uid=u-1", ["new"]),
        ("reportingController=checks.example.com/agent", ["new"]),
        ("reason=Old,type=Warning", ["old"]),
    ],
)
async def test_new_field_selectors(api: Api, core: str, namespace: str, *, selector: str, names):
    """The fields of events.k8s.io/v1 select under their own names."""
    answer = await api.get(NEW_EVENTS.format(namespace), fieldSelector=selector)
    assert names == [item["metadata"]["name"] for item in answer.json["items"]]


@pytest.mark.parametrize(
    ("view", "field"),
    [
        (CORE_EVENTS, "action"),
        (CORE_EVENTS, "reportingInstance"),
        (CORE_EVENTS, "count"),
        (CORE_EVENTS, "message"),
        (CORE_EVENTS, "regarding.kind"),
        (CORE_EVENTS, "reportingController"),
        (NEW_EVENTS, "involvedObject.kind"),
        (NEW_EVENTS, "source"),
        (NEW_EVENTS, "reportingComponent"),
    ],
)
async def test_unsupported_fields(api: Api, namespace: str, view: str, *, field: str):
    """Other fields, and those of the other view, are refused, for a watch too."""
    for options in ({}, {"watch": "true"}):
        answer = await api.get(view.format(namespace), fieldSelector=f"{field}=x", **options)
        assert (answer.status, answer.reason) == (400, "BadRequest"), options
        assert f"field label not supported: {field}" in answer.json["message"]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("state=firing", ["new"]),
        ("state==firing", ["new"]),
        ("state!=firing", ["old"]),
        ("state", ["new"]),
        ("!state", ["old"]),
        ("state in (firing, over)", ["new"]),
        ("state notin (firing)", ["old"]),
        ("state,state!=over", ["new"]),
    ],
)
async def test_label_selectors(api: Api, core: str, selector: str, *, names: list[str]):
    """Labels select in all the ways they do elsewhere."""
    answer = await api.get(core, labelSelector=selector)
    assert names == [item["metadata"]["name"] for item in answer.json["items"]]


def ago(**age: int) -> str:
    """A timestamp in the past."""
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(**age)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def ago_micro(**age: int) -> str:
    """The same as a MicroTime."""
    return ago(**age).replace("Z", ".000000Z")


@pytest.mark.parametrize(
    ("fields", "last", "first", "count"),
    [
        ({}, "<unknown>", "<unknown>", 1),
        ({"firstTimestamp": ago(hours=9)}, "9h", "9h", 1),
        (
            {"firstTimestamp": ago(hours=60), "lastTimestamp": ago(hours=30), "count": 4},
            "30h",
            "2d12h",
            4,
        ),
        ({"lastTimestamp": ago(days=9)}, "9d", "<unknown>", 1),
        (
            {
                "series": {"count": 6, "lastObservedTime": ago_micro(days=10)},
                "lastTimestamp": ago(days=20),
                "count": 3,
            },
            "10d",
            "<unknown>",
            6,
        ),
    ],
)
async def test_table_times(api: Api, namespace: str, fields, *, last: str, first: str, count: int):
    """Series win over timestamps, those over eventTime; a count of none prints as one."""
    path = CORE_EVENTS.format(namespace)
    await api.made(path, old_event("e", namespace, **fields))
    (row,) = (await api.get(path, accept=TABLE)).json["rows"]
    cells = row["cells"]
    assert (cells[0], cells[7], cells[8]) == (last, first, count)


@pytest.mark.parametrize(
    ("fields", "column", "cell"),
    [
        ({"involvedObject": {"kind": "Pod", "name": "p", "namespace": "x"}}, 3, "pod/p"),
        ({"involvedObject": {"kind": "Pod", "namespace": "x"}}, 3, "pod"),
        ({"source": {"component": "c", "host": "h"}}, 5, "c, h"),
        ({}, 5, "checks.example.com/agent, agent-0"),
        ({"source": {"component": "c"}}, 5, "c, agent-0"),
        ({"message": "  padded\n"}, 6, "padded"),
    ],
)
async def test_table_cells(api: Api, namespace: str, fields, *, column: int, cell: str):
    """Object, source and message are put together as kubectl shows them."""
    path = CORE_EVENTS.format(namespace)
    reference = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "x"}}
    await api.made(path, new_event("e", **{**reference, **fields}))
    (row,) = (await api.get(path, accept=TABLE)).json["rows"]
    assert cell == row["cells"][column]
