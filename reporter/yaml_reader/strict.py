"""Files of a fixed form: what is wrong with one is said in one line, the place first."""

import re
from typing import Final, TypeVar

import msgspec

from reporter.errors import UsageError
from reporter.model.paths import path_or_template
from reporter.model.text import clean, cut
from reporter.yaml_reader.limits import Limits, Unreadable
from reporter.yaml_reader.reading import decoded, read_yaml


class FilePart(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True
):
    """A mapping of a file."""


FormT = TypeVar("FormT")
_LIMITS: Final = Limits(size=128 * 1024, depth=20, nodes=5_000, aliases=100)
_TEXT_BYTES: Final = 600
_PLACE: Final = re.compile(r" - at `\$\[(?:0|\.\.\.)?+(?P<entry>\d*+)\]?+\.?+(?P<where>[^`]*+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]*+)`")


def read_strictly(raw: bytes, form: type[FormT], *, named: str) -> tuple[FormT, ...]:
    """Return what a file holds: one of a form, or a list of them; a key must not stand twice.

    Raises:
        UsageError: it is not of that form; the message begins with its name.

    """
    try:
        value = read_yaml(decoded(raw), limits=_LIMITS, duplicate_keys="refuse")
        many = value if isinstance(value, list) else [value]
        forms = list[form]  # type: ignore[valid-type]  # what is read is told by who reads
        return tuple(msgspec.convert(many, forms, dec_hook=path_or_template))
    except (Unreadable, ValueError) as error:
        raise UsageError(f"{named}: {_told(clean(str(error)))}") from None


def _told(text: str) -> str:
    match = _PLACE.search(text)
    where = f"{match['where']}: " if match and match["where"] else ""
    text = _UNKNOWN.sub(r"there is no key `\1`", _PLACE.sub("", text))
    return cut(f"{where}{text[:1].lower()}{text[1:]}", _TEXT_BYTES)
