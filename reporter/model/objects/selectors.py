"""Label selectors."""

from reporter.model.objects.base import Labels, Part


class SelectorRequirement(Part, frozen=True):
    """An entry of `matchExpressions`."""

    key: str
    operator: str
    values: frozenset[str] | None = None


class LabelSelector(Part, frozen=True):
    """A label selector."""

    match_labels: Labels | None = None
    match_expressions: tuple[SelectorRequirement, ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from other selectors, for a mapping."""
        return tuple(sorted((self.match_labels or {}).items())), self.match_expressions

    def matches(self, labels: Labels | None) -> bool:
        """Tell whether an object with these labels is selected; an empty selector selects all."""
        labels = labels or {}
        if any(labels.get(key) != value for key, value in (self.match_labels or {}).items()):
            return False
        return all(_meets(labels, each) for each in self.match_expressions or ())


def _meets(labels: Labels, requirement: SelectorRequirement) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in (requirement.values or ())
        case "NotIn":
            return value is None or value not in (requirement.values or ())
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
