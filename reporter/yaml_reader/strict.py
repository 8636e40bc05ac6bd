"""Files with a fixed schema; an error is one line that begins with the place."""

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
    """Return the entries of a file: one of the given form, or a list; repeated keys are refused.

    Raises:
        UsageError: the file does not have that form; the message begins with `named`.

    """
    try:
        value = read_yaml(decoded(raw), limits=_LIMITS, duplicate_keys="refuse")
        many = value if isinstance(value, list) else [value]
        forms = list[form]  # type: ignore[valid-type]  # the caller passes the type
        return tuple(msgspec.convert(many, forms, dec_hook=path_or_template))
    except (Unreadable, ValueError) as error:
        raise UsageError(f"{named}: {_reworded(clean(str(error)))}") from None


def _reworded(text: str) -> str:
    match = _PLACE.search(text)
    where = f"{match['where']}: " if match and match["where"] else ""
    text = _UNKNOWN.sub(r"there is no key `\1`", _PLACE.sub("", text))
    return cut(f"{where}{text[:1].lower()}{text[1:]}", _TEXT_BYTES)
