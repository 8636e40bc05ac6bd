"""How a container ended, in plain words."""

import base64
import hashlib

import pytest

from reporter.diagnosis.case import ending, exit_words, last_words
from reporter.model.objects.pods import Terminated

KEY = "\n".join(
    base64.b64encode(hashlib.sha384(bytes([number])).digest()).decode() for number in range(5)
)
"""The middle of a private key, as the end of a log may be: lines of 64 characters."""


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (1, "Error", "exit code 1"),
        (127, "Error", "exit code 127: its command was not found"),
        (137, "Error", "exit code 137: killed by a probe, a stop past its grace, or for memory"),
        (137, "OOMKilled", "exit code 137: killed, out of memory"),
        (139, "Error", "exit code 139: crashed with a segmentation fault"),
        (143, "Error", "exit code 143: asked to stop"),
        (99, None, "exit code 99"),
    ],
)
def test_what_an_exit_code_means(code, reason, words):
    """A signal is told by what usually sends it; a code of the program's own stays a number."""
    assert exit_words(code, reason) == words


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (None, ""),
        ("  \n", ""),
        ("ValueError: no such model\n", "ValueError: no such model"),
        (
            "Traceback (most recent call last):\n  File x\nRuntimeError: no CUDA",
            "RuntimeError: no CUDA",
        ),
        ("2026-11-20T12:00:00.123Z ERROR no space", "ERROR no space"),
        ("(EngineCore pid=174) ERROR 11-20 12:00:01 failed", "(EngineCore ) ERROR failed"),
        ("token=abcdefgh12345678 refused", "token=<redacted> refused"),
        ("token:\nabcdefgh12345678", "<redacted>"),
        ("refused\n--password\nhunter2hunter2\n", "<redacted>"),
        ("\x1b[1mpass\x00word\x1b[0m:\n hunter2hunter2", "<redacted>"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefgh", "<redacted>"),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIEabcdefgh\n-----END PRIVATE KEY-----\nrefused",
            "refused",
        ),
        (f"{KEY}\n", "<redacted>"),
        (f"{KEY}\nrefused", "refused"),
        (f"refused\n{KEY[30:]}\nQ2xvc2U=", "<redacted>"),
        (f"{KEY[30:]}\nQ2xvc2U=\n-----END RSA PRIVATE KEY-----\nbye", "bye"),
        ("Q2xvc2U=\n-----END PRIVATE KEY-----", "<redacted>"),
        ("x" * 4090 + "\nlast one", "last one"),
        ("key=" + "x" * 8000, ""),
    ],
)
def test_the_last_words(message, said):
    """The last line says what went wrong; it is the same after the next crash, and holds no secret."""
    assert last_words(message) == said


def test_the_last_words_are_bounded():
    """A line of a log may be as long as it likes."""
    assert len(last_words("x" * 4000)) <= 240


def test_code_and_words_together():
    ended = Terminated(exit_code=143, reason="Error", message="bye")
    assert ending(ended) == " (exit code 143: asked to stop): bye"
