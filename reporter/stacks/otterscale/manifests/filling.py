"""Fills templates of objects: YAML that looks like the objects, with `${path}` where they differ.

A template is parsed once, and values are put into the parsed document, never into YAML text: no
value needs quoting, and none can add a field. A field that is None is left out. In a template:

- `${path}` alone is the value at that path, of its own type. `${one|other}` is the first of several
  values that is not empty; None if all are, as in `${one|}`.
- `${path}` within a text, or `${path:s}` alone, is the value as text, with YAML's true and false.
- A map with `$if: path` is the map without this key if the value is not empty, else nothing.
- A map with `$value: ...` is that value.
- A map with `$items: ...` in a list is replaced by the entries of that list.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import Final, TypeAlias

import msgspec

from reporter.stacks.otterscale.objects import Json
from reporter.yaml_reader.limits import Limits
from reporter.yaml_reader.reading import read_yaml

_Fill: TypeAlias = Callable[[object], object]

_LIMITS: Final = Limits(size=64 * 1024, depth=30, nodes=2_000, aliases=1_000)
_PATH: Final = re.compile(r"\$\{([a-z_.|]+)(:s)?\}")
_ITEMS: Final = "$items"


def filled(template: str, values: object) -> Json:
    """Return the object of a template; paths start at attributes of `values`."""
    return msgspec.convert(_templates()[template](values), Json)


@cache
def _templates() -> Mapping[str, _Fill]:
    text = files(__package__).joinpath("templates.yaml").read_text("utf-8")
    documents = msgspec.convert(read_yaml(text, limits=_LIMITS), Json)
    return {name: _node(document) for name, document in documents.items()}


def _node(value: object) -> _Fill:
    match value:
        case {"$if": str(path), **rest}:
            needed, then = attrgetter(path), _node(rest)
            return lambda values: then(values) if needed(values) else None
        case {"$value": inner} | {"$items": inner}:
            return _node(inner)
        case dict():
            return _map({str(key): _node(each) for key, each in value.items()})
        case list():
            return _list(
                [(_node(each), isinstance(each, dict) and _ITEMS in each) for each in value]
            )
        case str():
            return _scalar(value)
        case _:
            return lambda _: value


def _map(parts: dict[str, _Fill]) -> _Fill:
    def fill(values: object) -> object:
        made = {key: each(values) for key, each in parts.items()}
        return {key: each for key, each in made.items() if each is not None}

    return fill


def _list(parts: list[tuple[_Fill, bool]]) -> _Fill:
    def fill(values: object) -> object:
        made: list[object] = []
        for part, is_spliced in parts:
            value = part(values)
            if is_spliced and isinstance(value, list | tuple):
                made.extend(value)
            elif value is not None:
                made.append(value)
        return made

    return fill


def _scalar(text: str) -> _Fill:
    whole = _PATH.fullmatch(text)
    if whole and not whole[2]:
        return _value(whole[1])
    if not _PATH.search(text):
        return lambda _: text
    # A split with two groups gives the texts between the paths, each path and its suffix.
    before, *rest = _PATH.split(text)
    parts = [(_value(path), after) for path, after in zip(rest[::3], rest[2::3], strict=True)]
    return lambda values: before + "".join(_text(read(values)) + after for read, after in parts)


def _value(path: str) -> _Fill:
    reads = [attrgetter(each) for each in path.split("|") if each]
    if "|" not in path:
        return reads[0]
    return lambda values: next((found for read in reads if (found := read(values))), None)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
