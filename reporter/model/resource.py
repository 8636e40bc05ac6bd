"""A resource of the Kubernetes API that the reporter reads, and label selectors as text."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from reporter.model.objects import KubeObject
from reporter.model.objects.base import LabelSelector, SelectorRequirement
from reporter.model.subject import ObjectRef, SubjectKind
from reporter.model.text import cut, is_label_key, is_label_value

_LONGEST_NAME: Final = 253

ObjectT_co = TypeVar("ObjectT_co", bound=KubeObject, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Resource(Generic[ObjectT_co]):
    """One resource: how it is addressed, how it is decoded, and why it is read.

    The reporter uses the first of `versions` that the cluster serves; the preferred one comes
    first. `purpose` goes into the documentation and the rendered RBAC rules. `custom`: a
    CustomResourceDefinition defines it, so it may be absent. A resource without a `stack` is always
    read. `subject_kind`: its objects are subjects; the other resources of a stack are watched while
    a resource with subjects of that stack is served.

    `wide`: RBAC cannot select by label, so the right to read it covers far more than the selected
    objects; it is read only if its stack is `on`, and expected nowhere else. `opt_in` is the
    setting that turns it on; a dump is read for it in any case. `observes_another`:
    `status.observedGeneration` is the generation of another object. `seldom`: a dump without the
    resource means that there are no objects. `explains`: no verdict depends on its absence, and a
    dump without it is complete. `unjudged`: its objects are only counted. `slim` removes what the
    daemon need not keep. `wraps` tells whether a subject is judged in place of the models of other
    kinds that it controls.
    """

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    type: type[ObjectT_co]
    purpose: str
    _: KW_ONLY
    namespaced: bool = True
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
        return f"{self}[{self.label_selector}]" if self.label_selector else str(self)

    @property
    def crd_name(self) -> str:
        return str(self)

    def api_version(self) -> str:
        version = self.versions[0]
        return f"{self.group}/{version}" if self.group else version

    def ref(self, obj: KubeObject) -> ObjectRef:
        meta = obj.metadata
        return ObjectRef(self.api_version(), self.kind, meta.namespace, meta.name, meta.uid)

    def ref_named(self, namespace: str, name: str) -> ObjectRef:
        if len(name) > _LONGEST_NAME or len(namespace) > _LONGEST_NAME:
            # No object has such a name; a tenant could have a megabyte repeated in every output.
            namespace, name = cut(namespace, _LONGEST_NAME), cut(name, _LONGEST_NAME)
        return ObjectRef(self.api_version(), self.kind, namespace, name)


AnyResource: TypeAlias = Resource[KubeObject]

_TERM: Final = re.compile(r"(?:[^,(]++|\([^)]*+\)?+)*+(?:,|\Z)")
_SET: Final = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY: Final = re.compile(r"([^=!\s]+)\s*(==|=|!=)\s*([^=!\s]*)")
_EXISTENCE: Final = re.compile(r"(!?)\s*([^=!\s()]+)")


def parse_selector(text: str) -> LabelSelector:
    """Parse a label selector; an empty one selects all. Raises ValueError if it is invalid."""
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
"""A reason of the cluster layer, and the name of the Deployment or CRD that it is about."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What earlier passes saw, or our recorded Events show.

    `there`: Deployments and CRDs of shared parts. `needed`: the object that last showed the need
    for a part.
    """

    there: Mapping[PartKey, ObjectRef] = field(default_factory=dict)
    needed: Mapping[PartKey, str] = field(default_factory=dict)
