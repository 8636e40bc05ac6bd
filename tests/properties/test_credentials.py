"""No credential survives in what leaves the program, in whatever form it came."""

import base64
import hashlib
import string
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporter.model import credentials as credential_rules
from reporter.model.text import clean, clean_lines, redact
from reporter.snapshot.outputs.masking import Masking
from tests.credential_forms import BY_KEY, BY_SHAPE, PRIVATE_KEYS

INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2066\ufe0f\ufeff\U000e0001\U000e0041"
ALPHABET = string.ascii_letters + string.digits
passwords = st.text(ALPHABET + "+/=_-.!$%^*~", min_size=8, max_size=60).filter(
    lambda text: any(map(str.isalnum, text))
)
tokens = st.text(string.ascii_uppercase + string.digits, min_size=20, max_size=60)
keys = st.text(ALPHABET + "+/", min_size=40, max_size=200)
places = st.sampled_from(
    ["{}", "refused: {}", "({} failed", "error: 'x' {}\nagain", "a=b {} (401)", "see\n{}"]
)
_USER_INFO = ("user:{}@", "me:{}@", "https://{}@")


@st.composite
def leaks(draw):
    """Credentials, each with a text that has it: one for each form."""
    place, secrets = draw(places), (draw(passwords), draw(tokens), draw(keys))
    return [
        (secret, place.replace("{}", form.format(secret)))
        for forms, secret in zip((BY_KEY, BY_SHAPE, PRIVATE_KEYS), secrets, strict=True)
        for form in forms
        for secret in [_as_user_info(secret) if any(map(form.count, _USER_INFO)) else secret]
    ]


def _as_user_info(secret):
    return secret.replace("/", "_")  # in an address it has to be quoted


def kept(secret, text):
    """A piece of a credential that is there still, of six characters."""
    pieces = (secret[n : n + 6] for n in range(len(secret) - 5))
    return next((piece for piece in pieces if piece in text), None)


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("correcthorse", "user:correcthorse@registry"),
        ("expiredpassword", "token: expiredpassword"),
        ("pa/ss/word1", "AWS:pa/ss/word1@registry.example/x"),
        ("hunter2hunter2", "pass\u200bword=hunter2\u2060hunter2"),
    ],
)
def test_a_known_leak(secret, text):
    assert kept(secret, clean(text)) is None


@given(leaks())
def test_no_credential_survives(found):
    """Neither in a message, nor in a log line, nor in a dump; a second time changes nothing."""
    for secret, text in found:
        message = clean(text)
        assert kept(secret, message) is None
        assert clean(message) == message
        assert kept(secret, redact(text)) is None
        masked = Masking().masked({"status": {"message": text}, "args": [text]})
        assert kept(secret, str(masked)) is None


@given(
    st.integers(0, 2**32),
    st.integers(0, 63),
    st.integers(2, 20),
    st.sampled_from(["\n", " ", "\\n", "\r\n"]),
)
def test_the_middle_of_a_private_key(seed, start, lines, end):
    """The end of a log may have neither the beginning of a key nor its end, and as little as two of its lines."""
    body = base64.b64encode(hashlib.shake_256(str(seed).encode()).digest(48 * 22)).decode()
    wrapped = [body[at : at + 64] for at in range(0, 64 * (lines + 1), 64)]
    text = end.join(["it said:", wrapped[0][start:], *wrapped[1:], "and ended"])
    for said in (clean(text), redact(text), " ".join(clean_lines(text))):
        assert not [
            piece
            for each in wrapped[1:]
            for n in range(0, 60, 4)
            if (piece := each[n : n + 4]) in said
        ]
        assert "it said" in said
        assert "and ended" in said


@pytest.mark.parametrize(
    "text",
    [
        " ".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(3)),
        "/opt/venv/lib/python3/site/packages/transformers/models/llama/modeling and others",
        "no such host",
        "-----END of the report-----",
    ],
)
def test_what_is_long_and_no_key_stays(text):
    """Digests in hexadecimal and paths are what an operator looks for."""
    assert clean(text) == text


@given(leaks(), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(INVISIBLE)), max_size=30))
def test_what_nobody_sees_hides_nothing(found, inserted):
    """Characters without a glyph are taken out before anything is looked for."""
    for secret, plain in found:
        text = plain
        for place, character in inserted:
            text = text[:place] + character + text[place:]
        message = clean(text)
        assert kept(secret, message) is None
        assert kept(secret, redact(text)) is None
        assert not set(INVISIBLE) & set(message)


def with_all_rules(text):
    """What is left if each rule is tried at each character, however long that takes."""
    yes = {
        name: lambda *_: True
        for name in ("may_have_user_info", "may_have_flag", "may_have_shape", "may_have_key_lines")
    }
    everywhere = {"beginnings_of_keys": lambda lowered: range(len(lowered) + 1)}
    with patch.multiple(credential_rules, **yes, **everywhere):
        return credential_rules.without_credentials(text)


fragments = st.sampled_from(
    [
        *sorted({each.replace("{}", "") for each in (*BY_KEY, *BY_SHAPE)}),
        *("\u212a", "\u0130", "sk-", "ta", "msg.", "key", "=", ":", " ", "-", '\\"', "value: "),
        "abcdefgh12345678ABCD",
    ]
)
"""Parts of forms, and what stands close to them; the sign for Kelvin is a K in lower case only to some."""


@given(leaks(), st.lists(fragments, min_size=1, max_size=8))
def test_a_quick_look_skips_nothing(found, pieces):
    """Rules are tried only where they may find something; elsewhere they would find nothing."""
    texts = [text for _, text in found] + [text.swapcase() for _, text in found]
    for text in (*texts, "".join(pieces)):
        assert credential_rules.without_credentials(text) == with_all_rules(text)
