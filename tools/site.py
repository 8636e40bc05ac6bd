"""Hooks of mkdocs (`make site`): links out of docs/ lead to the repository."""

import posixpath
import re
from typing import Final, Protocol

_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((\.\./[^)\s]+)\)")


class _File(Protocol):
    src_uri: str


class _Page(Protocol):
    file: _File


class _Config(Protocol):
    repo_url: str | None


def on_page_markdown(markdown: str, *, page: _Page, config: _Config, **_: object) -> str:
    """Return a page whose links out of docs/ lead to the repository, or become text without its address."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def led(link: re.Match[str]) -> str:
        path, hash_, anchor = link[2].partition("#")
        there = posixpath.normpath(posixpath.join(folder, path))
        if there.startswith("docs/"):
            return link[0]
        if not config.repo_url:
            return link[1]
        return f"[{link[1]}]({config.repo_url.rstrip('/')}/blob/HEAD/{there}{hash_}{anchor})"

    return _LINK.sub(led, markdown)
