"""A quick look at a text: whether a rule of `credential_rules` can find anything in it.

Nearly all texts have no credential, and the rules are slow on those. Each look begins with a literal, for
which Python's `re` and `str` search at the speed of memory. It may say yes for nothing, never no for something.
"""

import re
from string import ascii_uppercase
from typing import Final

_QUOTE: Final = r"(?:\\*[\"']|%2[27])"
_AFTER_KEY: Final = (
    rf"(?:[-_]?(?:[0-9]{{1,2}}|prod|dev|test|value|base64|b64))?{_QUOTE}?\]?\s{{0,9}}"
    rf"(?:[=:>]|%3[ad]|,?\s{{0,9}}{_QUOTE}?value)"
)
_KEYS: Final = tuple(
    (begin, re.compile(f"{begin}{end}{_AFTER_KEY}", re.ASCII))
    for begin, end in (
        ("pass", "(?:[-_]?words?|wd|[-_]?phrase)?"),
        ("pwd", ""),
        ("secret", "s?"),
        ("token", ""),
        ("key", ""),
        ("credential", "s?"),
        ("auth", "(?:orization)?"),
        ("sig", "(?:nature)?"),
        ("cookie", ""),
        ("jwt", ""),
        ("bearer", ""),
        ("pat", ""),
    )
)
"""How the keys of credentials end, and what stands between them and the value."""

_BEFORE_KEY: Final = 16
"""Most characters before the word `key`, as in `subscription-key`; before the other words there are none."""

_FLAG: Final = re.compile(r"-(?<![\w-]-)", re.ASCII)
_WORDS: Final = ("password", "passphrase", "sharedaccesssignature")

_SHAPES: Final = (
    ("", ("eyj", "ltai", "dapi", "q~", "bearer", "basic", "sk-", "sk_")),
    ("-", (
        "glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glagent-", "xox", "xapp-", "gocspx-",
        "pypi-", "nvapi-", "xai-", "pplx-", "tskey-", "age-secret-", "pul-", "pmak-", "-----begin",
    )),
    ("_", (
        "hf_", "api_org_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "npm_", "rubygems_", "dckr_", "r8_",
        "fw_", "glsa_", "glc_", "doo_v1_", "dop_v1_", "dor_v1_", "rk_", "whsec_", "lin_api_", "shp", "sntry", "gsk_",
    )),
    (".", ("ya29.", "hvs.", "hvb.", "hvr.", "sg.", "dp.")),
)  # fmt: skip
"""What issuers write first, in lower case, below a mark without which none of it is there."""

_SHORT: Final = {
    "sk-": re.compile(r"sk-(?<=\bsk.)", re.ASCII),
    "sk_": re.compile(r"sk_(?<=\bsk.)", re.ASCII),
    "sg.": re.compile(r"sg\.(?<=\bsg.)", re.ASCII),
    "dp.": re.compile(r"dp\.(?<=\bdp.)", re.ASCII),
}
"""The same, where only a word that begins so is meant: `task-` and `msg.` are none."""

_CAPITALS: Final = (
    "A3T", "AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA", "AIza", "AKCp", "ATATT3",
)  # fmt: skip

_LOWER: Final = {ord(upper): upper.lower() for upper in ascii_uppercase}
LONG_LINE: Final = 60
"""Characters of a line of a private key, at least: 64 in PEM (RFC 7468), 70 in OpenSSH's form."""

KEY_END: Final = "-----END"

_USER_INFO: Final = re.compile(r"@(?!sha\d+:)[\w\[]", re.ASCII)


def in_lower_case(text: str) -> str:
    """Return a text with the letters of ASCII in lower case: the others have no part in any rule."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def may_have_user_info(text: str) -> bool:
    """Tell whether a name or a password may stand before a host."""
    return _USER_INFO.search(text) is not None


def beginnings_of_keys(lowered: str) -> list[int]:
    """Return where keys with a value may begin in a text in lower case, in order."""
    found = {
        match.start() - more
        for begin, key in _KEYS
        if begin in lowered
        for match in key.finditer(lowered)
        for more in (range(min(_BEFORE_KEY, match.start()) + 1) if begin == "key" else (0,))
    }
    return sorted(found)


def may_have_flag(lowered: str) -> bool:
    """Tell whether a flag with a value may be in a text in lower case."""
    return _FLAG.search(lowered) is not None or any(map(lowered.__contains__, _WORDS))


def may_have_shape(text: str, lowered: str) -> bool:
    """Tell whether something in the shape of a credential may be in a text, given in lower case too."""
    for mark, beginnings in _SHAPES:
        if mark in lowered:
            for beginning in beginnings:
                if beginning in lowered:
                    word = _SHORT.get(beginning)
                    if word is None or word.search(lowered):
                        return True
    return "A" in text and any(map(text.__contains__, _CAPITALS))


def may_have_key_lines(text: str) -> bool:
    """Tell whether lines of a private key may be in a text, without its beginning."""
    if len(text) < LONG_LINE:
        return KEY_END in text
    return max(map(len, text.split()), default=0) >= LONG_LINE or KEY_END in text
