"""Which Events the server takes, through which view (rows of 1.2 and 1.4)."""

import pytest

from tests.api_behaviour.api_client import (
    CORE_EVENTS,
    MICRO,
    NEW_EVENTS,
    Api,
    new_event,
    old_event,
    strict_event,
    unique,
)


def fields_of(answer) -> set[str]:
    """The fields that a 422 names."""
    return {cause["field"] for cause in answer.json["details"]["causes"]}


@pytest.mark.parametrize(
    ("home", "subject", "code"),
    [
        ("own", "own", 201),
        ("own", "kube-system", 422),
        ("kube-system", "own", 422),
        ("own", "", 422),
        ("kube-system", "", 422),
        ("default", "", 201),
    ],
)
async def test_old_style_namespace_rule(api: Api, namespace: str, home, *, subject, code):
    """Without eventTime an Event lives where its subject does, or in default for no namespace."""
    places = {"own": namespace}
    home, subject = places.get(home, home), places.get(subject, subject)
    event = old_event(unique("e"), subject)
    answer = await api.post(CORE_EVENTS.format(home), event)
    assert code == answer.status, answer.text
    if code == 422:
        assert fields_of(answer) == {"involvedObject.namespace"}
        assert "does not match event.namespace" in answer.json["message"]
    await api.delete(CORE_EVENTS.format(home) + "/" + event["metadata"]["name"])


@pytest.mark.parametrize(
    ("home", "subject", "code"),
    [
        ("own", "own", 201),
        ("own", "anywhere", 201),
        ("kube-system", "own", 201),
        ("own", "", 422),
        ("kube-system", "", 201),
        ("default", "", 201),
    ],
)
async def test_new_style_namespace_rule(api: Api, namespace: str, home, *, subject, code):
    """With eventTime only a subject without namespace is bound: to default and kube-system."""
    places = {"own": namespace}
    home, subject = places.get(home, home), places.get(subject, subject)
    reference = {"kind": "Pod", "name": "p", **({"namespace": subject} if subject else {})}
    event = new_event(unique("e"), involvedObject=reference)
    answer = await api.post(CORE_EVENTS.format(home), event)
    assert code == answer.status, answer.text
    if code == 422:
        assert fields_of(answer) == {"involvedObject.namespace"}
    await api.delete(CORE_EVENTS.format(home) + "/" + event["metadata"]["name"])


@pytest.mark.parametrize(
    ("controller", "valid"),
    [
        ("", False),
        ("agg", True),
        ("Agg_1.x", True),
        ("example.com/agg", True),
        ("example.com/a/b", False),
        ("EXAMPLE.com/agg", False),
        ("agg-", False),
        ("a" * 63, True),
        ("a" * 64, False),
        ("two words", False),
    ],
)
async def test_reporting_component_syntax(api: Api, namespace, controller, *, valid):
    """The reporting component is a label key, but only once eventTime is set."""
    for event_time in (None, MICRO):
        event = new_event(
            unique("e"),
            involvedObject={"kind": "Pod", "namespace": namespace, "name": "p"},
            reportingComponent=controller,
            eventTime=event_time,
        )
        answer = await api.post(CORE_EVENTS.format(namespace), event)
        assert (201 if valid or event_time is None else 422) == answer.status, answer.text
        if answer.status == 422:
            assert fields_of(answer) <= {"reportingComponent", "reportingController"}


@pytest.mark.parametrize("field", ["reportingInstance", "action", "reason"])
async def test_required_and_bounded_fields(api: Api, namespace: str, field):
    """Instance, action and reason are required and count at most 128 bytes."""

    async def with_value(value: str):
        reference = {"kind": "Pod", "namespace": namespace, "name": "p"}
        event = new_event(unique("e"), involvedObject=reference, **{field: value})
        return await api.post(CORE_EVENTS.format(namespace), event)

    assert (await with_value("x" * 128)).status == 201
    too_long = "can have at most 128 characters"
    for value, says in (("", "Required value"), ("x" * 129, too_long), ("€" * 43, too_long)):
        answer = await with_value(value)
        assert (answer.status, fields_of(answer)) == (422, {field})
        assert says in answer.json["message"]


@pytest.mark.parametrize(
    ("message", "code"),
    [("", 201), ("x" * 1024, 201), ("x" * 1025, 422), ("€" * 341, 201), ("€" * 342, 422)],
    ids=["empty", "limit", "over", "limit in bytes", "over in bytes"],
)
async def test_new_style_message_is_bounded(api: Api, namespace: str, message, *, code):
    """With eventTime a message has at most 1024 bytes, characters do not count."""
    reference = {"kind": "Pod", "namespace": namespace, "name": "p"}
    event = new_event(unique("e"), involvedObject=reference, message=message)
    answer = await api.post(CORE_EVENTS.format(namespace), event)
    assert code == answer.status
    if code == 422:
        assert "can have at most 1024 characters" in answer.json["message"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, None),
        ({"type": "Foo"}, "type"),
        ({"type": ""}, "type"),
        ({"series": {"count": 1, "lastObservedTime": MICRO}}, "series.count"),
        ({"series": {"count": 2}}, "series.lastObservedTime"),
        ({"series": {"count": 2, "lastObservedTime": MICRO}}, None),
        ({"deprecatedCount": 2}, "count"),
        ({"deprecatedFirstTimestamp": "2026-11-20T10:00:00Z"}, "firstTimestamp"),
        ({"deprecatedLastTimestamp": "2026-11-20T10:00:00Z"}, "lastTimestamp"),
        ({"deprecatedSource": {"component": "c"}}, "source"),
        ({"note": "x" * 1025}, "message"),
        ({"reportingController": ""}, "reportingController"),
    ],
)
async def test_strict_layer(api: Api, namespace: str, changes, *, field):
    """events.k8s.io/v1 adds rules, and names internal fields in what it says."""
    answer = await api.post(NEW_EVENTS.format(namespace), strict_event(unique("e"), **changes))
    assert (422 if field else 201) == answer.status, answer.text
    if field:
        assert fields_of(answer) == {field}


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-20T10:00:00Z",
        "2026-11-20T10:00:00.123Z",
        "2026-11-20T10:00:00.123456",
        "2026-11-20T10:00:00.1234567Z",
        "yesterday",
    ],
)
async def test_micro_time_refused(api: Api, namespace: str, time: str):
    """A MicroTime without exactly six digits and a zone is a 400 of the decoder."""
    for fields in ({"eventTime": time}, {"series": {"count": 2, "lastObservedTime": time}}):
        answer = await api.post(NEW_EVENTS.format(namespace), strict_event(unique("e"), **fields))
        assert (answer.status, answer.reason) == (400, "BadRequest"), fields


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z"),
        ("2026-11-20T10:00:00.987654Z", "2026-11-20T10:00:00Z"),
        ("2026-11-20T12:00:00+02:00", "2026-11-20T10:00:00Z"),
        ("2026-11-20T10:00:00", None),
    ],
)
async def test_time(api: Api, namespace: str, given: str, *, stored: str | None):
    """A Time may have a fraction, which is cut off, but must have a zone."""
    event = old_event(unique("e"), namespace, firstTimestamp=given)
    answer = await api.post(CORE_EVENTS.format(namespace), event)
    assert (201 if stored else 400) == answer.status
    if stored:
        assert stored == answer.json["firstTimestamp"]
