"""Label and field selectors."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lab.sandbox.errors import bad_request

_KEY = re.compile(r"([A-Za-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\((.*)\)$")
_EQUALITY = re.compile(r"^([^=!\s]+)\s*(==|=|!=)\s*(.*)$")
_MAX_VALUE = 63


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term; `values` is None for a test of existence."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def matches(self, values: Mapping[str, str]) -> bool:
        """Return whether labels or fields satisfy this term."""
        found = values.get(self.key)
        if self.values is None:
            return (found is not None) is not self.negated
        return (found is not None and found in self.values) is not self.negated


@dataclass(frozen=True, slots=True)
class Selector:
    """Terms that must all match."""

    requirements: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def matches(self, values: Mapping[str, str]) -> bool:
        """Return whether labels or fields satisfy every term."""
        return all(requirement.matches(values) for requirement in self.requirements)

    def exact(self, key: str) -> str | None:
        """Return the only value that `key` may have, or None if there are several or any."""
        for requirement in self.requirements:
            if requirement.key == key and requirement.values and not requirement.negated:
                (value, *others) = requirement.values
                return None if others else value
        return None


EVERYTHING = Selector()


def parse_labels(text: str) -> Selector:
    """Parse a label selector.

    Raises:
        ApiError: 400 if it cannot be parsed.
    """
    return Selector(tuple(_label_term(term, text) for term in _split(text)))


def _label_term(term: str, whole: str) -> Requirement:
    if match := _SET.match(term):
        key, operator, inside = match.groups()
        values = frozenset(value.strip() for value in inside.split(","))
        requirement = Requirement(key, values, operator == "notin")
    elif match := _EQUALITY.match(term):
        key, operator, value = match.groups()
        requirement = Requirement(key, frozenset({value.strip()}), operator == "!=")
    elif term.startswith("!"):
        requirement = Requirement(term[1:].strip(), None, negated=True)
    else:
        requirement = Requirement(term, None)
    if not _KEY.fullmatch(requirement.key):
        raise bad_request(f'unable to parse requirement: invalid label key "{term}" in "{whole}"')
    for value in requirement.values or ():
        if not _VALUE.fullmatch(value) or len(value) > _MAX_VALUE:
            raise bad_request(f'unable to parse requirement: values[0]: Invalid value: "{value}"')
    return requirement


def _split(text: str) -> list[str]:
    """Split at commas outside of parentheses; drop empty terms."""
    terms: list[str] = []
    depth = 0
    current = ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            terms.append(current)
            current = ""
        else:
            current += char
    terms.append(current)
    return [term.strip() for term in terms if term.strip()]


def parse_fields(text: str, supported: Callable[[str], bool], refusal: str) -> Selector:
    """Parse a field selector; `refusal` is the message for an unsupported field.

    Raises:
        ApiError: 400 if it cannot be parsed or uses an unsupported field.
    """
    requirements = []
    for term in filter(None, text.split(",")):
        match = re.match(r"^([^=!]*)(==|=|!=)(.*)$", term)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        key, operator, value = match.groups()
        if not supported(key):
            raise bad_request(refusal.format(key))
        value = re.sub(r"\\(.)", r"\1", value)
        requirements.append(Requirement(key, frozenset({value}), operator == "!="))
    return Selector(tuple(requirements))


def from_label_selector(selector: Mapping[str, object]) -> Selector:
    """Convert a LabelSelector object (matchLabels and matchExpressions)."""
    terms: list[Requirement] = []
    labels = selector.get("matchLabels")
    if isinstance(labels, dict):
        terms += [Requirement(str(key), frozenset({str(value)})) for key, value in labels.items()]
    expressions = selector.get("matchExpressions")
    for item in expressions if isinstance(expressions, list) else []:
        operator = item.get("operator")
        values = None if operator in {"Exists", "DoesNotExist"} else frozenset(item["values"])
        terms.append(Requirement(item["key"], values, operator in {"NotIn", "DoesNotExist"}))
    return Selector(tuple(terms))
