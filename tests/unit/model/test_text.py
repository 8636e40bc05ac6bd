"""Foreign texts are bounded and printable, and keep only the host of a link."""

import time

import pytest

from reporter.model.text import clean, redact


@pytest.mark.parametrize(
    "text",
    [
        'secret "hf-token-secret" not found',
        "ServiceAccount gho-st-writer-of-models cannot be found",
        "pull secret ghp-registry-credentials lacks .dockerconfigjson",
        "container kserve-container ended with 1",
        "image registry.example:5000/llama/vllm:v1.2@sha256:0123456789abcdef cannot be pulled",
        "invalid token: expired",
        "401 Unauthorized: basic authentication required",
        "max_num_batched_tokens=8192 is below max_model_len: 16384; eos_token=</s>",
        'pods "x" is forbidden: User "system:serviceaccount:kaito:w" cannot get resource "pods"',
        "spec.token: Required value",
        "secretKeyRef key=token of secret hf in my-models does not exist",
        "pull access denied, repository does not exist or may require authorization: server message: denied",
        "stat /etc/ssl/private.key: no such file or directory; mailto:team@example.com",
        "where it is not wanted, set --components gateway-auth=off",
    ],
)
def test_what_is_useful_stays(text):
    """A missing Secret is named like any other object: the operator has to search for it."""
    assert clean(text) == text


@pytest.mark.parametrize(
    "secret",
    [
        "hf_abcdefghijklmnop",
        "ghp_abcdefghijklmnop",
        "ghs_abcdefghijklmnop",
        "github_pat_abcdefghijklmnop",
        "glpat-abcdefghijklmnop",
        "xoxb-abcdefghijklmnop",
        "sk-abcdefghijklmnop",
        "sk_live_abcdefghijkl",
        "AKIAABCDEFGHIJKLMNOP",
        "Bearer abcdefgh",
        "eyJhbGciOiJub25lIn0.eyJhIjoxfQ",
    ],
)
def test_credentials_are_taken_out(secret):
    assert clean(f"refused: {secret}") == "refused: <redacted>"


def test_the_key_stays():
    assert (
        clean('{"db_password": "abc def", "user": "me"}')
        == '{"db_password": <redacted>, "user": "me"}'
    )
    assert clean("login as me:abcdefgh@db.example") == "login as me:<redacted>@db.example"


def test_a_text_made_to_be_slow_costs_milliseconds():
    """No rule looks at a character again and again, whatever the text repeats."""
    parts = (
        "token",
        "password" + " " * 500,
        ":a",
        "pass ",
        "\\",
        '"',
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "Ab0" * 7 + " ",
        "Ab0" * 30 + " ",
        "Ab0" * 30 + "\\n",
        "--key",
        "a@",
    )
    began = time.process_time()
    for part in parts:
        clean(part * (4096 // len(part)) + "@")
    assert time.process_time() - began < 0.5


def test_colours_of_a_terminal_leave_nothing():
    """Libraries log in colour, and their last words are messages of a container."""
    assert clean("\x1b[1;31mCUDA error\x1b[0m: out of memory\x1b") == "CUDA error: out of memory"


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("https://models.example/llama", "models.example"),
        ("https://10.0.0.7:8443/v2/?token=abcdefgh", "10.0.0.7:8443"),
        ('"https://registry.example:5000/v2/":', '"registry.example:5000":'),
        ("(HTTPS://AKA.MS/ProdportalCRP/#blade/%7B%22id).", "(aka.ms)."),
        ("https://aka.ms@evil.example/x", "evil.example"),
        ("https://aka.ms\\@evil.example/x", "evil.example"),
        ("https://me:hunter2hunter2@aka.ms/quota?sig=abcdefgh#hunter2hunter2", "aka.ms"),
        ("https://aka.ms.", "aka.ms."),
        ("https://\u0430ka.ms/x", "<link removed>"),
        ("javascript://aka.ms/x", "<link removed>"),
        ("ftp://aka.ms/x", "<link removed>"),
    ],
)
def test_of_a_link_the_host_stays(link, said):
    """The author of a text must not choose which page an operator opens."""
    assert clean(f"see {link} now") == f"see {said} now"
    assert clean(clean(f"see {link} now")) == clean(f"see {link} now")


def test_queries_of_urls_reach_no_log():
    """Those of signed URLs are credentials, whatever their parameters are called."""
    assert (
        redact('GET "https://me:pw@host/x?code=abcdefgh#y" failed')
        == 'GET "https://me:<redacted>@host/x" failed'
    )
