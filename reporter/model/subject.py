"""What a finding is about, and how Kubernetes objects are named."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, NewType, TypeAlias


class Layer(StrEnum):
    CLUSTER = "cluster"
    HARNESS = "modelharness"
    DEPLOYMENT = "modeldeployment"


SubjectKind = NewType("SubjectKind", str)
"""What a subject is; the value is the prefix of its text form. Each stack has kinds of its own."""

CLUSTER_KIND: Final = SubjectKind("cluster")
NAMESPACE_KIND: Final = SubjectKind("namespace")


class Subject(NamedTuple):
    """The cluster, one workload namespace, or one deployment of a model.

    Its text form is that of the contract: `cluster`, `namespace/<ns>`, `<kind>/<ns>/<name>`. A
    tuple, because thousands are sorted and looked up in each pass.
    """

    kind: SubjectKind
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

    @classmethod
    def of_namespace(cls, namespace: str) -> "Subject":
        return cls(NAMESPACE_KIND, namespace)


CLUSTER = Subject(CLUSTER_KIND)

API_RESOURCE: Final = "APIResource"
"""Kind of what stands for a built-in resource, as API discovery names it: it is no object."""


Place: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace and name of an object."""


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """A reference to one object, as in `involvedObject` and `related` of an Event.

    `uid` is carried along and does not take part in comparison: the same name is the same place
    for an operator, also after the object was recreated.
    """

    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    uid: str = field(default="", compare=False)

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def place(self) -> Place:
        """What it is in any version of its API."""
        return self.group, self.kind, self.namespace, self.name

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


CRD_KIND: Final = "CustomResourceDefinition"


def crd_ref(name: str) -> ObjectRef:
    return ObjectRef("apiextensions.k8s.io/v1", CRD_KIND, "", name)


class RequestStage(StrEnum):
    """A place on the way, in the order in which requests pass; the value is its title."""

    GATEWAY = "Gateway"
    ROUTING = "Routing"
    PICKER = "Endpoint picker"
    PODS = "Model pods"
