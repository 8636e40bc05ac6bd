"""Pages and frames: what is well-formed is read, the rest is skipped by name."""

import asyncio

import pytest

from reporter.catalogue.resources import ENVOYFILTERS, PODS
from reporter.kube.decode import (
    FrameType,
    TooDeep,
    decode_frames,
    decode_page,
    off_the_loop,
    page_of,
)
from reporter.kube.errors import Gone, NotJson
from reporter.model.report import SkippedObject
from reporter.snapshot.decode import decode_object

GOOD = b'{"metadata":{"name":"good","namespace":"n","resourceVersion":"3"}}'
DEEP = (
    b'{"kind":"x","metadata":{"name":"deep","namespace":"n,]"},"spec":{"a":"\\"]}","configPatches":'
    + b"[" * 3000
    + b"]" * 3000
    + b"}}"
)


def page(*items: bytes, kind: str = "PodList") -> bytes:
    head = f'{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":['
    return head.encode() + b",".join(items) + b"]}"


def with_status(status: str) -> bytes:
    return f'{{"metadata":{{"name":"bad","namespace":"n"}},"status":{status}}}'.encode()


MALFORMED = [
    (with_status('{"conditions":{}}'), "bad", "status.conditions is not a list"),
    (with_status("[]"), "bad", "status is not an object"),
    (with_status("null"), "bad", "status is not an object"),
    (
        with_status('{"conditions":[' + ",".join(['{"type":"x"}'] * 1001) + "]}"),
        "bad",
        "status.conditions has more than 1000 entries",
    ),
    (with_status('{"conditions":[{}]}'), "bad", "status.conditions[0].type is missing"),
    (with_status('{"podIP":4}'), "bad", "status.podIP is not a string"),
    (
        with_status('{"containerStatuses":[{"name":"c","restartCount":"x"}]}'),
        "bad",
        "status.containerStatuses[0].restartCount is not a whole number",
    ),
    (
        with_status('{"conditions":[{"type":"x","lastTransitionTime":"soon"}]}'),
        "bad",
        "status.conditions[0].lastTransitionTime is not a time",
    ),
    (
        with_status('{"conditions":[{"type":"x","lastTransitionTime":"2026-01-01T00:00:00"}]}'),
        "bad",
        "status.conditions[0].lastTransitionTime has no time zone",
    ),
    (b'{"metadata":{"namespace":"n"}}', "", "metadata.name is missing"),
    (b'{"metadata":{"name":"","namespace":"n"}}', "", "metadata.name is missing"),
    (b'{"metadata":{"name":"a"}}', "a", "metadata.namespace is missing"),
    (b'{"metadata":{"name":"a","namespace":5}}', "a", "metadata.namespace is not a string"),
    (b'{"metadata":{"name":"a","namespace":"n","labels":{"k":1}}}', "a", "an entry of metadata.labels is not a string"),
    (b"{}", "", "metadata is missing"),
    (b"[]", "", "it is not an object"),
    (b"null", "", "it is not an object"),
    (b'{"metadata":{"name":"\xff"}}', "", "it is not UTF-8"),
    (
        b'{"metadata":{"namespace":"n","name":"' + b"x" * 254 + b'"}}',
        "x" * 250 + "...",
        "metadata.name has more than 253 characters",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "name", "cause"), MALFORMED)
def test_one_bad_object_is_named_and_its_neighbours_are_kept(raw, name, cause):
    """In a page, in a frame and alone, a malformed object is skipped in the same words."""
    result = decode_page(PODS, page(GOOD, raw, GOOD))
    assert [each.name for each in result.objects] == ["good", "good"]
    (skipped,) = result.skipped
    if name != skipped.name:
        assert len(skipped.name) == 253
    assert (skipped.resource, skipped.cause) == ("pods", cause)
    (frame,) = decode_frames(PODS, b'{"type":"ADDED","object":' + raw + b"}")
    assert frame.content == skipped
    assert decode_object(PODS, raw) == skipped


def test_an_object_nested_too_deeply_hides_nobody():
    """Any tenant can write such an object; pages and frames skip it by name."""
    body = page(GOOD, DEEP, GOOD, kind="EnvoyFilterList")
    result = decode_page(ENVOYFILTERS, body, deeply=True)
    assert [each.name for each in result.objects] == ["good", "good"]
    (skipped,) = result.skipped
    assert (skipped.namespace, skipped.name) == ("n,]", "deep")
    assert skipped.cause == "it is nested too deeply"
    assert result.resource_version == "7"
    line = b'{"type":"MODIFIED","object":' + DEEP + b"}"
    (frame,) = decode_frames(ENVOYFILTERS, line, deeply=True)
    assert (frame.type, frame.content) == (FrameType.MODIFIED, skipped)
    assert page_of(ENVOYFILTERS, DEEP, deeply=True).skipped == (skipped,)
    for decode, answer in ((decode_page, body), (decode_frames, line), (page_of, DEEP)):
        with pytest.raises(TooDeep):
            decode(ENVOYFILTERS, answer)


async def test_an_event_loop_takes_no_deep_object_apart():
    line = b'{"type":"MODIFIED","object":' + DEEP.replace(b"[[", b"[1,[" * 9) + b"}"
    turns = 0

    async def turn():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    (frame,) = await off_the_loop(decode_frames, ENVOYFILTERS, line)
    turning.cancel()
    assert isinstance(frame.content, SkippedObject)
    assert turns > 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"<html>",
        b'{"kind":"Status"}',
        page(GOOD)[:-5],
        b'{"kind":"PodList","items":[]}',
        b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":{}}',
        b"[" * 5000,
        b"\xff" * 10,
    ],
)
def test_what_is_no_list_empties_nothing(body):
    with pytest.raises(NotJson):
        decode_page(PODS, body)


@pytest.mark.parametrize(
    "line",
    [b"404 page not found", b"{}", b'{"type":"NEW","object":{}}', b'{"type":5}', b"[" * 9999],
)
def test_what_is_no_frame_is_an_error(line):
    """Text from a proxy ends the watch; it is not taken for an event."""
    with pytest.raises(NotJson):
        decode_frames(PODS, line)


def test_error_frames_raise():
    """An expired version arrives as a frame; it is the same error as HTTP 410."""
    with pytest.raises(Gone):
        decode_frames(PODS, b'{"type":"ERROR","object":{"kind":"Status","code":410}}')


def test_bookmarks_carry_a_version():
    """A bookmark only moves the place where the watch continues."""
    line = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"12"}}}'
    (frame,) = decode_frames(PODS, line)
    assert (frame.content, frame.resource_version) == (None, "12")


@pytest.mark.parametrize("other", [b'{"metadata":{"name":5}}', GOOD, with_status("5")])
def test_frames_that_come_together_are_what_they_are_alone(other):
    """The order is kept whatever is among them; blank lines are ignored."""
    frame = b'{"type":"%s","object":%s}'
    lines = [frame % (b"ADDED", GOOD), b" ", frame % (b"MODIFIED", other)]
    bookmark = frame % (b"BOOKMARK", b'{"metadata":{"resourceVersion":"12"}}')
    for each in (lines, [*lines, bookmark], [bookmark, *lines]):
        alone = [found for line in each for found in decode_frames(PODS, line)]
        assert len(alone) == len(each) - 1
        assert decode_frames(PODS, b"\n".join(each)) == alone


def test_null_items_are_an_empty_list():
    body = b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":null}'
    assert decode_page(PODS, body).objects == ()
