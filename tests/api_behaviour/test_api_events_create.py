"""Which Events the server takes, through which view (rows of 1.2 and 1.4)."""

import pytest

from tests.api_behaviour.api_client import CORE_EVENTS, MICRO, Api, new_event, old_event, unique
from tests.tables import rows


def fields_of(answer) -> set[str]:
    """The fields that a 422 names."""
    return {cause["field"] for cause in answer.json["details"]["causes"]}


@pytest.mark.parametrize(
    ("home", "subject", "old", "new"),
    [
        ("own", "own", 201, 201),
        ("own", "kube-system", 422, 201),
        ("kube-system", "own", 422, 201),
        ("own", "", 422, 422),
        ("kube-system", "", 422, 201),
        ("default", "", 201, 201),
    ],
)
async def test_namespace_rule(api: Api, namespace: str, home, *, subject, old, new):
    """Without eventTime an Event lives where its subject does, or in default for no namespace.

    With it only a subject without namespace is bound: to default and kube-system.
    """
    places = {"own": namespace}
    home, subject = places.get(home, home), places.get(subject, subject)
    reference = {"kind": "Pod", "name": "p", **({"namespace": subject} if subject else {})}
    with_time = new_event(unique("e"), involvedObject=reference)
    for event, code in ((old_event(unique("e"), subject), old), (with_time, new)):
        answer = await api.post(CORE_EVENTS.format(home), event)
        assert code == answer.status, answer.text
        if code == 422:
            assert fields_of(answer) == {"involvedObject.namespace"}
            assert "does not match event.namespace" in answer.json["message"]
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


@rows(
    ("message", "code"),
    {
        "empty": ("", 201),
        "limit": ("x" * 1024, 201),
        "over": ("x" * 1025, 422),
        "limit in bytes": ("€" * 341, 201),
        "over in bytes": ("€" * 342, 422),
    },
)
async def test_new_style_message_is_bounded(api: Api, namespace: str, message, *, code):
    """With eventTime a message has at most 1024 bytes, characters do not count."""
    reference = {"kind": "Pod", "namespace": namespace, "name": "p"}
    event = new_event(unique("e"), involvedObject=reference, message=message)
    answer = await api.post(CORE_EVENTS.format(namespace), event)
    assert code == answer.status
    if code == 422:
        assert "can have at most 1024 characters" in answer.json["message"]
