"""What the reporter cannot see: whether connection, permission or version is to blame, and what mends it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.text import clean, is_label, is_subdomain
from reporter.snapshot.snapshot import (
    CREDENTIALS,
    FORBIDDEN,
    NOT_ASKED,
    NOT_LISTED,
    NOT_READ,
    OTHER_VERSIONS,
    ResourceState,
    Served,
    Snapshot,
)

NO_FAULT: Final = frozenset({NOT_READ.cause, "not in the dump", NOT_LISTED, NOT_ASKED})
"""Causes that say nobody tried, or that an answer is still waited for: no fault of the cluster."""

_NAMED: Final = 4
"""Most resources that a sentence names; the command that mends it names all."""

_COMMAND_BYTES: Final = 500
"""Room for the resources in a command; with the longest names of namespaces a message has 1,024."""

_ROLE: Final = "status-reporter-reads"

_PERMISSION: Final = re.compile(
    r"(?P<verbs>(?:get|list|watch)(?:, (?:get|list|watch)){0,2}) on [a-z0-9.-]+"
    r"(?:/(?P<name>[a-z0-9.-]+))?(?: in (?P<namespace>[a-z0-9-]+))?"
)
"""What a state says to be missing. A dump's header says it in its own words, and a command is made of them."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A resource that was asked for and cannot be read."""

    resource: Resource[KubeObject]
    state: ResourceState


@dataclass(frozen=True, slots=True, order=True)
class Sight:
    """Why something cannot be seen, in the words of its state.

    Attributes:
        cause: such as `forbidden`.
        verbs: what RBAC must grant; empty where that is not what is missing.
        namespace: where it must be granted; empty for all.
        name: of the one object that is meant; empty for all.

    """

    cause: str
    verbs: str = ""
    namespace: str = ""
    name: str = ""


def unseen(snapshot: Snapshot) -> dict[Sight, list[Unseen]]:
    """Return what was asked for and cannot be read, by cause, in the order of the names."""
    found: dict[Sight, list[Unseen]] = defaultdict(list)
    for resource, state in sorted(snapshot.states.items(), key=lambda item: str(item[0])):
        is_cut_off = str(resource) in snapshot.incomplete  # which is no fault of the cluster
        if state.served is Served.UNKNOWN and state.cause not in NO_FAULT and not is_cut_off:
            found[_sight(state)].append(Unseen(resource, state))
    return found


def _sight(state: ResourceState) -> Sight:
    if state.cause != FORBIDDEN or state.permission == CREDENTIALS:
        return Sight(state.permission if state.permission == CREDENTIALS else state.cause)
    missing = _PERMISSION.fullmatch(state.permission)
    name, namespace = (missing["name"] or "", missing["namespace"] or "") if missing else ("", "")
    if not missing or (name and not is_subdomain(name)) or (namespace and not is_label(namespace)):
        return Sight(state.cause)
    return Sight(state.cause, missing["verbs"], namespace, name)


def named(names: Iterable[str]) -> str:
    """Return a few names, and how many more there are."""
    each = list(dict.fromkeys(names))
    more = len(each) - _NAMED
    return ", ".join(each[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def blind_message(sight: Sight, unknown: Sequence[Unseen]) -> str:
    """Say what cannot be read, which kind of trouble it is, and the command that mends it."""
    names = list(dict.fromkeys(str(each.resource) for each in unknown))
    them = "it" if len(names) == 1 else "them"
    rests = f"so what depends on {them} is unknown"
    read = f"{named(names)} cannot be read ({sight.cause}), {rests}"
    first = unknown[0].resource
    if sight.cause == CREDENTIALS:
        text = (
            f"Credentials: {named(names)} cannot be read: the API server refuses the reporter's "
            f"credentials (expired or refused), {rests}; renew the token or the kubeconfig: "
            "kubectl auth whoami tells who they are"
        )
    elif sight.cause == FORBIDDEN:
        text = f"Permission: {read}; {_grant(sight, names)}"
    elif sight.cause.startswith(OTHER_VERSIONS):
        asked = f"kubectl api-resources --api-group={first.group}"
        text = f"Version: {read}; see what is served: {asked}"
    else:
        asked = f"kubectl get --raw {_path(first)}"
        text = f"Connection: {read}; see whether the API server answers: {asked}"
    return clean(text)


def _grant(sight: Sight, names: Sequence[str]) -> str:
    """Return what makes RBAC let the reporter read; `--user` takes ServiceAccounts too."""
    verbs = sight.verbs or "list, watch"
    listed = _fitting(names)
    then = f", then {len(names) - len(listed)} more" if len(listed) < len(names) else ""
    what = names[0] if len(names) == 1 else "these"
    place = f" -n {sight.namespace}" if sight.namespace else ""
    kind, short = ("role", "role") if place else ("clusterrole", "clusterrole")
    only = f" --resource-name={sight.name}" if sight.name else ""
    where = f" in {sight.namespace}" if sight.namespace else ""
    return (
        f"grant the reporter: {verbs} on {what}{where}{then}: "
        f"kubectl create {kind} {_ROLE}{place} --verb={verbs.replace(', ', ',')} "
        f"--resource={','.join(listed)}{only} && kubectl create {short}binding {_ROLE}{place} "
        f"--{kind}={_ROLE} --user=<account>"
    )


def _fitting(names: Sequence[str]) -> Sequence[str]:
    """Return as many names as an Event's message has room for, so that the command in it stays whole."""
    size = 0
    for count, name in enumerate(names):
        size += len(name) + 1
        if size > _COMMAND_BYTES:
            return names[:count]
    return names


def _path(resource: Resource[KubeObject]) -> str:
    """Return the path of API discovery for the group and version of a resource."""
    version = resource.versions[0]
    return f"/apis/{resource.group}/{version}" if resource.group else "/readyz?verbose"
