"""The files of the page, and what a browser may load."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content security policy of the served page: nothing inline, nothing from elsewhere."""

TYPES: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""The files, and what they are."""


@cache
def asset(name: str) -> str:
    """Return one of the files."""
    return (files(__package__) / "static" / name).read_text("utf-8")


def policy_of_file() -> str:
    """Return the policy of a page in one file: its own style sheet, told by its hash."""
    digest = b64encode(sha256(asset("page.css").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
