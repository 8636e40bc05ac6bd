"""Label selectors as text, such as `app=qdrant,tier in (a, b),!canary`."""

import re
from collections.abc import Iterator
from typing import Final

from reporter.model.names import is_label_key, is_label_value
from reporter.model.objects.selectors import LabelSelector, SelectorRequirement

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
