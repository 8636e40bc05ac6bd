"""Findings about what the reporter cannot see, with the cause (connection, credentials, permission,
version) and the remedy; and the memory of shared parts from one evaluation to the next.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.resources import COMPONENT, DEPLOYMENTS, EVENTS, LABEL_PREFIX
from reporter.model.catalogue import Catalogue
from reporter.model.finding import Finding, Unjudged
from reporter.model.objects import Event, KubeObject
from reporter.model.resource import AnyResource, PartKey, Seen
from reporter.model.subject import API_RESOURCE, CLUSTER, NAMESPACE_KIND, ObjectRef, crd_ref
from reporter.model.text import clean, is_label, is_subdomain
from reporter.probes.cluster.parts import VANISHED, RequiredCrd, required_crds
from reporter.probes.scope import Scope
from reporter.settings import EvaluationSettings
from reporter.snapshot import snapshot as s
from reporter.workload import components

NO_FAULT: Final = frozenset({s.NOT_READ.cause, "not in the dump", s.NOT_LISTED, s.NOT_ASKED})
"""Causes that mean not tried or not answered yet, so they are not faults of the cluster."""

_NAMED: Final = 4
"""Maximum resources named in a sentence; the command that repairs it names all."""

_COMMAND_BYTES: Final = 500
"""Maximum bytes of the resources in a command: with the longest namespaces, a message has 1,024."""

_ROLE: Final = "status-reporter-reads"

_PERMISSION: Final = re.compile(
    r"(?P<verbs>(?:get|list|watch)(?:, (?:get|list|watch)){0,2}) on [a-z0-9.-]+"
    r"(?:/(?P<name>[a-z0-9.-]+))?(?: in (?P<namespace>[a-z0-9-]+))?"
)
"""The missing permission in a resource's state, which may come from a dump's header; parsed because
it becomes part of a command."""


Unseen: TypeAlias = tuple[AnyResource, s.ResourceState]
"""A resource that was requested and cannot be read."""


@dataclass(frozen=True, slots=True, order=True)
class Sight:
    """Why a resource cannot be seen. `cause` is that of its state, such as `forbidden`.

    `verbs` are what RBAC must grant, empty if permission is not the problem. An empty `namespace`
    means all namespaces, an empty `name` all objects.
    """

    cause: str
    verbs: str = ""
    namespace: str = ""
    name: str = ""


def unseen(snapshot: s.Snapshot) -> dict[Sight, list[Unseen]]:
    """Return the requested resources that cannot be read, by cause, sorted by name."""
    found: dict[Sight, list[Unseen]] = defaultdict(list)
    for resource, state in sorted(snapshot.states.items(), key=lambda item: str(item[0])):
        is_cut_off = str(resource) in snapshot.incomplete  # not a fault of the cluster
        if state.served is s.Served.UNKNOWN and state.cause not in NO_FAULT and not is_cut_off:
            found[_sight(state)].append((resource, state))
    return found


def _sight(state: s.ResourceState) -> Sight:
    if state.cause != s.FORBIDDEN or state.permission == s.CREDENTIALS:
        return Sight(state.permission if state.permission == s.CREDENTIALS else state.cause)
    missing = _PERMISSION.fullmatch(state.permission)
    name, namespace = (missing["name"] or "", missing["namespace"] or "") if missing else ("", "")
    if not missing or (name and not is_subdomain(name)) or (namespace and not is_label(namespace)):
        return Sight(state.cause)
    return Sight(state.cause, missing["verbs"], namespace, name)


def named(names: Iterable[str]) -> str:
    """Return a few names, and the number of the others."""
    each = list(dict.fromkeys(names))
    more = len(each) - _NAMED
    return ", ".join(each[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def blind_message(sight: Sight, unknown: Sequence[Unseen]) -> str:
    """Return a message: what cannot be read, the kind of trouble, and the command to repair it."""
    names = list(dict.fromkeys(str(resource) for resource, _ in unknown))
    them = "it" if len(names) == 1 else "them"
    rests = f"so what depends on {them} is unknown"
    read = f"{named(names)} cannot be read ({sight.cause}), {rests}"
    first, _ = unknown[0]
    if sight.cause == s.CREDENTIALS:
        text = (
            f"Credentials: {named(names)} cannot be read: the API server refuses the reporter's "
            f"credentials (expired or refused), {rests}; renew the token or the kubeconfig: "
            "kubectl auth whoami tells who they are"
        )
    elif sight.cause == s.FORBIDDEN:
        text = f"Permission: {read}; {_grant(sight, names)}"
    elif sight.cause.startswith(s.OTHER_VERSIONS):
        asked = f"kubectl api-resources --api-group={first.group}"
        text = f"Version: {read}; see what is served: {asked}"
    else:
        path = f"/apis/{first.group}/{first.versions[0]}" if first.group else "/readyz?verbose"
        asked = f"kubectl get --raw {path}"
        text = f"Connection: {read}; see whether the API server answers: {asked}"
    return clean(text)


def _grant(sight: Sight, names: Sequence[str]) -> str:
    """Return the RBAC commands that let the reporter read; `--user` accepts ServiceAccounts too."""
    verbs = sight.verbs or "list, watch"
    listed = _fitting(names)
    then = f", then {len(names) - len(listed)} more" if len(listed) < len(names) else ""
    what = names[0] if len(names) == 1 else "these"
    place = f" -n {sight.namespace}" if sight.namespace else ""
    kind = "role" if place else "clusterrole"
    only = f" --resource-name={sight.name}" if sight.name else ""
    where = f" in {sight.namespace}" if sight.namespace else ""
    return (
        f"grant the reporter: {verbs} on {what}{where}{then}: kubectl create {kind} {_ROLE}{place} "
        f"--verb={verbs.replace(', ', ',')} --resource={','.join(listed)}{only} && kubectl create "
        f"{kind}binding {_ROLE}{place} --{kind}={_ROLE} --user=<account>"
    )


def _fitting(names: Sequence[str]) -> Sequence[str]:
    """Return as many names as fit into an Event's message, so that its command is complete."""
    size = 0
    for count, name in enumerate(names):
        size += len(name) + 1
        if size > _COMMAND_BYTES:
            return names[:count]
    return names


def probe_unknown_resources(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each cause for which requested resources cannot be read.

    One line names them and the command to repair it. The resource that has been unknown for longest
    is the object at fault, so that further ones do not restart the clock of the fault.
    """
    involved = components.namespace_ref(scope.snapshot, scope.settings.release_namespace)
    for sight, unknown in sorted(unseen(scope.snapshot).items()):
        oldest, state = min(unknown, key=_since)
        yield Finding(
            reason=CLUSTER_STATUS_UNKNOWN,
            subject=CLUSTER,
            involved=involved,
            # Distinguishes unknown resources; a built-in one has no object.
            related=crd_ref(oldest.crd_name)
            if oldest.custom
            else ObjectRef("v1", API_RESOURCE, "", str(oldest)),
            message=blind_message(sight, unknown),
            cause=clean(f"{named([str(resource) for resource, _ in unknown])} {sight.cause}"),
            transition=state.since.wall if state.since else None,
        )


def probe_unjudged(scope: Scope, unjudged: Iterable[Unjudged]) -> Iterator[Finding]:
    """Yield a finding for each subject or reason on which a probe failed: a bug of ours."""
    involved = components.namespace_ref(scope.snapshot, scope.settings.release_namespace)
    for each in sorted(unjudged):
        yield Finding(
            reason=CLUSTER_STATUS_UNKNOWN,
            subject=CLUSTER,
            involved=involved,
            related=_object_of(each, scope.snapshot, scope.settings.catalogue),
            message=clean(
                f"{each} cannot be judged ({each.cause}), so its status is unknown; this is a bug "
                "of the reporter: report it, with what is unusual about its objects"
            ),
            cause=clean(f"{each}: {each.cause}"),
        )


def _object_of(unjudged: Unjudged, snapshot: s.Snapshot, catalogue: Catalogue) -> ObjectRef:
    """Return a reference that distinguishes them; a probe is not an object of the cluster."""
    subject = unjudged.about
    if unjudged.reason:
        name = f"{unjudged.reason}/{unjudged.probe}"
        return ObjectRef("status-reporter.io/v1", "Probe", "", name)
    if subject.kind == NAMESPACE_KIND:
        return components.namespace_ref(snapshot, subject.namespace)
    resource, *_ = catalogue.of_subject(subject.kind)
    return resource.ref_named(subject.namespace, subject.name)


def _since(unseen: Unseen) -> tuple[bool, timedelta, str]:
    resource, state = unseen
    return state.since is None, state.since.boot if state.since else timedelta(0), str(resource)


_OVER = "over"


def look_again(snapshot: s.Snapshot, settings: EvaluationSettings, before: Seen) -> Seen:
    """Return the shared parts seen before, in our recorded Events, and now.

    A firing Event shows that its Deployment existed if it has the uid; the Event of a Deployment
    that was never seen has none.
    """
    parts, crds = components.components(settings), required_crds(settings)
    there = {**_recorded(snapshot, parts, crds), **before.there}
    for part in parts:
        if found := part.found(snapshot, before.there):
            there[part.key] = DEPLOYMENTS.ref(found[0])
    there.update(
        (each.key, crd_ref(each.name))
        for each in crds
        # Another part may need this very CRD and not accept that of the other group.
        if snapshot.discovery.state(each.name) is s.Served.SERVED
    )
    expected: tuple[components.ControlPlaneComponent | RequiredCrd, ...] = (*parts, *crds)
    needed = (
        (each.key, components.still_needed_by(each.key, each.needs, snapshot, seen=before))
        for each in expected
        if each.key not in there or each.key in before.needed
    )
    return Seen(there, {key: by for key, by in needed if by})


def _recorded(
    snapshot: s.Snapshot,
    parts: tuple[components.ControlPlaneComponent, ...],
    crds: tuple[RequiredCrd, ...],
) -> dict[PartKey, ObjectRef]:
    found: dict[PartKey, ObjectRef] = {}
    # An hour of trouble leaves thousands of Events that are over.
    for event in snapshot[EVENTS].showing(_goes_on):
        about = (event.reason, event.involved_object.name)
        if VANISHED in event.message:
            found.update((each.key, crd_ref(each.name)) for each in crds if each.key == about)
        found.update((each.key, ref) for each in parts for ref in _recorded_deployment(event, each))
    return found


def _goes_on(event: KubeObject) -> bool:
    state = event.metadata.label(f"{LABEL_PREFIX}state")
    is_ours = isinstance(event, Event) and event.source.component == COMPONENT
    return is_ours and state is not None and state != _OVER


def _recorded_deployment(
    event: Event, component: components.ControlPlaneComponent
) -> Iterator[ObjectRef]:
    related = event.related
    if related is None or not related.uid or related.kind != DEPLOYMENTS.kind:
        return
    if event.reason == component.reason and component.is_named(related.name):
        ref = DEPLOYMENTS.ref_named(related.namespace, related.name)
        yield ObjectRef(ref.api_version, ref.kind, ref.namespace, ref.name, related.uid)
