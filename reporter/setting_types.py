"""Types of settings: choices, formats and limits, with descriptions for error messages."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter
from pydantic_core import ErrorDetails

from reporter.catalogue.custom.checks import MOST_COMPONENTS, find_wrong
from reporter.catalogue.custom.extend import ALLOWED, DeclarationError, Problem, Wrong
from reporter.catalogue.runtime import THRESHOLDS
from reporter.model.catalogue import (
    Catalogue,
    CustomComponent,
    CustomCondition,
    CustomCrd,
    CustomWorkload,
)
from reporter.model.resource import parse_selector
from reporter.model.text import is_label, is_subdomain, meant


class Emit(StrEnum):
    CAUSES = "causes"
    PRIMARY = "primary"
    FIRING = "firing"


class StackMode(StrEnum):
    """Whether a stack is looked at.

    `auto` looks at the kinds of it that the cluster serves; `on` also reads kinds that take wide
    permissions, and sets its controller and its CustomResourceDefinitions to `on` as parts.
    """

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class PartMode(StrEnum):
    """Whether a shared part is expected.

    With `auto` it is reported as missing if something in the cluster needs it, or if it was there
    and vanished; with `on` in any case; with `off` it is not looked at.
    """

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class PartPlace:
    """Where the Deployment of a shared part is; without a namespace, in one of the usual ones."""

    deployment: str
    namespace: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.namespace, self.deployment)))


class TimeBudget(StrEnum):
    """What may take long, and is allowed a time of its own by `--grace`."""

    NODE_BOOT = "node-boot"
    MODEL_STARTUP = "model-startup"
    LOAD_BALANCER = "load-balancer"


BUDGETS: Final[Mapping[str, int]] = {
    TimeBudget.NODE_BOOT: 900,
    TimeBudget.MODEL_STARTUP: 1800,
    TimeBudget.LOAD_BALANCER: 300,
}
"""The usual budgets, in seconds."""


class ScrapeVia(StrEnum):
    AUTO = "auto"
    DIRECT = "direct"
    APISERVER_PROXY = "apiserver-proxy"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The allowed values of a setting, for messages; the rest of the annotation enforces them.

    `{stacks}` stands for the names of all stacks, `{parts}` for those of all shared parts.
    """

    text: str


class SettingError(ValueError):
    def __init__(self, field: str, allowed: str) -> None:
        super().__init__(field, allowed)
        self.field = field
        self.allowed = allowed


ReasonsT = TypeVar("ReasonsT", tuple[str, ...], dict[str, int])
_ADDRESS: Final = re.compile(r"(?P<host>[A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_LAST_PORT: Final = 65_535


def bind_address(text: str) -> tuple[str, int] | None:
    """Parse `host:port`; an empty host means all addresses. Return None for `0`.

    Raises ValueError: it is not an address.
    """
    if text == "0":
        return None
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > _LAST_PORT:
        raise ValueError("not an address")
    return match["host"].strip("[]"), int(match["port"])


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _pairs(value: object) -> object:
    if isinstance(value, str):
        value = _split(value)
    if isinstance(value, (tuple, list)):
        pairs: dict[str, str] = {}
        for part in value:
            name, equals, seconds = str(part).partition("=")
            if not equals:
                raise ValueError(f"{part!r} has no =")
            pairs[name.strip()] = seconds.strip()
        return pairs
    return value


def _is_address(text: str) -> str:
    bind_address(text)
    return text


def _mode(value: object) -> object:
    """Turn YAML's booleans, which unquoted `on` and `off` are, back into words."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _part(value: object) -> object:
    value = _mode(value)
    if not isinstance(value, str) or value in tuple(PartMode):
        return value
    namespace, slash, deployment = value.rpartition("/")
    if not is_subdomain(deployment) or (slash and not is_label(namespace)):
        raise ValueError(f"{value!r} is neither a mode nor [NAMESPACE/]DEPLOYMENT")
    return PartPlace(deployment, namespace)


def _thresholds_fit(values: dict[str, float]) -> dict[str, float]:
    for name, value in values.items():
        known = THRESHOLDS.get(name)
        if known is None:
            raise ValueError(f"{name!r} is not a threshold{meant(name, THRESHOLDS)}")
        if not 0 <= value <= known.most:
            raise ValueError(f"{name}={value:g} is not in 0 to {known.most:g}")
    return values


def _are_links(fields: dict[str, str]) -> dict[str, str]:
    for name in ("docs", "dashboard"):
        if not _WEB_URL.fullmatch(fields.get(name, "")):
            raise ValueError(f"{name} is not a URL that begins with http")
    return fields


def _fits(is_right: Callable[[str], object], what: str) -> AfterValidator:
    def check(text: str) -> str:
        if not is_right(text):
            raise ValueError(f"{text!r} is not {what}")
        return text

    return AfterValidator(check)


DISCOVERED: Final = "dns+"
"""Prefix of a URL that stands for each address of its host name."""

_SERVER_URL: Final = re.compile(
    r"(dns\+)?https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?"
)
_WEB_URL: Final = re.compile(r"(https?://[^\s@]+)?")

_name_of_object: Final = _fits(lambda name: not name or is_subdomain(name), "the name of an object")

YamlSwitch: Final = BeforeValidator(_mode)
"""For a choice with `on` or `off`."""

Seconds = Annotated[int, Field(ge=0, le=86_400)]
Reasons = Annotated[
    tuple[str, ...],
    BeforeValidator(_split),
    Allowed("reasons of the catalogue, or runtime, comma-separated"),
]
Namespace = Annotated[
    str, _fits(is_label, "the name of a namespace"), Allowed("the name of a namespace")
]
Namespaces = Annotated[
    tuple[Namespace, ...],
    BeforeValidator(_split),
    Allowed("names of namespaces, comma-separated"),
]
Hosts = Annotated[
    tuple[Annotated[str, _fits(is_subdomain, "a name in lower case, without port")], ...],
    BeforeValidator(_split),
    Allowed("names in DNS, comma-separated, without ports"),
]
ServerUrls = Annotated[
    tuple[
        Annotated[str, _fits(_SERVER_URL.fullmatch, "the URL of a server, without user and query")],
        ...,
    ],
    BeforeValidator(_split),
    Allowed("http://HOST:PORT, https:// or dns+http:// likewise, comma-separated"),
]
AlertFields = Annotated[
    dict[Literal["cluster", "docs", "dashboard"], str],
    BeforeValidator(_pairs),
    AfterValidator(_are_links),
    Allowed("NAME=TEXT, comma-separated, with cluster, docs and dashboard; the last two are URLs"),
]
Graces = Annotated[
    dict[str, Seconds],
    BeforeValidator(_pairs),
    Allowed(
        "NAME=SECONDS, comma-separated, with reasons of the catalogue, "
        f"{', '.join(BUDGETS)}, and 0 to 86400"
    ),
]
Stacks = Annotated[
    dict[str, Annotated[StackMode, YamlSwitch]],
    BeforeValidator(_pairs),
    Allowed("STACK=MODE, comma-separated: {stacks}; auto, on, off"),
]
Components = Annotated[
    dict[str, Annotated[PartMode | PartPlace, BeforeValidator(_part)]],
    BeforeValidator(_pairs),
    Allowed(
        "NAME=MODE or NAME=[NAMESPACE/]DEPLOYMENT, comma-separated: {parts}; auto, on, off; "
        "places of {placed}"
    ),
]
Thresholds = Annotated[
    dict[str, Annotated[float, Field(allow_inf_nan=False)]],
    BeforeValidator(_pairs),
    AfterValidator(_thresholds_fit),
    Allowed("NAME=VALUE, comma-separated; docs/runtime.md lists names and limits"),
]
DeploymentName = Annotated[str, _name_of_object, Allowed('the name of a Deployment, or ""')]
Address = Annotated[str, AfterValidator(_is_address), Allowed("HOST:PORT, :PORT or 0")]


def _is_selector(text: str) -> str:
    parse_selector(text)
    return text


Selector = Annotated[
    str, AfterValidator(_is_selector), Allowed("a label selector, such as team=ml,!legacy")
]
LeaseName = Annotated[str, Field(min_length=1), _name_of_object, Allowed("the name of a Lease")]
Port = Annotated[int, Field(ge=1, le=_LAST_PORT)]

FIELD: Final = "custom_components"
"""The setting with a list of declarations, in the file of `--config`."""

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
        raise ValueError("not a list in a file")  # noqa: TRY004 - pydantic needs a ValueError
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
        found["grace_seconds"] = str(found["grace_seconds"]).lower()  # not 1 or 0
    for key in _TEXTS:
        text = found.get(key)
        if isinstance(text, str):
            found[key] = " ".join(text.split())  # YAML keeps line breaks of `>` and `|`
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
    """Return the declarations if they are valid in addition to a catalogue.

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
    """Yield the faults of well-formed declarations that are listed with malformed ones.

    Names that may refer to malformed declarations are left out: they cannot be judged yet.
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
