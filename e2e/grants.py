"""The permissions of a release, from RBAC, and those it used, from the audit log."""

import json
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from e2e.envtest.audit import Request
from e2e.envtest.commands import Command

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
    return json.loads(kubectl("get", kinds, "-A", "-l", selector, "-o", "json"))["items"]


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
