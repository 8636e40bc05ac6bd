"""Hygiene of messages: one clean line within the API server's limits (design 6)."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

MESSAGE_BYTES = 1024
"""Limit of an Event's message once `eventTime` is set; the server counts UTF-8 bytes."""

_UPSTREAM_CHARACTERS = 4096
_ELLIPSIS = "..."
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://\S*", re.IGNORECASE)
_SECRET = re.compile(
    r"""(?ix)
      \b(?:bearer|basic)\s+[a-z0-9._~+/=-]{8,}
    | \beyJ[a-z0-9_-]{8,}(?:\.[a-z0-9_-]+){1,2}
    | \b(?:sk[-_]|hf_|gh[opsur]_|github_pat_|glpat-|xox[abp]-)[a-z0-9_-]{12,}
    | \bAKIA[0-9A-Z]{12,}
    | \b(?:[a-z]*token|[a-z]*secret|password|passwd|pwd|api[-_]?key|account[-_]?key|sig|signature)
      \s*[=:]\s*["']?[^\s"',;]{4,}["']?
    """
)
_SECRET_HINTS = (
    "bearer", "basic", "eyj", "sk-", "sk_", "hf_", "gho_", "ghp_", "ghs_", "ghu_", "ghr_",
    "github_pat", "glpat", "xox", "akia", "token", "secret", "passw", "pwd", "key", "sig",
)  # fmt: skip
"""Each alternative of `_SECRET` contains one of these, which are found much faster."""

_TERMINAL = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def redact(text: str) -> str:
    """Return `text` without credentials, otherwise unchanged."""
    return _SECRET.sub("<redacted>", text) if _may_hold_secret(text) else text


def _may_hold_secret(text: str) -> bool:
    # Beyond ASCII, letters exist that match others when case is ignored.
    lowered = text.lower()
    return not text.isascii() or any(hint in lowered for hint in _SECRET_HINTS)


def clean(text: str) -> str:
    """Return `text` from elsewhere as one line without URLs, credentials or control characters."""
    text = text[:_UPSTREAM_CHARACTERS]
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    text = _UNPRINTABLE.sub(" ", text)
    text = text.encode("utf-8", "replace").decode("utf-8")
    if "://" in text:
        text = _URL.sub("<link removed>", text)
    return " ".join(redact(text).split())


def cut(text: str, limit: int) -> str:
    """Return `text` in at most `limit` UTF-8 bytes, cut on a character boundary and marked."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode("utf-8")
    kept = raw[: max(0, limit - len(_ELLIPSIS))].decode("utf-8", "ignore")
    return (kept.rstrip() + _ELLIPSIS)[: max(0, limit)]


def with_suffix(text: str, suffix: str, limit: int = MESSAGE_BYTES) -> str:
    """Return `text` and `suffix` within `limit` bytes; the text is cut, the suffix is not."""
    return cut(text, limit - len(suffix.encode("utf-8", "replace"))) + suffix


def detail(reason: str | None, message: str | None, limit: int = 400) -> str:
    """Return a condition's or container's reason and text as `reason: text`, clean and bounded."""
    parts = [clean(part) for part in (reason, message) if part]
    return cut(": ".join(part for part in parts if part), limit)


def meant(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` with the nearest of the known names, empty if none is near."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
