"""Writes the status of ModelServings to the API server: one at a time, never without the lease.

The method depends on what we own. The whole status: PUT, which needs only name, uid,
resourceVersion and status, since spec and labels are taken from the stored object. Some fields:
server-side apply with force, under our own field manager; or a merge patch if roles must go. All
change nothing unless the object still has the resourceVersion that they carry.
"""

import re
from collections.abc import Awaitable, Callable, Hashable, Mapping
from functools import partial
from typing import Final

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
from reporter.sinks.outbox import ANYTHING, Entry, Outbox, Refused, Retry, loop_time
from reporter.snapshot.decode import decode_object
from reporter.stacks.kthena.derived.status import digest, our_share, status_document
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.owning import BEHIND, Answer, Method, StatusPlan, StatusWrite, own
from reporter.stacks.output import Decision, OutputScope, WriterParts

_UNDECLARED: Final = re.compile(r"\.status\.(\w++)(?:[^\s:]*+: field not declared in schema)")

_REQUESTS: Final[Mapping[Method, tuple[str, str, str, Mapping[str, str]]]] = {
    Method.REPLACE: ("PUT", "update", JSON, {}),
    Method.APPLY: ("PATCH", "patch", APPLY, {"force": "true"}),
    Method.RELEASE: ("PATCH", "patch", MERGE_PATCH, {}),
}
"""HTTP method, verb, content type and parameters of each way to write."""


async def write_status(client: KubeClient, write: StatusWrite) -> ModelServing:
    """Write the status of a ModelServing and return the object as stored.

    The API server may drop fields that the CustomResourceDefinition lacks.

    Raises:
        NotFound: the object is gone.
        Conflict: the object has changed, or another one has its name now.
        Invalid: the status.
        KubeError: anything else, see `errors`.

    """
    method, verb, content_type, params = _REQUESTS[write.method]
    ref, plural = write.object, write.resource.plural
    group, _, version = ref.api_version.rpartition("/")
    path = api_path(group, version, "namespaces", ref.namespace, plural, ref.name, "status")
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
    stored = decode_object(write.resource, response.body)
    if isinstance(stored, SkippedObject):
        raise NotJson(f"{method} {path}: the answer is no {ref.kind}: {stored.cause}")
    return stored


def _body(write: StatusWrite) -> Mapping[str, object]:
    ref = write.object
    metadata = {"name": ref.name, "namespace": ref.namespace, "uid": ref.uid}
    return {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": {**metadata, "resourceVersion": write.version},
        "status": write.status,
    }


class StatusWriter(Outbox[StatusWrite]):
    """Sends the writes of the latest plan.

    If an object no longer has the planned version, its write is dropped: the watch will bring the
    new version, and with it a new plan. A failed write goes behind the others.
    """

    def __init__(
        self, write: Callable[[StatusWrite], Awaitable[ModelServing]], parts: WriterParts
    ) -> None:
        super().__init__("statuses", parts.may_write)
        self._write, self._parts = write, parts
        self._writes = status_counter(parts.registry, lambda: self.waiting)
        self._answers: dict[str, tuple[Answer, float]] = {}
        self._refused: Refused[Hashable] = Refused()

    def answers(self) -> dict[str, Answer]:
        """Return the last answer for each object, by uid."""
        return {uid: answer for uid, (answer, _) in self._answers.items()}

    def offer(self, plan: object) -> None:
        """Replace the waiting writes by those of a new plan, and forget objects that are gone."""
        if not isinstance(plan, dict):
            return
        self._answers = {uid: each for uid, each in self._answers.items() if uid in plan}
        self._refused.tidy()
        writes: StatusPlan = plan
        self._replace(
            Entry(uid, write)
            for uid, write in writes.items()
            if write is not None
            and not self._refused.covers(uid, write.asked)
            and not self._refused.covers((uid, write.version))
        )

    def forget(self) -> None:
        """Drop the waiting writes and forget all answers: another replica may lead by now."""
        self.drop()
        self._answers = {}

    async def _send(self, write: StatusWrite) -> Retry:
        uid = write.object.uid
        try:
            stored = await self._write(write)
        except (Conflict, NotFound) as error:
            if not self._refused.note((uid, write.version), ANYTHING, error):
                self._parts.outdated(write.resource)
            self._observe(write, "gone" if isinstance(error, NotFound) else "conflict")
        except (Invalid, Forbidden) as error:
            # An invalid status may change to a valid one; without the right to write, none is
            # accepted.
            asked = ANYTHING if isinstance(error, Forbidden) else write.asked
            if self._refused.note(uid, asked, error):
                self._log.error("status_refused", object=str(write.object), error=str(error))
            self._observe(write, "refused")
        except KubeError as error:
            undeclared = _UNDECLARED.findall(str(error)) if isinstance(error, ServerError) else []
            if not undeclared:
                self._observe(write, "failed")
                self._fail("status_not_written", error)
                return Retry.LAST
            self._heard(write, None, tuple(sorted({*undeclared})))
        else:
            self._backoff.reset()
            share = our_share(status_document(stored.status), whole=True, without=write.left_out)
            named = (name for name, value in write.status.items() if value)
            self._heard(write, stored, tuple(sorted(name for name in named if name not in share)))
        return Retry.NO

    def _heard(
        self, write: StatusWrite, stored: ModelServing | None, pruned: tuple[str, ...]
    ) -> None:
        """Keep the answer for the next pass; nothing is stored if fields are not declared."""
        version, left = write.version, None
        if stored is not None:
            version, status = stored.metadata.resource_version, status_document(stored.status)
            whole = write.method is Method.REPLACE
            left = digest(our_share(status, whole=whole, without=write.left_out))
        answer = Answer(write.version, version, left, write.asked, write.left_out, pruned)
        self._answers[write.object.uid] = answer, loop_time() + BEHIND.total_seconds()
        is_changed = version != write.version
        if pruned:
            if not is_changed:  # then the watch reports nothing
                self._parts.changed()
            self._observe(write, "pruned")
            return
        if not is_changed and left == write.asked:
            self._parts.outdated(write.resource)  # All of it was stored; the watch showed less.
        self._observe(write, "written" if is_changed else "unchanged")

    def _observe(self, write: StatusWrite, outcome: str) -> None:
        self._writes.labels(write.method, outcome).inc()

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

    def writer(self, parts: WriterParts) -> StatusWriter:
        return StatusWriter(partial(write_status, parts.client), parts)


OUTPUT: Final = KthenaOutput()
