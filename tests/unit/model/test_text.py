"""Text from elsewhere, as it gets into messages, logs and reports."""

import pytest

from reporter.model.text import clean


@pytest.mark.parametrize(
    "text",
    [
        'secret "hf-token-secret" not found',
        "ServiceAccount gho-st-writer-of-models cannot be found",
        "pull secret ghp-registry-credentials lacks .dockerconfigjson",
        "container kserve-container ended with 1",
    ],
)
def test_names_of_objects_stay(text):
    """A Secret that is missing is named like any other object: that is what has to be looked for."""
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
        "token=abcdefgh",
    ],
)
def test_credentials_are_taken_out(secret):
    """Whatever their issuer writes before them."""
    assert clean(f"refused: {secret}") == "refused: <redacted>"


def test_colours_of_a_terminal_leave_nothing():
    """Libraries log in colour, and their last words are messages of a container."""
    assert clean("\x1b[1;31mCUDA error\x1b[0m: out of memory\x1b") == "CUDA error: out of memory"
