"""What is read for KServe alone."""

from typing import Final

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.kserve import objects

STACK: Final = "kserve"
"""Its name in `--stacks`."""

INFERENCESERVICE_KIND: Final = SubjectKind("inferenceservice")

INFERENCESERVICES: Final = Resource(
    group="serving.kserve.io", versions=("v1beta1",), plural="inferenceservices",
    kind="InferenceService", namespaced=True, custom=True,
    type=objects.InferenceService, purpose="InferenceServices, their revisions and conditions",
    stack=STACK, subject_kind=INFERENCESERVICE_KIND, observes_another=True,
)  # fmt: skip
KNATIVE_SERVICES: Final = Resource(
    group="serving.knative.dev", versions=("v1",), plural="services", kind="Service",
    namespaced=True, custom=True,
    type=objects.KnativeService, purpose="revisions and traffic of the components",
    label_selector="serving.kserve.io/inferenceservice", stack=STACK,
)  # fmt: skip
KNATIVE_REVISIONS: Final = Resource(
    group="serving.knative.dev", versions=("v1",), plural="revisions", kind="Revision",
    namespaced=True, custom=True,
    type=objects.KnativeRevision, purpose="whether a revision that gets traffic exists, and works",
    label_selector="serving.kserve.io/inferenceservice", stack=STACK,
)  # fmt: skip

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    INFERENCESERVICES,
    KNATIVE_SERVICES,
    KNATIVE_REVISIONS,
)
"""In the order of the ClusterRole."""
