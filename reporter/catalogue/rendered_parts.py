"""Pages that are written by hand but for some parts, which are rendered from the catalogue."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

_PART: Final = re.compile(
    r"(?P<begin><!-- rendered: (?P<name>[a-z]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def with_parts(text: str, parts: Mapping[str, Callable[[], Iterable[str]]]) -> str:
    """Return a page with its parts rendered again; each is the lines between two comments."""

    def rendered(part: re.Match[str]) -> str:
        lines = "".join(f"{line}\n" for line in parts[part["name"]]())
        return part["begin"] + lines + part["end"]

    return _PART.sub(rendered, text)
