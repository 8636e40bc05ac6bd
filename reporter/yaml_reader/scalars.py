"""The dialect: which value a scalar of YAML stands for.

It is what Kubernetes makes of it. kubectl, Helm, Istio and KAITO's scaler read YAML with
sigs.k8s.io/yaml, which turns it into JSON by way of go-yaml v2; what is said here holds for
v1.6.0 with go.yaml.in/yaml/v2 v2.4.2 (resolve.go there). Without quotes and tag,

- nothing, `~` and `null` are null;
- `true`, `yes` and `on` are true, `false`, `no` and `off` are false, also as `Yes` and `YES`;
- integers are decimal, hexadecimal (`0x1F`), octal (`0644`, `0o644`) or binary (`0b11`), with `_`
  anywhere behind the first digit. What does not fit into 64 bits is a float, or text;
- floats need neither point nor signed exponent: `1e3`, `.5`, `08`. What a float cannot hold,
  such as `1e400`, is text;
- all else is text, also times (`2026-11-20`) and numbers to base 60 (`12:30`).

With a tag (`!!int`), a scalar that does not fit it is refused.

It differs from Kubernetes where that would lose something:

- `y` and `n` are text. kubectl writes such a text in quotes; other programs (PyYAML) do not.
- `.inf` and `.nan` are text, which a field of numbers refuses by name. Kubernetes refuses the
  whole document: JSON has no such number.
- A key is the text that is written. Kubernetes makes `true` of `yes:`, and `16` of `0x10:`.
- A key that is written out wins over a merged one (`<<`), as https://yaml.org/type/merge.html
  says. With go-yaml v2 the later of the two wins.
- `!!binary` stays as it is written, as Kubernetes' own objects have it (`data` of a Secret).
- Tags that are not YAML's own are refused. Kubernetes ignores them, and they were meant.
"""

import math
import re
from collections.abc import Mapping
from types import NoneType
from typing import Final

from reporter.yaml_reader.limits import Unreadable

_TAG: Final = "tag:yaml.org,2002:"
MERGE_TAG: Final = _TAG + "merge"
COLLECTION_TAGS: Final = frozenset({"!", _TAG + "map", _TAG + "seq"})
_TEXT_TAGS: Final = frozenset({"!", _TAG + "str", _TAG + "binary"})
_TIME_TAG: Final = _TAG + "timestamp"
_FLOAT_TAG: Final = _TAG + "float"
_TYPES: Final[Mapping[str, frozenset[type]]] = {
    _TAG + "int": frozenset({int}),
    _FLOAT_TAG: frozenset({int, float}),
    _TAG + "bool": frozenset({bool}),
    _TAG + "null": frozenset({NoneType}),
}

_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_LEGACY_OCTAL: Final = re.compile(r"[-+]?0[0-7]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9].*)?")
_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**64 - 1
_LONGEST: Final = len("-0b") + 64
"""Most characters of an integer of 64 bits; Python takes long over thousands of digits."""
_SHOWN: Final = 80


def plain_value(text: str) -> object:
    """Return what a scalar without quotes and tag stands for."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _NUMBER_STARTS else text


def tagged_value(text: str, tag: str) -> object:
    """Return what a scalar with a tag stands for.

    Raises:
        Unreadable: the tag is not one of YAML's own, or not one for this text.

    """
    if tag in _TEXT_TAGS or (tag == _TIME_TAG and _TIME.fullmatch(text)):
        return text
    value = plain_value(text)
    if type(value) in _TYPES.get(tag, ()):
        return float(value) if tag == _FLOAT_TAG and isinstance(value, int) else value
    if tag in _TYPES or tag == _TIME_TAG:
        raise Unreadable(f"{text[:_SHOWN]!r} is not a !!{tag.removeprefix(_TAG)}")
    raise Unreadable(f"the tag {tag} is not accepted")


def _number(text: str) -> object:
    # As in Go, `_` may stand in a number that begins with a digit or a sign.
    plain = text if text[0] == "." else text.replace("_", "")
    if len(plain) <= _LONGEST and _INTEGER.fullmatch(plain):
        integer = int(plain, 8 if _LEGACY_OCTAL.fullmatch(plain) else 0)
        if _LOWEST <= integer <= _HIGHEST:
            return integer
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return number if math.isfinite(number) else text
    return text
