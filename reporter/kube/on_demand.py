"""Reads evidence for a fault on demand: Events, a few kinds of objects, and the ends of logs.

Nothing here is watched. A watch of Events would decode every Event of the cluster, for ever. The
API server has no watch cache for Events, so even a list of one namespace reads them all from etcd
(kubernetes, pkg/kubeapiserver/default_storage_factory_builder.go). Hence one paged list per
namespace, only while a fault there is unexplained. Each request first awaits `turn`, with which the
caller sets the pace.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

import msgspec

from reporter.catalogue.resources import EVENTS
from reporter.kube.client import KubeClient, api_path
from reporter.kube.decode import ListBody, decode_page, page_of
from reporter.kube.errors import NotFound, mapped
from reporter.model.evidence import ContainerLog, ForeignEvent
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.foreign_events import EventObject, foreign_event

PAGE: Final = 500

MOST_PAGES: Final = 4
"""Most pages read per namespace; beyond that, Events are requested by object."""

_OBJECT_PAGE: Final = 250
_SECONDS: Final = 10.0
_PAGE_BYTES: Final = 8 * 2**20

ObjectT = TypeVar("ObjectT", bound=KubeObject)
Turn = Callable[[], Awaitable[None]]


async def read_events(
    client: KubeClient, namespace: str, *, uids: Iterable[str], turn: Turn
) -> list[ForeignEvent]:
    """Return the Events of others in a namespace; if there are too many to page through, also read
    those about the objects with `uids`.
    """
    found: list[ForeignEvent] = []
    page = await _event_page(client, namespace, {}, turn=turn)
    found += _foreign_events(page)
    for _ in range(MOST_PAGES - 1):
        if (
            not page.metadata.continue_token
            or (page.metadata.remaining_item_count or 0) > PAGE * MOST_PAGES
        ):
            break
        page = await _event_page(
            client, namespace, {"continue": page.metadata.continue_token}, turn=turn
        )
        found += _foreign_events(page)
    if page.metadata.continue_token:
        for uid in uids:
            selector = {"fieldSelector": f"involvedObject.uid={uid}"}
            found += _foreign_events(await _event_page(client, namespace, selector, turn=turn))
    return found


async def _event_page(
    client: KubeClient, namespace: str, params: dict[str, str], *, turn: Turn
) -> ListBody[msgspec.Raw]:
    await turn()
    response = await client.request(
        "GET",
        api_path("", "v1", "namespaces", namespace, EVENTS.plural),
        verb="list",
        resource=EVENTS.plural,
        params={"limit": str(PAGE), **params},
        timeout=_SECONDS,
        max_bytes=_PAGE_BYTES,
    )
    with mapped("list events"):
        return msgspec.json.decode(response.body, type=ListBody[msgspec.Raw])


def _foreign_events(page: ListBody[msgspec.Raw]) -> list[ForeignEvent]:
    found: list[ForeignEvent] = []
    for item in page.items or ():
        try:
            event = foreign_event(msgspec.json.decode(item, type=EventObject))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue  # a malformed Event explains nothing, and must not hide the others
        if event is not None:
            found.append(event)
    return found


async def read_objects(
    client: KubeClient, resource: Resource[KubeObject], version: str, *, turn: Turn
) -> tuple[list[KubeObject], bool]:
    """Return the objects of a kind, and whether the list is complete."""
    found: list[KubeObject] = []
    token, whole = "", True
    for _ in range(MOST_PAGES):
        await turn()
        response = await client.request(
            "GET",
            api_path(resource.group, version, resource.plural),
            verb="list",
            resource=resource.plural,
            params={"limit": str(_OBJECT_PAGE), **({"continue": token} if token else {})},
            timeout=_SECONDS,
            max_bytes=_PAGE_BYTES,
        )
        page = decode_page(resource, response.body)
        found += page.objects
        whole = whole and not page.skipped
        token = page.continue_token
        if not token:
            return found, whole
    return found, False


async def read_object(
    client: KubeClient, resource: Resource[ObjectT], name: str, *, namespace: str = "", turn: Turn
) -> ObjectT | None:
    """Return one object, or None if it does not exist or is malformed."""
    await turn()
    place = ("namespaces", namespace) if namespace else ()
    try:
        response = await client.request(
            "GET",
            api_path(resource.group, resource.versions[0], *place, resource.plural, name),
            verb="get",
            resource=resource.plural,
            timeout=_SECONDS,
        )
    except NotFound:
        return None
    page = page_of(resource, response.body)
    return page.objects[0] if page.objects else None


LINES: Final = 1_000
"""Lines to request; enough for an engine with eight workers to say why it failed."""

_BYTES: Final = 1024 * 1024
_FEWER: Final = 10
_LOG_SECONDS: Final = 5.0


async def fetch_log(client: KubeClient, crash: ContainerLog) -> str:
    """Return the last lines of a container's run, as the kubelet sends them.

    With `limitBytes` the kubelet cuts off the end (kubernetes, pkg/kubelet/kuberuntime/logs), so if
    the limit is reached, fewer lines are requested. Raises ApiStatusError if the kubelet no longer
    has the log or the pod is gone.
    """
    body = await _read(client, crash, LINES)
    if len(body) >= _BYTES:
        body = await _read(client, crash, LINES // _FEWER)
    return body.decode("utf-8", "replace")


async def _read(client: KubeClient, crash: ContainerLog, lines: int) -> bytes:
    response = await client.request(
        "GET",
        api_path("", "v1", "namespaces", crash.namespace, "pods", crash.pod, "log"),
        verb="get",
        resource="pods/log",
        params={
            "container": crash.container,
            "previous": "true" if crash.previous else "false",
            "tailLines": str(lines),
            "limitBytes": str(_BYTES),
        },
        headers={"Accept": "*/*"},
        timeout=_LOG_SECONDS,
        max_bytes=2 * _BYTES,
    )
    return response.body
