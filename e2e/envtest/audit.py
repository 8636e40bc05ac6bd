"""The API server's audit log: who requested what, and whether it was allowed."""

from collections.abc import Iterator
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec

WRITING: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})

_POD: Final = "authentication.kubernetes.io/pod-name"


class _User(msgspec.Struct):
    username: str = ""
    extra: dict[str, list[str]] = {}


class _Object(msgspec.Struct, rename="camel"):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    subresource: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _Line(msgspec.Struct, rename="camel"):
    stage: str
    verb: str
    request_received_timestamp: datetime
    request_u_r_i: str = msgspec.field(name="requestURI", default="")
    stage_timestamp: datetime | None = None
    user: _User = msgspec.field(default_factory=_User)
    object_ref: _Object = msgspec.field(default_factory=_Object)
    response_status: _Status = msgspec.field(default_factory=_Status)
    annotations: dict[str, str] = {}


class Request(msgspec.Struct, frozen=True):
    """One request that was answered.

    Attributes:
        at: when it came in.
        user: who sent it.
        pod: the pod that the token is bound to, which distinguishes replicas of one account.
        verb: as in RBAC.
        resource: plural with its group, such as `leases.coordination.k8s.io`; subresource after `/`.
        namespace: empty for a cluster-wide request.
        name: empty for a collection.
        code: status of the answer.
        allowed: whether the API server allowed it; false too if the user was not authenticated.
        uri: path and query.
    """

    at: datetime
    user: str
    pod: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    allowed: bool
    uri: str

    @property
    def writes(self) -> bool:
        """Whether it was a write."""
        return self.verb in WRITING


def requests(log: Path, user: str = "", *, since: int = 0) -> Iterator[Request]:
    """Yield the recorded requests, of one user or of all, oldest first.

    Args:
        log: the audit log.
        user: name of the user, such as `system:serviceaccount:kube-system:reporter`.
        since: where to start, in bytes: an earlier size of the log.
    """
    decoder = msgspec.json.Decoder(_Line)
    with log.open("rb") as lines:
        lines.seek(since)
        for text in lines:
            if not text.endswith(b"\n"):
                return
            line = decoder.decode(text)
            if _counts(line) and user in ("", line.user.username):
                yield _request(line)


def _counts(line: _Line) -> bool:
    """A watch is recorded twice: when it is answered and when it ends."""
    if line.verb == "watch":
        refused = line.response_status.code not in range(1, HTTPStatus.MULTIPLE_CHOICES)
        return line.stage == "ResponseStarted" or (refused and line.stage == "ResponseComplete")
    return line.stage in ("ResponseComplete", "Panic")


def _request(line: _Line) -> Request:
    it = line.object_ref
    plural = f"{it.resource}.{it.api_group}" if it.api_group else it.resource
    return Request(
        at=line.request_received_timestamp,
        user=line.user.username,
        pod="".join(line.user.extra.get(_POD, ())),
        verb=line.verb,
        resource=f"{plural}/{it.subresource}" if it.subresource else plural,
        namespace=it.namespace,
        name=it.name,
        code=line.response_status.code,
        allowed=line.annotations.get("authorization.k8s.io/decision") == "allow",
        uri=line.request_u_r_i,
    )
