"""Who requested what and whether it was allowed, by the audit log, and what RBAC grants."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from http import HTTPStatus
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from e2e.envtest.commands import Command

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


_CREATED = 201


class Grant(NamedTuple):
    """A verb on a resource; an empty namespace or name means all."""

    verb: str
    resource: str
    namespace: str
    name: str


def granted(kubectl: Command, release: str) -> set[Grant]:
    """Return the grants of the roles bound to the release's ServiceAccount."""
    return {
        grant
        for binding in _items(kubectl, release, "rolebindings,clusterrolebindings")
        if any(subject["kind"] == "ServiceAccount" for subject in binding["subjects"])
        for grant in _of_role(kubectl, binding)
    }


def _of_role(kubectl: Command, binding: dict[str, Any]) -> Iterator[Grant]:
    namespace = binding["metadata"].get("namespace", "")
    role = binding["roleRef"]
    place = ("-n", namespace) if role["kind"] == "Role" else ()
    found = json.loads(kubectl("get", role["kind"], role["name"], *place, "-o", "json"))
    for rule in found["rules"]:
        names = rule.get("resourceNames") or [""]
        for verb, group, plural, name in product(
            rule["verbs"], rule["apiGroups"], rule["resources"], names
        ):
            yield Grant(verb, _named(plural, group), namespace, name)


def _named(plural: str, group: str) -> str:
    """Return a resource as in the audit log: the group before a subresource."""
    resource, slash, subresource = plural.partition("/")
    return f"{resource}.{group}{slash}{subresource}" if group else plural


def _items(kubectl: Command, release: str, kinds: str) -> list[dict[str, Any]]:
    selector = f"app.kubernetes.io/instance={release}"
    found: list[dict[str, Any]] = json.loads(
        kubectl("get", kinds, "-A", "-l", selector, "-o", "json")
    )["items"]
    return found


def unused(grants: set[Grant], requests: Iterable[Request]) -> set[Grant]:
    """Return the grants that no request needed."""
    return grants - {grant for request in requests for grant in grants if _needed(grant, request)}


def _needed(grant: Grant, request: Request) -> bool:
    return (
        grant.resource == request.resource
        and grant.verb in _verbs(request)
        and grant.namespace in ("", request.namespace)
        and (not grant.name or f"metadata.name%3D{grant.name}" in request.uri
             or grant.name == request.name)
    )  # fmt: skip


def _verbs(request: Request) -> tuple[str, ...]:
    """A PUT or an apply of a missing object creates it, and needs both verbs."""
    if request.verb in ("update", "patch") and request.code == _CREATED:
        return (request.verb, "create")
    return (request.verb,)
