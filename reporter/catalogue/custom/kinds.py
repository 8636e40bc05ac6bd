"""What a declaration is about, as its name tells."""

from reporter.model.catalogue import Catalogue
from reporter.model.custom import CustomComponent
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, SubjectKind


def prefixes_of(layer: Layer, catalogue: Catalogue) -> tuple[str, ...]:
    """Return what names of reasons of a layer begin with."""
    match layer:
        case Layer.CLUSTER:
            return ("cluster",)
        case Layer.HARNESS:
            return ("modelharness",)
        case _:
            return tuple(kind for stack in catalogue.stacks for kind in stack.kinds)


def kind_of(component: CustomComponent, catalogue: Catalogue) -> SubjectKind | None:
    """Return the kind of subject that a declaration is about; None if its name does not tell."""
    prefixes = prefixes_of(component.layer, catalogue)
    found = next((each for each in prefixes if component.reason.startswith(each)), None)
    match component.layer:
        case Layer.CLUSTER:
            return CLUSTER_KIND if found else None
        case Layer.HARNESS:
            return NAMESPACE_KIND if found else None
        case _:
            return SubjectKind(found) if found else None
