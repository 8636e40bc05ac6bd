"""Subjects of findings, and references to Kubernetes objects."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, NewType, TypeAlias


class Layer(StrEnum):
    CLUSTER = "cluster"
    HARNESS = "modelharness"
    DEPLOYMENT = "modeldeployment"


SubjectKind = NewType("SubjectKind", str)
"""The kind of a subject, which is also the prefix of its text form. Stacks add their own kinds."""

CLUSTER_KIND: Final = SubjectKind("cluster")
NAMESPACE_KIND: Final = SubjectKind("namespace")


class Subject(NamedTuple):
    """The cluster, one workload namespace, or one deployment of a model.

    Its text form is `cluster`, `namespace/<ns>` or `<kind>/<ns>/<name>`. It is a tuple because each
    pass sorts and looks up thousands.
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
"""Kind of a reference to a built-in resource, as API discovery names it, and not to an object."""


Place: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace and name of an object."""


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """A reference to one object, as in `involvedObject` and `related` of an Event.

    `uid` does not take part in comparison: to an operator, the same name is the same place, even
    after the object was recreated.
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
        """The identity of the object across versions of its API."""
        return self.group, self.kind, self.namespace, self.name

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


CRD_KIND: Final = "CustomResourceDefinition"


def crd_ref(name: str) -> ObjectRef:
    return ObjectRef("apiextensions.k8s.io/v1", CRD_KIND, "", name)


class RequestStage(StrEnum):
    """A stage of the request path, in the order of requests; the value is its title."""

    GATEWAY = "Gateway"
    ROUTING = "Routing"
    PICKER = "Endpoint picker"
    PODS = "Model pods"
