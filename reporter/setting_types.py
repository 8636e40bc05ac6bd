"""What a setting may be: choices, shapes and limits, with the words that say so."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from reporter.catalogue.runtime import THRESHOLDS
from reporter.model.resource import parse_selector
from reporter.model.text import is_label, is_label_key, is_subdomain, meant


class Emit(StrEnum):
    CAUSES = "causes"
    PRIMARY = "primary"
    FIRING = "firing"


class Switched(StrEnum):
    ON = "on"
    OFF = "off"


class StackMode(StrEnum):
    """Whether a stack is looked at.

    `auto` looks at what the cluster serves of it; `on` also reads what takes wide permissions, and
    its controller and its CustomResourceDefinitions are `on` as parts.
    """

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class PartMode(StrEnum):
    """Whether a shared part is expected.

    `auto` misses it where the cluster shows that something needs it, or where it was there and
    vanished; `on` misses it in any case; `off` does not look at it.
    """

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class ScrapeVia(StrEnum):
    AUTO = "auto"
    DIRECT = "direct"
    APISERVER_PROXY = "apiserver-proxy"
    OFF = "off"


class ScrapeScheme(StrEnum):
    HTTP = "http"
    HTTPS = "https"


class LogFormat(StrEnum):
    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a setting takes, for messages; the rest of the annotation enforces it.

    `{stacks}` in it stands for the names of all stacks, `{parts}` for those of all shared parts.
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
_URL_PATH: Final = re.compile(r"/[A-Za-z0-9._~/-]*")


def bind_address(text: str) -> tuple[str, int] | None:
    """Return host and port of `host:port`; the host is empty for all addresses; None for `0`."""
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


def _switch(value: object) -> object:
    """Take `on` and `off` for themselves, and anything else for a list."""
    value = _mode(value)
    return value if value in tuple(Switched) else _split(value)


def _mode(value: object) -> object:
    """Take YAML's booleans, which is what an unquoted `on` or `off` is there."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _thresholds_fit(values: dict[str, float]) -> dict[str, float]:
    for name, value in values.items():
        known = THRESHOLDS.get(name)
        if known is None:
            raise ValueError(f"{name!r} is not a threshold{meant(name, THRESHOLDS)}")
        if not 0 <= value <= known.most:
            raise ValueError(f"{name}={value:g} is not in 0 to {known.most:g}")
    return values


def words_of(value: object) -> object:
    """Take YAML's booleans for their words; a number it may have written in another way."""
    value = _pairs(value)
    if not isinstance(value, dict):
        return value
    for flag, each in value.items():
        if not isinstance(each, (bool, str)):
            problem = "has no value" if each is None else "is not text; put it in quotes"
            raise ValueError(f"{flag} {problem}")  # noqa: TRY004 - what pydantic takes for a refusal
    words = {True: "true", False: "false"}
    return {key: words[each] if isinstance(each, bool) else each for key, each in value.items()}


def _fits(is_right: Callable[[str], object], what: str) -> AfterValidator:
    def check(text: str) -> str:
        if not is_right(text):
            raise ValueError(f"{text!r} is not {what}")
        return text

    return AfterValidator(check)


def _is_path(path: str) -> bool:
    return bool(_URL_PATH.fullmatch(path)) and ".." not in path


DISCOVERED: Final = "dns+"
"""Before a URL: each address of its name is meant."""

_SERVER_URL: Final = re.compile(
    r"(dns\+)?https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?"
)
_WEB_URL: Final = re.compile(r"(https?://[^\s@]+)?")


_name_of_object: Final = _fits(lambda name: not name or is_subdomain(name), "the name of an object")

YamlSwitch: Final = BeforeValidator(_mode)
"""For a choice that has `off`, or `on`."""

Seconds = Annotated[int, Field(ge=0, le=86_400)]
Reasons = Annotated[
    tuple[str, ...],
    BeforeValidator(_split),
    Allowed("reasons of the catalogue, comma-separated"),
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
WebUrl = Annotated[
    str, _fits(_WEB_URL.fullmatch, "a URL"), Allowed("a URL that begins with http, or nothing")
]
Graces = Annotated[
    dict[str, Seconds],
    BeforeValidator(_pairs),
    Allowed("REASON=SECONDS, comma-separated, with reasons of the catalogue and 0 to 86400"),
]
RuntimeReasons = Annotated[
    Switched | tuple[str, ...],
    BeforeValidator(_switch),
    Allowed("on, off, or runtime reasons, comma-separated"),
]
Windows = Annotated[
    dict[str, Annotated[int, Field(ge=1, le=86_400)]],
    BeforeValidator(_pairs),
    Allowed("REASON=SECONDS, comma-separated, with runtime reasons and 1 to 86400"),
]
Stacks = Annotated[
    dict[str, Annotated[StackMode, YamlSwitch]],
    BeforeValidator(_pairs),
    Allowed("STACK=MODE, comma-separated: {stacks}; auto, on, off"),
]
Components = Annotated[
    dict[str, Annotated[PartMode, YamlSwitch]],
    BeforeValidator(_pairs),
    Allowed("NAME=MODE, comma-separated: {parts}; auto, on, off"),
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
LabelKey = Annotated[
    str, _fits(is_label_key, "the key of a label"), Allowed("the key of a label, without a value")
]
UrlPath = Annotated[
    str, _fits(_is_path, "a path"), Allowed("a path that begins with /, without a query")
]
LeaseName = Annotated[str, Field(min_length=1), _name_of_object, Allowed("the name of a Lease")]
Port = Annotated[int, Field(ge=1, le=_LAST_PORT)]
