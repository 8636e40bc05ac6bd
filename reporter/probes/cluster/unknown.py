"""What the reporter cannot read: a blind reporter says so where operators look."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.model.catalogue import Catalogue
from reporter.model.finding import Finding, Unjudged
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import API_RESOURCE, CLUSTER, NAMESPACE_KIND, ObjectRef
from reporter.model.text import clean
from reporter.probes.cluster.blindness import Unseen, blind_message, named, unseen
from reporter.probes.cluster.crds import crd_ref
from reporter.probes.scope import Scope
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import namespace_ref


def probe_unknown_resources(scope: Scope) -> Iterator[Finding]:
    """Yield a finding for each cause for which resources that were asked for cannot be read.

    One line names them all, and the command that mends it. The one that has been unknown for the longest
    is the object at fault, so that the clock of a fault does not begin again with each further one.
    """
    involved = namespace_ref(scope.snapshot, scope.settings.release_namespace)
    for sight, unknown in sorted(unseen(scope.snapshot).items()):
        oldest = min(unknown, key=_since)
        yield Finding(
            reason=CLUSTER_STATUS_UNKNOWN,
            subject=CLUSTER,
            involved=involved,
            related=_related(oldest.resource),
            message=blind_message(sight, unknown),
            cause=clean(f"{named([str(each.resource) for each in unknown])} {sight.cause}"),
            transition=since.wall if (since := oldest.state.since) else None,
        )


def probe_unjudged(scope: Scope, unjudged: Iterable[Unjudged]) -> Iterator[Finding]:
    """Yield a finding for each subject or reason that a probe failed on: a fault of our own."""
    involved = namespace_ref(scope.snapshot, scope.settings.release_namespace)
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


def _object_of(unjudged: Unjudged, snapshot: Snapshot, catalogue: Catalogue) -> ObjectRef:
    """Return what tells one from the next; a probe is no object of the cluster."""
    subject = unjudged.about
    if unjudged.reason:
        name = f"{unjudged.reason}/{unjudged.probe}"
        return ObjectRef("status-reporter.io/v1", "Probe", "", name)
    if subject.kind == NAMESPACE_KIND:
        return namespace_ref(snapshot, subject.namespace)
    resource, *_ = catalogue.of_subject(subject.kind)
    return resource.ref_named(subject.namespace, subject.name)


def _related(resource: Resource[KubeObject]) -> ObjectRef:
    """Return what tells one unknown resource from the next; a built-in one has no object."""
    if resource.custom:
        return crd_ref(resource.crd_name)
    return ObjectRef("v1", API_RESOURCE, "", str(resource))


def _since(unseen: Unseen) -> tuple[bool, timedelta, str]:
    since = unseen.state.since
    return since is None, since.boot if since else timedelta(0), str(unseen.resource)
