"""The bytes of a file as text."""

import codecs
from typing import Final

from reporter.yaml_reader.limits import Unreadable

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(raw: bytes) -> str:
    """Return what a file holds: UTF-8, or what its byte order mark says.

    Raises:
        Unreadable: it is not text.

    """
    try:
        for bom, encoding in _BOMS:
            if raw.startswith(bom):
                # PowerShell's `>` writes UTF-16.
                return raw.decode(encoding).removeprefix("\ufeff")
        return raw.decode("utf-8")
    except UnicodeError:
        raise Unreadable("it is not UTF-8 text") from None
