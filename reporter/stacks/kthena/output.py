"""Writes the status of ModelServings to the API server: one at a time, never without the lease.

The method depends on what we own. The whole status: PUT, which needs only name, uid,
resourceVersion and status, since spec and labels are taken from the stored object. Some fields:
server-side apply with force, under our own field manager. Both change nothing unless the object
still has the resourceVersion that they carry.
"""

import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from reporter.kube.client import JSON, MERGE_PATCH, KubeClient, api_path, encode
from reporter.kube.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    NotJson,
    ServerError,
)
from reporter.kube.writes import APPLY, FIELD_MANAGER, WRITE_SECONDS
from reporter.model.report import SkippedObject
from reporter.model.resource import Resource
from reporter.sinks.outbox import ANYTHING, Entry, Outbox, Refused, Retry, loop_time
from reporter.snapshot.decode import decode_object
from reporter.stacks.kthena.derived.status import (
    ROLE_STATUSES,
    ROLES_FIELDS,
    digest,
    our_share,
    status_document,
)
from reporter.stacks.kthena.objects import ModelServing, ModelServingStatus
from reporter.stacks.kthena.owning import BEHIND, Answer, Method, StatusPlan, StatusWrite, own
from reporter.stacks.output import Decision, OutputScope, OutputWriter, WriterParts

_UNDECLARED: Final = re.compile(r"\.status\.(\w++)(?:[^\s:]*+: field not declared in schema)")

_REQUESTS: Final[Mapping[Method, tuple[str, str, str, Mapping[str, str]]]] = {
    Method.REPLACE: ("PUT", "update", JSON, {}),
    Method.APPLY: ("PATCH", "patch", APPLY, {"force": "true"}),
    Method.RELEASE: ("PATCH", "patch", MERGE_PATCH, {}),
}
"""HTTP method, verb, content type and parameters of each way to write."""


class FieldsUndeclaredError(KubeError):
    """The CustomResourceDefinition lacks fields of the status, so nothing was applied."""

    def __init__(self, fields: frozenset[str], message: str) -> None:
        super().__init__(message)
        self.fields = fields


class _Raw(msgspec.Struct, frozen=True):
    status: dict[str, msgspec.Raw] | None = None


class StoredStatus(msgspec.Struct, frozen=True):
    """The object as stored, and the names of all fields of its status."""

    object: ModelServing
    fields: frozenset[str]


async def write_status(client: KubeClient, write: StatusWrite) -> StoredStatus:
    """Write the status of a ModelServing and return the stored status.

    PUT drops unknown fields silently, and so did server-side apply in older Kubernetes versions.

    Raises:
        FieldsUndeclaredError: the CustomResourceDefinition lacks a field that is applied.
        NotFound: the object is gone.
        Conflict: the object has changed, or another one has its name now.
        Invalid: the status, or the rest of an entry that we no longer apply but others still own.
        KubeError: anything else, see `errors`.

    """
    method, verb, content_type, params = _REQUESTS[write.method]
    ref, plural = write.object, write.resource.plural
    group, _, version = ref.api_version.rpartition("/")
    path = api_path(group, version, "namespaces", ref.namespace, plural, ref.name, "status")
    try:
        response = await client.request(
            method,
            path,
            verb=verb,
            resource=f"{plural}/status",
            params={"fieldManager": FIELD_MANAGER, **params},
            body=encode(_body(write)),
            content_type=content_type,
            timeout=WRITE_SECONDS,
        )
    except ServerError as error:
        fields = frozenset(_UNDECLARED.findall(str(error)))
        if not fields:
            raise
        raise FieldsUndeclaredError(fields, str(error)) from None
    stored = decode_object(write.resource, response.body)
    if isinstance(stored, SkippedObject):
        raise NotJson(f"{method} {path}: the answer is no {ref.kind}: {stored.cause}")
    return StoredStatus(stored, frozenset(response.decode(_Raw).status or ()))


def _body(write: StatusWrite) -> Mapping[str, object]:
    ref = write.object
    metadata = {"resourceVersion": write.version}
    if write.method is Method.RELEASE:
        return {"metadata": metadata, "status": write.status}
    metadata |= {"name": ref.name, "namespace": ref.namespace}
    if write.method is Method.REPLACE:
        metadata["uid"] = ref.uid
    kind = {"apiVersion": ref.api_version, "kind": ref.kind}
    return {**kind, "metadata": metadata, "status": write.status}


def release_of(write: StatusWrite) -> StatusWrite:
    """Return a write that replaces the roles, and so removes others whoever manages them."""
    only = {name: write.status.get(name) or None for name in sorted(ROLES_FIELDS)}
    return replace(write, method=Method.RELEASE, status=only)


def _leaves_more(write: StatusWrite, stored: ModelServingStatus) -> bool:
    """Return True if an apply left roles that it does not name.

    Roles that others own stay, and so do those that we wrote by PUT before the setting was changed
    from full to roles.
    """
    if write.method is not Method.APPLY or ROLE_STATUSES in write.left_out:
        return False
    applied = msgspec.convert(write.status, ModelServingStatus)
    ours, theirs = (
        {(each.serving_group_name, each.role_name, each.role_id) for each in one or ()}
        for one in (applied.role_statuses, stored.role_statuses)
    )
    omits = stored.role_statuses_omitted and not applied.role_statuses_omitted
    return bool(omits or theirs - ours)


class StatusWriter(Outbox[StatusWrite]):
    """Sends the writes of the latest plan.

    If an object no longer has the planned version, its write is dropped: the watch will bring the
    new version, and with it a new plan. A failed write goes behind the others.
    """

    def __init__(
        self,
        write: Callable[[StatusWrite], Awaitable[StoredStatus]],
        may_write: Callable[[], bool],
        observe: Callable[[Method, str], None],
        *,
        changed: Callable[[], None],
        outdated: Callable[[Resource[ModelServing]], None],
    ) -> None:
        """Create a writer.

        Args:
            write: sends a request.
            may_write: called before each request.
            observe: called with the method and the outcome of each request: written, unchanged,
                pruned (the CRD lacks fields), conflict, gone, refused, failed.
            changed: called when a new plan is needed although the watch reports nothing.
            outdated: called with a resource whose watch does not show the stored state.
        """
        super().__init__("statuses", may_write)
        self._write = write
        self._observe = observe
        self._changed = changed
        self._outdated = outdated
        self._answers: dict[str, tuple[Answer, float]] = {}
        self._number = 0
        self._refused: Refused[Hashable] = Refused()
        self._denied: Refused[Hashable] = Refused()
        self._released: Refused[Hashable] = Refused()
        self._shared: set[str] = set()

    def answers(self) -> dict[str, Answer]:
        """Return the last answer for each object, by uid."""
        return {uid: answer for uid, (answer, _) in self._answers.items()}

    def offer(self, plan: object) -> None:
        """Replace the waiting writes by those of a new plan, and forget objects that are gone."""
        if not isinstance(plan, StatusPlan):
            return
        self._answers = {uid: each for uid, each in self._answers.items() if uid in plan.objects}
        self._shared &= plan.objects
        for each in (self._refused, self._denied, self._released):
            each.tidy()
        self._replace(
            Entry(write.object.uid, write)
            for write in plan.writes
            if not self._refused.covers(write.object.uid, write.asked)
            and not self._denied.covers((write.object.uid, write.version))
        )

    def forget(self) -> None:
        """Drop the waiting writes and forget all answers: another replica may lead by now."""
        self.drop()
        self._answers = {}
        self._shared = set()

    async def _send(self, write: StatusWrite) -> Retry:
        uid = write.object.uid
        request = release_of(write) if uid in self._shared else write
        if request.method is Method.RELEASE:
            self._released.leave((uid, request.asked))
        try:
            stored = await self._write(request)
        except (Conflict, NotFound) as error:
            if not self._denied.note((uid, request.version), ANYTHING, error):
                self._outdated(request.resource)
            self._observe(request.method, "gone" if isinstance(error, NotFound) else "conflict")
        except FieldsUndeclaredError as error:
            self._note(request, None, tuple(sorted(error.fields)))
            self._observe(request.method, "pruned")
            self._changed()
        except (Invalid, Forbidden) as error:
            self._observe(request.method, "refused")
            self._refuse(request, error)
        except KubeError as error:
            self._observe(write.method, "failed")
            self._fail("status_not_written", error)
            return Retry.LAST
        else:
            self._backoff.reset()
            self._shared.discard(uid)
            self._observe(request.method, self._stored(request, stored))
        return Retry.NO

    def _refuse(self, write: StatusWrite, error: KubeError) -> None:
        uid, is_forbidden = write.object.uid, isinstance(error, Forbidden)
        was_released = self._released.covers((uid, write.asked))
        if write.method is Method.APPLY and not is_forbidden and not was_released:
            # Others own parts of entries that we no longer apply, and the rest of such an entry is
            # invalid.
            self._queue.insert(0, Entry(uid, release_of(write)))
        # An invalid status may change to a valid one; without the right to write, none is accepted.
        elif self._refused.note(uid, ANYTHING if is_forbidden else write.asked, error):
            self._log.error("status_refused", object=str(write.object), error=str(error))

    def _stored(self, write: StatusWrite, stored: StoredStatus) -> str:
        named = (name for name, value in write.status.items() if value)
        pruned = tuple(sorted(name for name in named if name not in stored.fields))
        was_released = self._released.covers((write.object.uid, write.asked))
        is_shared = not was_released and _leaves_more(write, stored.object.status)
        if is_shared:
            # The next write removes the roles that others own; this one settled nothing.
            self._shared.add(write.object.uid)
            write = replace(write, asked="")
        answer = self._note(write, stored, pruned)
        is_changed = answer.before != answer.version
        if (pruned or is_shared) and not is_changed:  # then the watch reports nothing
            self._changed()
        if pruned:
            return "pruned"
        if not is_changed and answer.stored == answer.asked:
            self._outdated(write.resource)  # All of it was stored; the watch showed less.
        return "written" if is_changed else "unchanged"

    def _note(
        self, write: StatusWrite, stored: StoredStatus | None, pruned: tuple[str, ...]
    ) -> Answer:
        self._number += 1
        version, left = write.version, None
        if stored is not None:
            version = stored.object.metadata.resource_version
            status = status_document(stored.object.status)
            left = digest(our_share(status, whole=write.method is Method.REPLACE))
        answer = Answer(
            number=self._number,
            before=write.version,
            version=version,
            stored=left,
            asked=write.asked,
            left_out=write.left_out,
            pruned=pruned,
        )
        self._answers[write.object.uid] = answer, loop_time() + BEHIND.total_seconds()
        return answer

    def _is_made(self, write: StatusWrite) -> bool:
        answer, until = self._answers.get(write.object.uid, (None, 0.0))
        return (
            answer is not None
            and answer.before == write.version != answer.version
            and loop_time() < until
        )


def status_counter(registry: CollectorRegistry, waiting: Callable[[], int]) -> Counter:
    """Return the counter of writes, and export the number of waiting writes."""
    Gauge(
        "status_reporter_modelserving_statuses_waiting",
        "Statuses of ModelServings that wait to be written.",
        registry=registry,
    ).set_function(waiting)
    return Counter(
        "status_reporter_modelserving_status_writes_total",
        "Writes of the status of ModelServings by how they are made and what became of them.",
        ["method", "outcome"],
        registry=registry,
    )


class KthenaOutput:
    def decide(self, scope: OutputScope, memory: object, answers: object) -> Decision:
        return own(
            scope,
            memory if isinstance(memory, dict) else {},
            answers if isinstance(answers, dict) else {},
        )

    def writer(self, parts: WriterParts) -> OutputWriter:
        written = status_counter(parts.registry, lambda: writer.waiting)
        writer = StatusWriter(
            partial(write_status, parts.client),
            parts.may_write,
            lambda method, outcome: written.labels(method, outcome).inc(),
            changed=parts.changed,
            outdated=parts.outdated,
        )
        return writer


OUTPUT: Final = KthenaOutput()
