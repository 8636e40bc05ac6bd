"""The bytes of a file as text."""

import codecs
import re
from typing import Final

from reporter.yaml_reader.limits import Unreadable

_MOST: Final = 128 * 1024 * 1024
"""Most bytes that a text takes in memory."""

_FOUR_BYTES: Final = re.compile(rb"[\xf0-\xff]")
_TWO_BYTES: Final = re.compile(rb"[\xc4-\xef]")
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(raw: bytes) -> str:
    """Return what a file holds: UTF-8, or what its byte order mark says.

    A text takes as many bytes for each character as the widest of them needs.

    Raises:
        Unreadable: it is not text, or more than is read.

    """
    width = 4 if _FOUR_BYTES.search(raw) else 2 if _TWO_BYTES.search(raw) else 1
    if len(raw) * width > _MOST:
        raise Unreadable(
            f"with such characters it is larger than {_MOST // width} bytes; split it by kind"
        )
    try:
        for bom, encoding in _BOMS:
            if raw.startswith(bom):
                # PowerShell's `>` writes UTF-16.
                return raw.decode(encoding).removeprefix("\ufeff")
        return raw.decode("utf-8")
    except UnicodeError:
        raise Unreadable("it is not UTF-8 text") from None
