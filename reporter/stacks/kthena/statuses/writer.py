"""Writes the planned statuses: one at a time, and never without the lease."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from reporter.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound
from reporter.model.resource import Resource
from reporter.sinks.outbox import (
    ANYTHING,
    REFUSED_SECONDS,
    Entry,
    Outbox,
    Refused,
    Retry,
    loop_time,
)
from reporter.stacks.kthena.derived.ownership import BEHIND
from reporter.stacks.kthena.derived.ownership_memory import Answer
from reporter.stacks.kthena.derived.share import digest, our_share, status_document
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.statuses.denied import Denied
from reporter.stacks.kthena.statuses.plan import (
    Method,
    StatusPlan,
    StatusWrite,
    leaves_more,
    release_of,
)
from reporter.stacks.kthena.statuses.requests import FieldsUndeclared, KubeStatuses, StoredStatus


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
