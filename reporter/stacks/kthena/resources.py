"""What is read for Kthena alone."""

from typing import Final

from reporter.model.objects import KubeObject, PodGroup
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.kthena import objects
from reporter.stacks.kthena.templates import without_templates

STACK: Final = "kthena"
"""Its name in `--stacks`."""

MODELSERVING_KIND: Final = SubjectKind("modelserving")

MODELSERVINGS: Final = Resource(
    group="workload.serving.volcano.sh", versions=("v1alpha1",), plural="modelservings",
    kind="ModelServing", namespaced=True, custom=True,
    type=objects.ModelServing, purpose="ModelServings, and the status that they should have",
    stack=STACK, subject_kind=MODELSERVING_KIND, slim=without_templates,
)  # fmt: skip
MODELSERVINGS_FORMER: Final = Resource(
    group="workload.volcano.sh", versions=("v1alpha1",), plural="modelservings",
    kind="ModelServing", namespaced=True, custom=True,
    type=objects.ModelServing, purpose="the same, in their former API group",
    stack=STACK, subject_kind=MODELSERVING_KIND, slim=without_templates,
)  # fmt: skip
PODGROUPS: Final = Resource(
    group="scheduling.volcano.sh", versions=("v1beta1",), plural="podgroups", kind="PodGroup",
    namespaced=True, custom=True,
    type=PodGroup, purpose="whether the pods of a ServingGroup can be scheduled together",
    stack=STACK,
)  # fmt: skip
CONTROLLERREVISIONS: Final = Resource(
    group="apps", versions=("v1",), plural="controllerrevisions", kind="ControllerRevision",
    namespaced=True,
    type=objects.ControllerRevision, purpose="which revision of a ModelServing a pod belongs to",
    label_selector="modelserving.volcano.sh/name", stack=STACK, slim=without_templates,
)  # fmt: skip

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    MODELSERVINGS,
    MODELSERVINGS_FORMER,
    PODGROUPS,
    CONTROLLERREVISIONS,
)
"""In the order of the ClusterRole."""
