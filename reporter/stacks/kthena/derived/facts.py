"""What the status of one ModelServing rests on."""

from dataclasses import dataclass
from operator import is_
from typing import Final

from reporter.catalogue.resources import PODS, SERVICES
from reporter.model.objects import KubeObject, Pod, PodGroup, Service
from reporter.model.resource import Resource
from reporter.snapshot.decode import belongs_to
from reporter.snapshot.snapshot import Served, Snapshot
from reporter.stacks.kthena.objects import NAME_LABEL, ControllerRevision, ModelServing
from reporter.stacks.kthena.resources import CONTROLLERREVISIONS, PODGROUPS

_CHILDREN: Final[tuple[Resource[KubeObject], ...]] = (
    PODS,
    SERVICES,
    PODGROUPS,
    CONTROLLERREVISIONS,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelServingFacts:
    """A ModelServing and the objects that carry its name as a label.

    Attributes:
        modelserving: the object, with the status on record.
        pods: pods with its name, of whatever owner.
        services: Services with its name, of whatever owner.
        pod_groups: PodGroups with its name; None where PodGroups are not in use: their CRD is not
            served, or another scheduler than Volcano is asked for.
        revisions: ControllerRevisions with its name, of whatever owner.
        unread: names of the resources of which not all objects could be read. A status that is
            computed while there are any must not be written: what was not read may exist.

    """

    modelserving: ModelServing
    pods: tuple[Pod, ...] = ()
    services: tuple[Service, ...] = ()
    pod_groups: tuple[PodGroup, ...] | None = None
    revisions: tuple[ControllerRevision, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[tuple[object, ...], ...]:
        """The objects, to be compared by identity: see `unchanged`."""
        groups = self.pod_groups
        shape = (groups is not None, self.unread)
        objects = ((self.modelserving,), self.pods, self.services, groups or (), self.revisions)
        return (shape, *objects)

    def unchanged(self, other: "ModelServingFacts") -> bool:
        """Tell whether these are the same objects, so that the same would be derived."""
        (shape, *mine), (their_shape, *theirs) = self.inputs, other.inputs
        return shape == their_shape and all(
            len(one) == len(two) and all(map(is_, one, two))
            for one, two in zip(mine, theirs, strict=True)
        )


def facts_of(modelserving: ModelServing, snapshot: Snapshot) -> ModelServingFacts:
    """Collect what the status of a ModelServing rests on."""
    place = (modelserving.namespace, NAME_LABEL, modelserving.name)
    sought = belongs_to(modelserving.name, NAME_LABEL)
    in_use = modelserving.uses_volcano and snapshot.state(PODGROUPS).served is not Served.ABSENT
    needed = (each for each in _CHILDREN if in_use or each is not PODGROUPS)
    return ModelServingFacts(
        modelserving=modelserving,
        pods=snapshot[PODS].labelled(*place),
        services=snapshot[SERVICES].labelled(*place),
        pod_groups=snapshot[PODGROUPS].labelled(*place) if in_use else None,
        revisions=snapshot[CONTROLLERREVISIONS].labelled(*place),
        unread=tuple(
            str(each)
            for each in needed
            if not snapshot.absence_known(each, modelserving.namespace, sought=sought)
        ),
    )
