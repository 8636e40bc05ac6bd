"""From the statuses that were derived and who owns them to the writes to make."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from reporter.catalogue.resources import COMPONENT
from reporter.model.finding import Derived, Document
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.stacks.kthena.derived.ownership import Act, Claim, Verdict
from reporter.stacks.kthena.derived.share import (
    ROLE_STATUSES,
    ROLES_FIELDS,
    digest,
    our_share,
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
