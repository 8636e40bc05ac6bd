"""The status of ModelServings, written to the API server.

Versions of objects that the API server does not have any more, until the watch brings others.

From the statuses that were derived and who owns them to the writes to make.

Writes of the status subresource.

Two ways, by what is ours. All of it: PUT, for which name, uid, resourceVersion and status are
enough, since spec and labels are taken from what is stored. Some fields: server-side apply with
force, under our own field manager. Both change nothing unless the object is still of the version
that they carry.

Writes the planned statuses: one at a time, and never without the lease.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from reporter.catalogue.resources import COMPONENT
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
from reporter.model.finding import Derived, Document
from reporter.model.report import SkippedObject
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.sinks.outbox import (
    ANYTHING,
    REFUSED_SECONDS,
    Entry,
    Outbox,
    Refused,
    Retry,
    loop_time,
)
from reporter.snapshot.decode import decode_object
from reporter.stacks.kthena.derived.ownership import BEHIND, Act, Answer, Claim, Verdict
from reporter.stacks.kthena.derived.status import (
    ROLE_STATUSES,
    ROLES_FIELDS,
    digest,
    our_share,
    status_document,
)
from reporter.stacks.kthena.objects import ModelServing, ModelServingStatus


class Method(StrEnum):
    """How a status is written."""

    REPLACE = "replace"
    """All of it is ours: PUT."""

    APPLY = "apply"
    """The roles are ours: server-side apply under our field manager."""

    RELEASE = "release"
    """The roles are replaced by a merge patch, which removes the others for all of their managers.

    What it does not change stays with who owns it, and the roles are never away.
    """


@dataclass(frozen=True, slots=True)
class StatusTarget:
    """A ModelServing as the snapshot has it, and the status that it should have."""

    resource: Resource[ModelServing]
    modelserving: ModelServing
    derived: Derived

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        return self.modelserving.metadata.uid

    @property
    def version(self) -> str:
        """`metadata.resourceVersion`."""
        return self.modelserving.metadata.resource_version


@dataclass(frozen=True, slots=True)
class StatusWrite:
    """One request.

    Attributes:
        resource: what the object is one of.
        object: whose status it is.
        method: how it is written.
        version: the resource version that may be written over.
        status: what is written.
        asked: digest of `status`.
        left_out: fields that are not written, because the API server drops them.

    """

    resource: Resource[ModelServing]
    object: ObjectRef
    method: Method
    version: str
    status: Document
    asked: str
    left_out: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether all of the status is ours."""
        return self.method is Method.REPLACE


@dataclass(frozen=True, slots=True)
class StatusPlan:
    """What to write, which objects exist, and when another verdict is due without a change."""

    writes: tuple[StatusWrite, ...] = ()
    objects: frozenset[str] = frozenset()
    next_in: timedelta | None = None


def claims_of(targets: Iterable[StatusTarget]) -> tuple[Claim, ...]:
    """Return what is to be judged; an object that is being deleted is not claimed."""
    return tuple(
        Claim(
            target.uid,
            target.version,
            target.modelserving.status,
            target.derived.status,
            target.modelserving.status_manager_beside(COMPONENT),
        )
        for target in targets
        if not target.modelserving.deleting
    )


def plan_statuses(
    targets: Collection[StatusTarget],
    verdicts: Mapping[str, Verdict],
    now: datetime,
    *,
    whole: bool,
) -> StatusPlan:
    """Return the writes that the verdicts ask for."""
    writes = []
    for target in targets:
        verdict = verdicts.get(target.uid)
        if verdict is not None and verdict.act is Act.WRITE:
            writes.append(_write(target, verdict, now, whole=whole))
    waits = [verdict.wait for verdict in verdicts.values() if verdict.wait is not None]
    return StatusPlan(tuple(writes), frozenset(verdicts), min(waits, default=None))


def _write(target: StatusTarget, verdict: Verdict, now: datetime, *, whole: bool) -> StatusWrite:
    wanted = target.derived.dated(now).status
    part = our_share(wanted, whole=whole, without=verdict.left_out)
    status = part if whole else _applied(part, verdict.left_out)
    return StatusWrite(
        resource=target.resource,
        object=replace(target.derived.object, uid=target.uid),
        method=Method.REPLACE if whole else Method.APPLY,
        version=target.version,
        status=status,
        asked=digest(part),
        left_out=verdict.left_out,
    )


def _applied(part: Document, left_out: Collection[str]) -> Document:
    """Return what is applied: an empty list is said, for an empty status is refused."""
    return part if ROLE_STATUSES in left_out else {ROLE_STATUSES: [], **part}


def release_of(write: StatusWrite) -> StatusWrite:
    """Return what leaves the roles of a write alone there, whoever owns others."""
    only: Document = {name: write.status.get(name) or None for name in sorted(ROLES_FIELDS)}
    return replace(write, method=Method.RELEASE, status=only)


def leaves_more(write: StatusWrite, stored: ModelServingStatus) -> bool:
    """Tell whether an apply left more than it names: what others own of the roles, too, stays.

    So does what a PUT of ours wrote before the setting was changed from full to roles.
    """
    if write.method is not Method.APPLY or ROLE_STATUSES in write.left_out:
        return False
    applied = msgspec.convert(write.status, ModelServingStatus)
    omitted = stored.role_statuses_omitted and not applied.role_statuses_omitted
    return bool(omitted) or bool(_named(stored) - _named(applied))


def _named(status: ModelServingStatus) -> set[tuple[str, str, str]]:
    entries = status.role_statuses or ()
    return {(each.serving_group_name, each.role_name, each.role_id) for each in entries}


DENIED_SECONDS: Final = 10.0
"""How long the watch may take to bring the change that a conflict told of."""


class Denied:
    """Remembers by uid which version was denied; times are in seconds."""

    def __init__(self, outdated: Callable[[Resource[ModelServing]], None]) -> None:
        self._outdated = outdated
        self._versions: dict[str, tuple[str, float]] = {}

    def keep(self, objects: Collection[str]) -> None:
        """Forget all objects but these."""
        self._versions = {uid: each for uid, each in self._versions.items() if uid in objects}

    def covers(self, write: StatusWrite, now: float) -> bool:
        """Tell whether a write is over a denied version.

        Where the watch does not bring another one in time, it is said to be outdated.
        """
        uid = write.object.uid
        version, until = self._versions.get(uid, ("", 0.0))
        if version != write.version:
            self._versions.pop(uid, None)
            return False
        if now >= until:
            self.deny(write, now)
            self._outdated(write.resource)
        return True

    def deny(self, write: StatusWrite, now: float) -> None:
        """Note that the object is not of that version any more."""
        self._versions[write.object.uid] = (write.version, now + DENIED_SECONDS)


_SUBRESOURCE: Final = "status"
_UNDECLARED: Final = re.compile(r"\.status\.(\w++)(?:[^\s:]*+: field not declared in schema)")


class FieldsUndeclared(KubeError):  # noqa: N818 - the API's word says more than a suffix
    """The CustomResourceDefinition lacks fields, so that nothing was applied.

    Attributes:
        fields: names of fields of the status.

    """

    def __init__(self, fields: frozenset[str], message: str) -> None:
        super().__init__(message)
        self.fields = fields


class _Raw(msgspec.Struct, frozen=True):
    status: dict[str, msgspec.Raw] | None = None


class StoredStatus(msgspec.Struct, frozen=True):
    """An answer: the object as stored.

    Attributes:
        object: with the fields that are read.
        fields: names of all fields of its status.

    """

    object: ModelServing
    fields: frozenset[str]


class KubeStatuses:
    """Writes the status of ModelServings."""

    def __init__(self, client: KubeClient, *, seconds: float = WRITE_SECONDS) -> None:
        self._client = client
        self._seconds = seconds

    async def replace_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Mapping[str, object],
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Replace the whole status and return what is stored; unknown fields are dropped silently.

        Raises:
            NotFound: the object is gone.
            Conflict: it has changed, or is another one of that name.
            KubeError: anything else, see `errors`.

        """
        body = _body(ref, status, resource_version, uid=ref.uid)
        return await self._write(
            "PUT", "update", JSON, resource=resource, ref=ref, body=body, params={}
        )

    async def apply_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Mapping[str, object],
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Apply fields of the status with force and return what is stored.

        Raises:
            FieldsUndeclared: the CustomResourceDefinition lacks one of the fields. Servers before
                this check drop such fields silently.
            NotFound: the object is gone.
            Conflict: it has changed.
            Invalid: what others own of an entry that we do not apply any more is no valid entry.
            KubeError: anything else, see `errors`.

        """
        body = _body(ref, status, resource_version)
        try:
            return await self._write(
                "PATCH",
                "patch",
                APPLY,
                resource=resource,
                ref=ref,
                body=body,
                params={"force": "true"},
            )
        except ServerError as error:
            fields = frozenset(_UNDECLARED.findall(str(error)))
            if not fields:
                raise
            raise FieldsUndeclared(fields, str(error)) from None

    async def release_status(
        self,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        status: Mapping[str, object],
        *,
        resource_version: str,
    ) -> StoredStatus:
        """Merge-patch the status; a field that is None is removed, whoever owns it.

        Raises:
            NotFound: the object is gone.
            Conflict: it has changed.
            KubeError: anything else, see `errors`.

        """
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        return await self._write(
            "PATCH", "patch", MERGE_PATCH, resource=resource, ref=ref, body=body, params={}
        )

    async def _write(
        self,
        method: str,
        verb: str,
        content_type: str,
        *,
        resource: Resource[ModelServing],
        ref: ObjectRef,
        body: Mapping[str, object],
        params: Mapping[str, str],
    ) -> StoredStatus:
        group, _, version = ref.api_version.rpartition("/")
        path = api_path(
            group, version, "namespaces", ref.namespace, resource.plural, ref.name, _SUBRESOURCE
        )
        response = await self._client.request(
            method,
            path,
            verb=verb,
            resource=f"{resource.plural}/{_SUBRESOURCE}",
            params={"fieldManager": FIELD_MANAGER, **params},
            body=encode(body),
            content_type=content_type,
            timeout=self._seconds,
        )
        stored = decode_object(resource, response.body)
        if isinstance(stored, SkippedObject):
            raise NotJson(f"{method} {path}: the answer is no {resource.kind}: {stored.cause}")
        raw = response.decode(_Raw)
        return StoredStatus(stored, frozenset(raw.status or ()))


def _body(
    ref: ObjectRef, status: Mapping[str, object], version: str, **identity: str
) -> dict[str, object]:
    metadata = {
        "name": ref.name,
        "namespace": ref.namespace,
        "resourceVersion": version,
        **identity,
    }
    return {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": metadata,
        "status": status,
    }


class StatusObserver(Protocol):
    """Is told of each write, for metrics."""

    def __call__(self, method: Method, outcome: str) -> None:
        """Count a write.

        `outcome` is written, unchanged, pruned (stored without some fields, or not at all for
        their lack), conflict, gone, refused or failed.
        """


class StatusWriter(Outbox[StatusWrite]):
    """Works through the latest plan.

    An object that is not of the planned version any more is left
    to the plan that is made once the watch has brought the new one; a write that fails goes behind
    the others.
    """

    def __init__(
        self,
        api: KubeStatuses,
        may_write: Callable[[], bool],
        observe: StatusObserver,
        *,
        changed: Callable[[], None],
        outdated: Callable[[Resource[ModelServing]], None],
    ) -> None:
        """Make one.

        Args:
            api: makes the requests.
            may_write: asked before each request.
            observe: told of each request.
            changed: called when a new plan is needed although the watch brings nothing.
            outdated: called with the resource that the watch does not bring as it is.
        """
        super().__init__("statuses", may_write)
        self._api = api
        self._observe = observe
        self._changed = changed
        self._outdated = outdated
        self._answers: dict[str, tuple[Answer, float]] = {}
        self._number = 0
        self._refused: Refused[str] = Refused()
        self._denied = Denied(outdated)
        self._released: dict[tuple[str, str], float] = {}
        self._shared: set[str] = set()

    def answers(self) -> Mapping[str, Answer]:
        """Return the last answer for each object by uid."""
        return {uid: answer for uid, (answer, _) in self._answers.items()}

    def offer(self, plan: StatusPlan) -> None:
        """Replace the writes that wait by those of a new plan, and forget objects that are gone."""
        now = loop_time()
        self._answers = {uid: each for uid, each in self._answers.items() if uid in plan.objects}
        self._released = {key: until for key, until in self._released.items() if until > now}
        self._shared &= plan.objects
        self._refused.tidy()
        self._denied.keep(plan.objects)
        self._replace(
            Entry(write.object.uid, write)
            for write in plan.writes
            if not self._refused.covers(write.object.uid, write.asked)
            and not self._denied.covers(write, now)
        )

    def forget(self) -> None:
        """Forget what was written too: somebody else leads now."""
        self.drop()
        self._answers = {}
        self._shared = set()

    async def _send(self, write: StatusWrite) -> Retry:
        uid = write.object.uid
        request = release_of(write) if uid in self._shared else write
        try:
            stored = await self._request(request)
        except (Conflict, NotFound) as error:
            self._denied.deny(request, loop_time())
            self._observe(request.method, "gone" if isinstance(error, NotFound) else "conflict")
        except FieldsUndeclared as error:
            self._note(request, None, tuple(sorted(error.fields)))
            self._observe(request.method, "pruned")
            self._changed()
        except Invalid as error:
            if request.method is Method.APPLY and not self._is_released(request):
                # Others own parts of entries that we do not apply any more, and what is left of
                # such an entry is none.
                self._queue.insert(0, Entry(uid, release_of(request)))
                self._observe(request.method, "refused")
            else:
                self._refuse(request, error)
        except Forbidden as error:
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

    async def _request(self, write: StatusWrite) -> StoredStatus:
        if write.method is Method.RELEASE:
            self._released[write.object.uid, write.asked] = loop_time() + REFUSED_SECONDS
        send = {
            Method.REPLACE: self._api.replace_status,
            Method.APPLY: self._api.apply_status,
            Method.RELEASE: self._api.release_status,
        }[write.method]
        return await send(
            write.resource, write.object, write.status, resource_version=write.version
        )

    def _is_released(self, write: StatusWrite) -> bool:
        """Tell whether others were removed for this wish; who writes them again may have them."""
        return (write.object.uid, write.asked) in self._released

    def _stored(self, write: StatusWrite, stored: StoredStatus) -> str:
        """Note an answer and return the outcome."""
        pruned = tuple(sorted(name for name, value in write.status.items() if value))
        pruned = tuple(name for name in pruned if name not in stored.fields)
        is_shared = not self._is_released(write) and leaves_more(write, stored.object.status)
        if is_shared:
            # The next write removes the roles that others own; this one settled nothing.
            self._shared.add(write.object.uid)
            write = replace(write, asked="")
        self._note(write, stored, pruned)
        is_changed = stored.object.metadata.resource_version != write.version
        if (pruned or is_shared) and not is_changed:  # so that the watch brings nothing
            self._changed()
        if pruned:
            return "pruned"
        if not is_changed and self._answers[write.object.uid][0].stored == write.asked:
            self._outdated(write.resource)  # All of it was there, and the watch showed less.
        return "written" if is_changed else "unchanged"

    def _note(
        self, write: StatusWrite, stored: StoredStatus | None, pruned: tuple[str, ...]
    ) -> None:
        self._number += 1
        left = None
        if stored is not None:
            left = digest(our_share(status_document(stored.object.status), whole=write.whole))
        answer = Answer(
            number=self._number,
            before=write.version,
            version=stored.object.metadata.resource_version if stored else write.version,
            stored=left,
            asked=write.asked,
            left_out=write.left_out,
            pruned=pruned,
        )
        until = loop_time() + BEHIND.total_seconds()
        self._answers[write.object.uid] = answer, until

    def _is_made(self, write: StatusWrite) -> bool:
        answer, until = self._answers.get(write.object.uid, (None, 0.0))
        return (
            answer is not None
            and answer.before == write.version != answer.version
            and loop_time() < until
        )

    def _refuse(self, write: StatusWrite, error: KubeError) -> None:
        # What is invalid may be valid in other words; who is not allowed says in vain what.
        says = ANYTHING if isinstance(error, Forbidden) else write.asked
        if self._refused.note(write.object.uid, says, error):
            self._log.error("status_refused", object=str(write.object), error=str(error))
        self._observe(write.method, "refused")
