"""Recognize credentials by the key before them, by their shape or value, or by their position.

Messages, logs, reports, the page and dumps share these rules. Issuers document the shapes; gitleaks
(config/gitleaks.toml, v8) collects them and is the source of the examples in the tests. Names of
objects stay: an operator has to search for `secret "hf-token" not found`.

A list of key names is never complete, so long words are also judged by their value. In a random
word, the character class (small letter, capital, digit) changes at six of ten places; in
`DeepSeek-R1-Distill-Qwen-32B`, at three. Shannon entropy, which detect-secrets and gitleaks use,
cannot distinguish the two at this length: 20 characters have at most 4.3 bits each, and that name
has 4.1. Identifiers that Kubernetes makes (uids, digests, template hashes) are hexadecimal or
shorter.

Nearly all texts have no credential, and the rules are slow on them. So each text is first searched
for literals, which Python's `re` and `str` find at the speed of memory. This search may have false
positives but no false negatives.
"""

import re
from collections.abc import Iterable
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Final

_ANY_QUOTE: Final = r"(?:\\*[\"']|%2[27])"
_AFTER_KEY: Final = (
    rf"(?:[-_]?(?:[0-9]{{1,2}}|prod|dev|test|value|base64|b64))?{_ANY_QUOTE}?\]?\s{{0,9}}"
    rf"(?:[=:>]|%3[ad]|,?\s{{0,9}}{_ANY_QUOTE}?value)"
)
_KEYS: Final = tuple(
    (begin, re.compile(f"{begin}{end}{_AFTER_KEY}", re.ASCII))
    for begin, end in (
        ("pass", "(?:[-_]?words?|wd|[-_]?phrase)?"),
        ("pwd", ""),
        ("secret", "s?"),
        ("token", ""),
        ("key", "(?:[-_]?id)?"),
        ("credential", "s?"),
        ("auth", "(?:orization)?"),
        ("sig", "(?:nature)?"),
        ("cookie", ""),
        ("jwt", ""),
        ("bearer", ""),
        ("pat", ""),
    )
)
"""Endings of credential keys, with what separates them from the value."""

_BEFORE_KEY: Final = 16
"""Maximum length of a prefix of `key`, as in `subscription-key`; other words need no prefix."""

_FLAG: Final = re.compile(r"-(?<![\w-]-)", re.ASCII)
_WORDS: Final = ("password", "passphrase", "sharedaccesssignature")

_SHAPES: Final = (
    ("", ("eyj", "ltai", "dapi", "q~", "bearer", "basic", "sk-", "sk_")),
    ("-", (
        "glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glagent-", "xox",
        "xapp-", "gocspx-",
        "pypi-", "nvapi-", "xai-", "pplx-", "tskey-", "age-secret-", "pul-", "pmak-", "-----begin",
    )),
    ("_", (
        "hf_", "api_org_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "npm_",
        "rubygems_", "dckr_", "r8_",
        "fw_", "glsa_", "glc_", "doo_v1_", "dop_v1_", "dor_v1_", "rk_", "whsec_", "lin_api_", "shp",
        "sntry", "gsk_",
    )),
    (".", ("ya29.", "hvs.", "hvb.", "hvr.", "sg.", "dp.")),
)  # fmt: skip
"""Prefixes that issuers use, in lower case, grouped by a character that all of the group have."""

_SHORT: Final = {
    "sk-": re.compile(r"sk-(?<=\bsk.)", re.ASCII),
    "sk_": re.compile(r"sk_(?<=\bsk.)", re.ASCII),
    "sg.": re.compile(r"sg\.(?<=\bsg.)", re.ASCII),
    "dp.": re.compile(r"dp\.(?<=\bdp.)", re.ASCII),
}
"""Prefixes that count only at the start of a word: not in `task-` or `msg.`."""

_CAPITALS: Final = (
    "A3T", "AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA", "AIza", "AKCp", "ATATT3",
)  # fmt: skip

_LOWER: Final = {ord(upper): upper.lower() for upper in ascii_uppercase}
LONG_LINE: Final = 60
"""Minimum length of a line of a private key: 64 in PEM (RFC 7468), 70 in OpenSSH's format."""

KEY_END: Final = "-----END"

_CLASSES: Final = {
    **dict.fromkeys(map(ord, ascii_lowercase), "a"),
    **dict.fromkeys(map(ord, ascii_uppercase), "A"),
    **dict.fromkeys(map(ord, digits), "0"),
}
_CHANGES: Final = ("aA", "Aa", "a0", "0a", "A0", "0A")
_LONG_WORD: Final = re.compile(r"[A-Za-z0-9_+/-]{20,}+={0,2}")
_JOINTS: Final = re.compile(r"[-_+/=]+")
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_UNBROKEN: Final = re.compile(r"[a-z0-9]{20}")
_FIELD_WORDS: Final = re.compile(
    "For(?:CausalLM|(?:Conditional)?Generation|(?:Sequence|Token)Classification|QuestionAnswering)"
    "|LMHeadModel|ChatModel|(?:Fused)?MoE(?:Method)?|LinearMethod|CompressedTensors|ModelOpt"
    "|MiniMax"
)
"""Parts of the names of models, their classes and quantizations. With a number or two before them,
such names change the character class as often as random words."""

_LONG: Final = 20
"""Minimum length of a value that is judged by itself."""

_MIXED, _NO_DIGIT, _ONE_CASE = 0.38, 0.5, 0.2
"""Minimum class changes per character of a random word: mixed case with digits, mixed case without,
one case with digits. Of 1,000 random words of 32 letters and digits, 8 are below."""

_USER_INFO: Final = re.compile(r"@(?!sha\d+:)[\w\[]", re.ASCII)


def in_lower_case(text: str) -> str:
    """Return a text with its ASCII letters in lower case; no rule depends on other letters."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def may_have_user_info(text: str) -> bool:
    """Tell whether a user name or a password may precede a host."""
    return _USER_INFO.search(text) is not None


def beginnings_of_keys(lowered: str) -> list[int]:
    """Return the sorted positions where keys with a value may begin in a lower-case text."""
    found = {
        match.start() - more
        for begin, key in _KEYS
        if begin in lowered
        for match in key.finditer(lowered)
        for more in (range(min(_BEFORE_KEY, match.start()) + 1) if begin == "key" else (0,))
    }
    return sorted(found)


def may_have_flag(lowered: str) -> bool:
    return _FLAG.search(lowered) is not None or any(map(lowered.__contains__, _WORDS))


def may_have_shape(text: str, lowered: str) -> bool:
    """Tell whether a text (`lowered`: in lower case) may contain the shape of a credential."""
    for mark, beginnings in _SHAPES:
        if mark in lowered:
            for beginning in beginnings:
                if beginning in lowered:
                    word = _SHORT.get(beginning)
                    if word is None or word.search(lowered):
                        return True
    return "A" in text and any(map(text.__contains__, _CAPITALS))


def may_have_key_lines(text: str) -> bool:
    """Tell whether a text may contain lines of a private key whose beginning is missing."""
    if len(text) < LONG_LINE:
        return KEY_END in text
    return max(map(len, text.split()), default=0) >= LONG_LINE or KEY_END in text


REDACTED: Final = "<redacted>"

_KEY_ENDS: Final = (
    r"pass[-_]?words?|passwd|pwd|pass[-_]?phrase|(?<![a-z])pass|secrets?|(?<![a-z])pat"
    r"|(?<![beups]os[-_])(?<!pad[-_])(?<!unk[-_])(?<!sep[-_])(?<!cls[-_])(?<!mask[-_])"
    r"(?<!per[-_])token"
    r"|api[-_ ]?key|acc(?:ess|ount)[-_ ]?key|private[-_]?key[-_]?id|(?:private|secret|signing"
    r"|encryption|master|session|auth|service|shared"
    r"|subscription|license|ssh|storage|[^\W_]hub|openai)[-_]?key|credentials?"
    r"|(?<![a-z])auth(?:orization)?|(?<![a-z])sig|signature|(?<![a-z])cookie|jwt|bearer"
)
"""Endings of keys whose values are credentials. Tokens of tokenizers, as `eos_token`, are not."""

_QUOTE: Final = r"(?:\\*[\"']|%2[27])"
_NO_VALUE: Final = (
    r"(?!masked-[0-9a-f]{8}|[=>]*<redacted>|(?:a|an|and|are|at|authenti\w+|cannot|could|denied"
    r"|does|empty|error|expired|failed|for|from|forbidden|has|in|incorrect|invalid|is|malformed"
    r"|mismatch|missing|must|no|none|not|null|of|off|on|or|rejected|required|revoked"
    r"|should|the|to|true|false|server\s+message|unable|unauthorized|unknown|was|with|wrong)"
    r"(?=[.,;:)\]]{0,3}(?:\s|\Z)))"
)
"""Words that follow `token:` in error messages and are not values."""

_VALUE: Final = (
    rf"{_NO_VALUE}(?:(?:bearer|basic|token|negotiate|digest|apikey)\s{{1,9}})?"
    r"(?:\"(?:\\.|[^\"\\])+\"?|'(?:\\.|[^'\\])+'?|\\+\"(?:[^\\\n]++|\\++(?!\"))++|\\+'(?:[^\\\n]++"
    r"|\\++(?!'))++|[^\s\"',;\\]{3,})"
)
_TO_VALUE: Final = (
    rf"(?:{_QUOTE})?\]?\s{{0,9}}(?:"
    rf"(?:={{1,3}}>?|:{{1,3}}=?|>|%3[ad])\s{{0,9}}(?:[|>][-+]?\s{{1,9}}|(?:{_QUOTE})?(?:invalid"
    rf"|unsupported)\s{{1,9}}value:\s{{0,9}})?"
    rf"|,?\s{{0,9}}(?:{_QUOTE})?value(?:{_QUOTE})?\s{{0,9}}[:=]\s{{0,9}})"
)
CREDENTIAL_FLAG: Final = (
    r"--?[\w-]*(?:key|token|secret|password|passwd|passphrase|pwd|credentials?|auth)"
)

BY_KEY: Final = re.compile(
    rf"((?:{_KEY_ENDS})(?:[-_]?(?:[0-9]{{1,2}}|prod|dev|test|value|base64"
    rf"|b64))?{_TO_VALUE}){_VALUE}",
    re.IGNORECASE | re.ASCII,
)
"""A credential's key and its value: `DB_PASSWORD=x`, `"password": "x"`."""

BY_FLAG: Final = re.compile(
    rf"((?<![\w-]){CREDENTIAL_FLAG}(?:\s{{1,9}}|{_QUOTE}\s{{0,9}},\s{{0,9}}(?={_QUOTE}))|(?:pass"
    rf"(?:word|phrase)|sharedaccesssignature)\s{{1,9}}(?=[\"']|sr=)"
    rf"|\blogin\s{{1,9}}\S+\s{{1,9}}password\s{{1,9}}"
    rf"|(?<!\S)(?:-u|--user)[\s=]++[^\s:]++:)(?!-){_VALUE}",
    re.IGNORECASE | re.ASCII,
)
"""A flag and its value, which is the next word: `--password x`, `curl -u user:x`."""

_BEFORE_HOST: Final = re.compile(r"(?<![^\s@\"'<>])([^\s@\"'<>]+)@(?!sha\d+:)(?=[\w\[])", re.ASCII)
_PORT_AND_PATH: Final = re.compile(r"[^:]*:[0-9]{1,5}/")

BY_SHAPE: Final = re.compile(
    r"""(?x)
      (?i:\b(?:bearer|basic)\s{1,9}(?!auth|credential|token)[^\s"',;]{8,})
    | \beyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]++){0,4}+
    | (?i:\b(?:sk[-_]|hf_(?![a-z]{2,12}_)|api_org_|gh[oprsu]_|github_pat_|glpat-
          |gl(?:dt|rt|ptt|ft|soat|cbt|agent)-|xox[abeoprs]-|xapp-)
          [a-z0-9_.-]{12,})
    | \b(?:A3T[A-Z0-9]|A[KSB]IA|ACCA|AROA|AIDA)[0-9A-Z]{12,}
    | \bLTAI[A-Za-z0-9]{12,}
    | \bAIza[\w-]{20,}
    | \bya29\.[\w-]{16,} | \bGOCSPX-[\w-]{16,}
    | \bnpm_[A-Za-z0-9]{20,} | \bpypi-[\w-]{20,} | \brubygems_[a-f0-9]{20,}
    | \bdckr_[po]at_[\w-]{12,} | \bnvapi-[\w-]{12,} | \bgsk_[A-Za-z0-9]{20,} | \br8_[A-Za-z0-9]{20,}
    | \bpplx-[A-Za-z0-9]{20,} | \bdapi[a-f0-9]{32}(?:-\d)? | \bfw_[A-Za-z0-9]{20,}
    | \bxai-[A-Za-z0-9]{20,}
    | \bgl(?:sa|c)_[A-Za-z0-9+/=_]{20,} | \bhv[sbr]\.[\w-]{20,} | \bAKCp[A-Za-z0-9]{20,}
    | \bdo[opr]_v1_[a-f0-9]{20,} | \b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}
    | \bwhsec_[A-Za-z0-9+/=]{16,}
    | \bSG\.[\w-]{16,}\.[\w-]{16,} | \bATATT3[\w=-]{20,}
    | \bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.]{20,}
    | \blin_api_[A-Za-z0-9]{20,} | \bsh(?:pat|pca|ppa|pss)_[a-fA-F0-9]{20,} | \btskey-[\w-]{16,}
    | \bsntry[su]_[\w+/=]{20,}
    | \bAGE-SECRET-KEY-1[A-Z0-9]{20,} | \bops_eyJ[\w+/=-]{20,} | \bpul-[a-f0-9]{40}
    | \bPMAK-[a-f0-9-]{20,}
    | \b\w{3}\dQ~[\w.~-]{31,}
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----(?s:.*?)(?:-----END[ ][A-Z ]*-----|\Z)
    """,
    re.ASCII,
)  # fmt: skip
"""Marks that issuers put into credentials so that scanners find them; a private key to its end."""

_BREAK: Final = r"(?>(?:\s{1,9}+|(?:\\{1,4}+[rn]){1,2}+){1,2}+)"
"""The end of a line: literal, as a blank, or escaped. It can match in one way only: with two ways,
the time would double with each line."""

_BREAK_BACKWARDS: Final = r"(?>(?:\s{1,9}+|(?:[rn]\\{1,4}+){1,2}+){1,2}+)"

KEY_LINES: Final = re.compile(
    rf"""(?x)
      (?<![\w+/=]) (?: [A-Za-z0-9+/]{{4,}}+ {_BREAK} )?
      [A-Za-z0-9+/]{{{LONG_LINE},}}+ (?: {_BREAK} [A-Za-z0-9+/]{{{LONG_LINE},}}+ )++
      (?: {_BREAK}?+ [A-Za-z0-9+/]*+ ={{1,2}} )?
    """,
    re.ASCII,
)
"""Two or more long lines of base64, the rest of the line before, and the shorter last line."""

_END_OF_KEY: Final = re.compile(
    rf"{KEY_END} [A-Z ]*+(?:(?<=PRIVATE KEY)|(?<=PRIVATE KEY BLOCK))-----"
)
_LINES_BEFORE: Final = re.compile(
    rf"""(?x)
      (?: {_BREAK_BACKWARDS}?+ ={{0,2}}+ [A-Za-z0-9+/]{{2,}}+ (?![\w+=]) )?
      (?: {_BREAK_BACKWARDS} [A-Za-z0-9+/]{{16,}}+ (?![\w+=]) )*+
    """,
    re.ASCII,
)
"""The lines before the end of a private key whose beginning is missing, read backwards."""

_NAMES_CREDENTIAL: Final = re.compile(rf"(?:\A|[^a-z0-9])(?:{_KEY_ENDS})\Z", re.IGNORECASE)
_LONGEST_END: Final = 40
"""Characters read at the end of a key: more than `_KEY_ENDS` with its lookbehinds needs."""
_IS_FLAG: Final = re.compile(CREDENTIAL_FLAG, re.IGNORECASE)


def names_credential(key: str) -> bool:
    return bool(_NAMES_CREDENTIAL.search(key[-_LONGEST_END:]))


def is_credential_flag(argument: str) -> bool:
    return bool(_IS_FLAG.fullmatch(argument))


def without_credentials(text: str) -> str:
    """Return a text with its credentials replaced; the keys before them stay."""
    if may_have_user_info(text):
        text = _BEFORE_HOST.sub(_without_user_info, text)
    lowered = in_lower_case(text)
    if beginnings := beginnings_of_keys(lowered):
        text = _without_values(text, beginnings)
    if may_have_flag(lowered):
        text = BY_FLAG.sub(rf"\1{REDACTED}", text)
    if may_have_shape(text, lowered):
        text = BY_SHAPE.sub(REDACTED, text)
    if may_have_key_lines(text):
        text = KEY_LINES.sub(_without_key_lines, text)
        text = _without_ends_of_keys(text)
    return _LONG_WORD.sub(_without_random_words, text)


def _without_random_words(match: re.Match[str]) -> str:
    word = match[0]
    if word.islower() and not _UNBROKEN.search(word):
        return word
    if _is_random(word):
        return REDACTED
    if "/" not in word:
        return word
    return "/".join(REDACTED if _is_random(each) else each for each in word.split("/"))


def _is_random(word: str) -> bool:
    if len(word) < _LONG:
        return False
    pieces = [each for each in _JOINTS.split(word) if not _HEXADECIMAL.fullmatch(each)]
    changes = [sum(map(each.translate(_CLASSES).count, _CHANGES)) for each in pieces]
    length = sum(map(len, pieces))
    if word.islower() or word.isupper() or length < _LONG - 4:
        return any(
            len(each) >= _LONG and change >= _ONE_CASE * len(each)
            for each, change in zip(pieces, changes, strict=True)
        )
    if sum(changes) < length * (_MIXED if any(map(str.isdigit, word)) else _NO_DIGIT):
        return False
    rest = _FIELD_WORDS.sub("", word)
    return rest == word or _is_random(rest)


def _without_ends_of_keys(text: str) -> str:
    parts, done = [], 0
    for end in _END_OF_KEY.finditer(text):
        before = text[done : end.start()]
        lines = _LINES_BEFORE.match(before[::-1])
        parts += [before[: len(before) - (lines.end() if lines else 0)], REDACTED]
        done = end.end()
    return "".join([*parts, text[done:]])


def _without_key_lines(match: re.Match[str]) -> str:
    """Replace lines of base64, but not hexadecimal digests or paths."""
    lines = match[0]
    mixed = any(map(str.isupper, lines)) and any(map(str.islower, lines))
    return REDACTED if mixed and any(map(str.isdigit, lines)) else lines


def _without_values(text: str, beginnings: Iterable[int]) -> str:
    """Replace what `BY_KEY` matches, trying it only where a key may begin."""
    parts, done = [], 0
    for beginning in beginnings:
        match = BY_KEY.match(text, beginning) if beginning >= done else None
        if match is not None:
            parts += [text[done:beginning], match[1], REDACTED]
            done = match.end()
    return "".join([*parts, text[done:]])


def _without_user_info(match: re.Match[str]) -> str:
    """Replace credentials before a host: `https://token`, `user:password`."""
    scheme, separator, rest = match[1].rpartition("://")
    user, colon, _ = rest.partition(":")
    if _PORT_AND_PATH.match(rest) or user == "mailto":
        return match[0]
    if colon:
        return f"{scheme}{separator}{user}:{REDACTED}@"
    return f"{scheme}{separator}{REDACTED}@" if separator and "/" not in rest else match[0]


REMOVED: Final = "<link removed>"

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://\S*", re.IGNORECASE)
_HOST: Final = re.compile(
    r"https?://(?:[^\s/?#]*@)?(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?P<port>(?::[0-9]{1,5})?)"
    r"(?:[/?#.,;:!)\]}>\"'].*|)",
    re.IGNORECASE | re.DOTALL,
)
_CLOSES: Final = ".,;:!)]}\"'"


def without_links(text: str) -> str:
    """Return a text with each link reduced to its host and port.

    A message has to name the host that could not be reached. Paths and queries may carry secrets,
    and a tenant's text must not lead readers to a page of the tenant's choice. A link without a
    plain host is removed.
    """
    return _URL.sub(_host_of, text) if "://" in text else text


def _host_of(url: re.Match[str]) -> str:
    parts = _HOST.fullmatch(url[0])
    if parts is None:
        return REMOVED
    # Punctuation after a link belongs to the sentence.
    return f"{parts['host'].lower()}{parts['port']}{url[0][len(url[0].rstrip(_CLOSES)) :]}"
