"""A resource of the Kubernetes API that the reporter reads.

Label selectors as text, such as `app=qdrant,tier in (a, b),!canary`.

What a process remembers of shared parts: what vanished was there, and what is hidden was needed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from reporter.model.objects import KubeObject
from reporter.model.objects.base import LabelSelector, SelectorRequirement
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.model.text import is_label_key, is_label_value

ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource(Generic[ObjectT_co]):
    """One resource: how it is addressed, how it is decoded, and why it is read.

    Attributes:
        group: API group, empty for the core group.
        versions: versions whose fields we know, the preferred first; the first one that the
            cluster serves is used.
        plural: name in URLs and in RBAC rules.
        kind: name in documents.
        purpose: why it is read, for the documentation and the rendered RBAC rules.
        label_selector: restricts what is listed and watched; empty reads all.
        custom: defined by a CustomResourceDefinition, so it may be absent from a cluster.
        stack: name of the stack that it is read for; where it is empty, it is read in any case.
        wide: the right to read it reaches much further than what is selected, for RBAC knows no
            labels; so it is read only where its stack is `on`, and missed nowhere else.
        opt_in: the setting that asks for it, as it stands in code; without that it is not read of
            a cluster. Of a dump it is read where it is there.
        observes_another: `status.observedGeneration` of its objects is that of another object, so that
            it does not tell whether a condition is of the present spec.
        seldom: few clusters have it, so that a dump without it says that there is none.
        explains: it only says why something else is at fault: no verdict rests on its absence, and a
            dump without it lacks nothing.
        unjudged: its objects are counted only, so that silence about them is not taken for health.
        slim: leaves out what the daemon need not keep of an object, where its author writes what he likes.
        subject_kind: its objects are subjects of this kind. What else is read for a stack is
            watched while a resource with subjects of that stack is served.
        wraps: tells whether a subject is judged in place of models of other kinds that it controls; None
            where it makes none.

    """

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    namespaced: bool
    type: type[ObjectT_co]
    purpose: str
    label_selector: str = ""
    custom: bool = False
    stack: str = ""
    wide: bool = False
    opt_in: str = ""
    observes_another: bool = False
    seldom: bool = False
    explains: bool = False
    unjudged: bool = False
    slim: Callable[[KubeObject], KubeObject] | None = None
    subject_kind: SubjectKind | None = None
    wraps: Callable[[KubeObject], bool] | None = None

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def selection(self) -> str:
        """The text form and the label selector, which tells two resources of one kind apart."""
        return f"{self}[{self.label_selector}]" if self.label_selector else str(self)

    @property
    def crd_name(self) -> str:
        """Name of the CustomResourceDefinition, the same as the text form."""
        return str(self)

    def api_version(self) -> str:
        """Return `group/version` of the preferred version; in the core group the version alone."""
        version = self.versions[0]
        return f"{self.group}/{version}" if self.group else version

    def ref(self, obj: KubeObject) -> ObjectRef:
        """Return the reference to an object of this resource."""
        meta = obj.metadata
        return ObjectRef(self.api_version(), self.kind, meta.namespace, meta.name, meta.uid)

    def ref_named(self, namespace: str, name: str) -> ObjectRef:
        """Return the reference to an object that may not exist."""
        return ObjectRef(self.api_version(), self.kind, namespace, name)


_TERM: Final = re.compile(r"(?:[^,(]++|\([^)]*+\)?+)*+(?:,|\Z)")
_SET: Final = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY: Final = re.compile(r"([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)")
_EXISTENCE: Final = re.compile(r"(!?)\s*([^=!\s()]+)")


def parse_selector(text: str) -> LabelSelector:
    """Return what a label selector selects; an empty one selects all.

    Raises:
        ValueError: it is none.

    """
    terms = []
    if text.strip():
        terms = [each.removesuffix(",") for each in _TERM.findall(f"{text},") if each]
    return LabelSelector(match_expressions=tuple(_requirement(each.strip()) for each in terms))


def _requirement(term: str) -> SelectorRequirement:
    for found in _read(term):
        if is_label_key(found.key) and all(map(is_label_value, found.values or ())):
            return found
    raise ValueError(f"{term!r} is not a term of a label selector")


def _read(term: str) -> Iterator[SelectorRequirement]:
    if match := _SET.fullmatch(term):
        key, operator, listed = match.groups()
        values = frozenset(each.strip() for each in listed.split(","))
        yield SelectorRequirement(key, "In" if operator == "in" else "NotIn", values)
    elif match := _EQUALITY.fullmatch(term):
        key, operator, value = match.groups()
        yield SelectorRequirement(key, "NotIn" if operator == "!=" else "In", frozenset((value,)))
    elif match := _EXISTENCE.fullmatch(term):
        absent, key = match.groups()
        yield SelectorRequirement(key, "DoesNotExist" if absent else "Exists")


PartKey: TypeAlias = tuple[str, str]
"""A reason of the cluster and what it is about: the name of a Deployment, or of a CRD."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What earlier passes saw, and our Events on record tell.

    Attributes:
        there: Deployments and CRDs of shared parts that were there, each with its reference.
        needed: which object showed the need of a part when it could be read last.

    """

    there: Mapping[PartKey, ObjectRef] = field(default_factory=dict)
    needed: Mapping[PartKey, str] = field(default_factory=dict)
