"""Which links stay in a text from elsewhere: those to the pages where providers document their quotas."""

import re
from collections.abc import Container
from typing import Final

LINK_HOSTS: Final = (
    "aka.ms",
    "learn.microsoft.com",
    "aws.amazon.com",
    "docs.aws.amazon.com",
    "cloud.google.com",
    "console.cloud.google.com",
)
"""Hosts that only their provider writes to, and that what it says of a quota names: Azure's QuotaExceeded
(aka.ms/ProdportalCRP), EC2's VcpuLimitExceeded (aws.amazon.com/contact-us/ec2-request), and Google Cloud's
QUOTA_EXCEEDED (cloud.google.com/compute/docs, and the console's quota page)."""

REMOVED: Final = "<link removed>"

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://\S*", re.IGNORECASE)
_PARTS: Final = re.compile(
    r"(?P<scheme>https?)://(?:[^\s/?#]*@)?(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?P<path>(?:/[a-z0-9._~%/-]*)?)"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CLOSING: Final = re.compile(r"[.,;:!)\]}>\"']*")
_ENDS_PATH: Final = re.compile(r"(?:[?#]|[.,;:!)\]}>\"']+(?:[?#]|\Z)|\Z)")


def with_links_to(text: str, hosts: Container[str] = LINK_HOSTS) -> str:
    """Return a text with the links to these hosts, as scheme, host and path; all others are taken out.

    A name and a password before the host, a port, a query and a fragment never stay.
    """
    return _URL.sub(lambda match: _kept(match[0], hosts), text) if "://" in text else text


def _kept(url: str, hosts: Container[str]) -> str:
    parts = _PARTS.fullmatch(url)
    if parts is None or parts["host"].lower() not in hosts or not _ENDS_PATH.match(parts["rest"]):
        return REMOVED
    path = parts["path"].rstrip(".")
    # What closes the sentence around a link is no part of it.
    ends = parts["path"][len(path) :] + parts["rest"]
    closing = ends if _CLOSING.fullmatch(ends) else ""
    return f"{parts['scheme'].lower()}://{parts['host'].lower()}{path}{closing}"
