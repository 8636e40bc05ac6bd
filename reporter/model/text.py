"""Sanitize messages to one clean line within the API server's limits, and validate names."""

import json
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import lru_cache, wraps
from typing import Final, ParamSpec, TypeVar, cast

from reporter.model.credentials import without_credentials, without_links

MESSAGE_BYTES = 1024
"""Limit of an Event's message once `eventTime` is set; the server counts UTF-8 bytes."""

_UPSTREAM_CHARACTERS = 4096
_KEPT_CHARACTERS = 512
_KEPT = 2048
"""Texts whose clean form is cached, since each pass has the same ones: at most 8 MiB."""

_ELLIPSIS = "..."
_DIGITS = 9

ParametersT = ParamSpec("ParametersT")
ResultT = TypeVar("ResultT")
_QUERY = re.compile(
    r"([a-z][a-z0-9+.-]{1,20}://[^\s?#\"'<>\\]*+)(?:[?#][^\s\"'<>\\]*+)?", re.IGNORECASE
)
_TERMINAL = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_BREAKS = re.compile(r"[\t-\r\x1c-\x1f\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters, and Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt)."""


_UNSEEN = re.compile(
    _INVISIBLE.pattern.replace(
        r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f", r"\x7f-\x9f\u2028\u2029\ud800-\udfff"
    )
)
_ON_TERMINAL = re.compile(r"\x1b(?!\[[0-9;]{0,20}m)|[\x00-\x08\x0b-\x1a\x1c-\x1f]")


def remembered(
    most: int, characters: int
) -> Callable[[Callable[ParametersT, ResultT]], Callable[ParametersT, ResultT]]:
    """Cache the last `most` results of a function, but none for texts over `characters`.

    A tenant who keeps writing new texts of a megabyte must not fill the memory.
    """

    def decorate(function: Callable[ParametersT, ResultT]) -> Callable[ParametersT, ResultT]:
        known = cast("Callable[ParametersT, ResultT]", lru_cache(most)(function))

        @wraps(function)
        def call(*given: ParametersT.args, **named: ParametersT.kwargs) -> ResultT:
            is_short = sum(len(each) for each in given if isinstance(each, str)) <= characters
            return (known if is_short else function)(*given, **named)

        return call

    return decorate


def small_number(text: str) -> int:
    """Return a number of at most nine digits; 0 for any other text."""
    return int(text) if len(text) <= _DIGITS and text.isascii() and text.isdecimal() else 0


def unseen_escaped(text: str) -> str:
    """Return JSON, or double-quoted YAML, with invisible characters and Unicode line ends escaped.

    It parses to the same value. RFC 8259 writes code points beyond 16 bits as two escapes.
    """
    return text if text.isascii() and "\x7f" not in text else _UNSEEN.sub(_escape, text)


def json_text(document: object, indent: int = 2) -> str:
    """Return JSON for a person: indented, in UTF-8, with invisible characters escaped."""
    return unseen_escaped(json.dumps(document, indent=indent, ensure_ascii=False))


def for_terminal(text: str) -> str:
    """Return a text with control characters escaped, except line ends and colours.

    Names of files and contexts are printed; they must not control the terminal.
    """
    return unseen_escaped(_ON_TERMINAL.sub(_escape, text))


def _escape(match: re.Match[str]) -> str:
    if "\ud800" <= match[0] <= "\udfff":
        return "\\ufffd"  # half of a surrogate pair is not a character
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def has_unseen(text: str) -> bool:
    return _UNSEEN.search(text) is not None


def redact(text: str) -> str:
    """Return `text` without credentials, invisible characters that hide them, and URL queries."""
    text = text if text.isascii() else _visible(text)
    return without_credentials(_QUERY.sub(r"\1", text) if "://" in text else text)


def _visible(text: str) -> str:
    # Removal must not leave a gap: a person reads `to<U+200B>ken` as `token`. Line ends stay.
    return _INVISIBLE.sub("", text)


def clean(text: str) -> str:
    """Return foreign `text` as one line without credentials or control characters; of links only
    the host stays.
    """
    return _cleaned_before(text) if len(text) <= _KEPT_CHARACTERS else _cleaned(text)


def clean_lines(text: str) -> list[str]:
    """Return the last non-empty lines of a foreign text, each cleaned by `clean`.

    Credentials are removed before the text is split: their key may be on the line before. If the
    text is too long to be read as a whole, the first line is dropped, as its key may be cut off.
    """
    kept = _visible(_TERMINAL.sub("", text[-_UPSTREAM_CHARACTERS:]))
    lines = without_credentials(kept).splitlines()
    if len(text) > _UPSTREAM_CHARACTERS:
        lines = lines[1:]
    return [line for each in lines if (line := clean(each))]


def _cleaned(text: str) -> str:
    text = one_line(text[:_UPSTREAM_CHARACTERS])
    if "  " in text or text[:1] == " " or text[-1:] == " ":
        text = " ".join(text.split())
    return without_links(without_credentials(text))


_cleaned_before = lru_cache(_KEPT)(_cleaned)


def one_line(text: str) -> str:
    """Return a text without line ends, control characters and other invisible ones."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _visible(_BREAKS.sub(" ", text)).encode("utf-8", "replace").decode("utf-8")


def cut(text: str, limit: int) -> str:
    """Return `text` in at most `limit` UTF-8 bytes; a cut is marked by an ellipsis."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode("utf-8")
    kept = raw[: max(0, limit - len(_ELLIPSIS))].decode("utf-8", "ignore")
    return (kept.rstrip() + _ELLIPSIS)[: max(0, limit)]


def quoted(text: str, limit: int) -> str:
    """Return foreign `text` cleaned and cut, without full stops at its end."""
    return cut(clean(text), limit).rstrip(". ")


def with_suffix(text: str, suffix: str, limit: int = MESSAGE_BYTES) -> str:
    """Return `text` and `suffix` within `limit` bytes; only the text is cut."""
    return cut(text, limit - len(suffix.encode("utf-8", "replace"))) + suffix


def detail(reason: str | None, message: str | None, limit: int = 400) -> str:
    """Return the reason and message of a condition or container as `reason: message`, cleaned."""
    parts = [clean(part) for part in (reason, message) if part]
    return cut(": ".join(part for part in parts if part), limit)


def meant(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` with the closest known name, or an empty string."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VERSION: Final = re.compile(r"v[1-9][0-9]{0,3}((alpha|beta)[1-9][0-9]{0,3})?")
_PLURAL: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")


def is_label(text: str) -> bool:
    return _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    return _SUBDOMAIN.fullmatch(text) is not None


def is_crd_name(text: str) -> bool:
    plural, _, group = text.partition(".")
    return is_plural(plural) and "." in group and is_subdomain(text)


def is_label_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return _LABEL_NAME.fullmatch(name) is not None and (not slash or is_subdomain(prefix))


def is_label_value(text: str) -> bool:
    return not text or _LABEL_NAME.fullmatch(text) is not None


def is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def is_plural(text: str) -> bool:
    return _PLURAL.fullmatch(text) is not None


def is_kind(text: str) -> bool:
    return _KIND.fullmatch(text) is not None
