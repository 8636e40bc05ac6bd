"""The setting `custom-components`: a list of declarations in the file of `--config`."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from typing import Annotated, Final

from pydantic import BeforeValidator, TypeAdapter
from pydantic_core import ErrorDetails

from reporter.catalogue.custom.checks import MOST_COMPONENTS, find_wrong
from reporter.catalogue.custom.extend import ALLOWED, DeclarationError, Problem, Wrong
from reporter.model.catalogue import Catalogue
from reporter.model.custom import CustomComponent, CustomCondition, CustomCrd, CustomWorkload
from reporter.model.text import meant
from reporter.setting_types import Allowed

FIELD: Final = "custom_components"

_ADAPTER: Final = TypeAdapter(CustomComponent)
_NAMING: Final = frozenset({"before", "after", "suppresses"})
_TEXTS: Final = ("summary", "action", "why")
PARTS: Final = {
    "": CustomComponent,
    "workload": CustomWorkload,
    "crd": CustomCrd,
    "condition": CustomCondition,
}


def key_of(field: str) -> str:
    """Return how a field of a declaration is written in the file."""
    return field.replace("_", "-")


def keys_of(part: str) -> tuple[str, ...]:
    return tuple(key_of(each.name) for each in fields(PARTS[part]))


def _declarations(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        raise ValueError("not a list in a file")  # noqa: TRY004 - what pydantic takes for a refusal
    if len(value) > MOST_COMPONENTS:
        raise ValueError(f"{len(value)} entries")
    return tuple(_entry(number, each) for number, each in enumerate(value, 1))


def _entry(number: int, entry: object) -> object:
    try:
        return _declaration(entry) if isinstance(entry, Mapping) else entry
    except ValueError as error:
        raise ValueError(f"entry {number}: {error}") from None


def _declaration(entry: Mapping[object, object]) -> dict[str, object]:
    found = _fields(entry)
    for part in PARTS:
        inner = found.get(part)
        if isinstance(inner, Mapping):
            found[part] = _fields(inner)
    condition = found.get("condition")
    if isinstance(condition, dict) and isinstance(condition.get("status"), bool):
        condition["status"] = str(condition["status"])  # an unquoted True in YAML
    if isinstance(found.get("grace_seconds"), bool):
        found["grace_seconds"] = str(found["grace_seconds"]).lower()  # it is no 1 or 0
    for key in _TEXTS:
        text = found.get(key)
        if isinstance(text, str):
            found[key] = " ".join(text.split())  # YAML leaves the breaks of `>` and `|`
    return found


def _fields(mapping: Mapping[object, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in mapping.items():
        field = str(key).replace("-", "_")
        if field in found:
            raise ValueError(f"{key_of(field)} is given twice, with - and with _")
        found[field] = value
    return {field: value for field, value in found.items() if value is not None}


def declared_right(
    components: tuple[CustomComponent, ...], catalogue: Catalogue
) -> tuple[CustomComponent, ...]:
    """Return declarations that are right in addition to a catalogue.

    Raises:
        DeclarationError: some are wrong.

    """
    wrong = find_wrong(components, catalogue)
    if wrong:
        raise DeclarationError(wrong)
    return components


CustomComponents = Annotated[
    tuple[CustomComponent, ...],
    BeforeValidator(_declarations),
    Allowed(f"a list of at most {MOST_COMPONENTS} declarations, in the file of --config"),
]


def wrong_form(error: ErrorDetails, given: object) -> Iterator[Wrong]:
    match error["loc"]:
        case (_, int(index), *path):
            parts = [key_of(each) for each in path if isinstance(each, str)]
            named = _named(given[index]) if isinstance(given, Sequence) else ""
            yield Wrong(index + 1, named, _form(error, parts))
        case _:
            pass


def wrong_in_catalogue(
    given: object, malformed: AbstractSet[int], catalogue: Catalogue
) -> Iterator[Wrong]:
    """Yield what is wrong with declarations whose form is right, next to others whose form is not.

    Names that may be those of the others are left out: they cannot be judged yet.
    """
    if not malformed or not isinstance(given, Sequence):
        return
    others = {_named(each) for entry, each in enumerate(given, 1) if entry in malformed}
    formed = {entry: each for entry, each in enumerate(given, 1) if entry not in malformed}
    components = [_ADAPTER.validate_python(_declaration(each)) for each in formed.values()]
    entries = tuple(formed)
    for each in find_wrong(components, catalogue):
        problem = each.problem
        names = problem.key in _NAMING and isinstance(problem.value, str)
        if not names or not others & {"", problem.value}:
            yield replace(each, entry=entries[each.entry - 1])


def _named(entry: object) -> str:
    reason = entry.get("reason") if isinstance(entry, Mapping) else None
    return reason if isinstance(reason, str) else ""


def _form(error: ErrorDetails, parts: Sequence[str]) -> Problem:
    key = ".".join(parts)
    if error["type"] == "unexpected_keyword_argument":
        *above, last = parts
        known = keys_of(".".join(above))
        return Problem(key, error["input"], ", ".join(known), f"no such key{meant(last, known)}")
    value = None if error["type"] == "missing" else error["input"]
    return Problem(key, value, ALLOWED[key])
