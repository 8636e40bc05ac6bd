"""Manifests as text: YAML documents in a row, or a List in JSON."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

import yaml

_READ_OTHERWISE: Final = re.compile(r"[-+.]?[0-9]|[yYnN]\Z")
"""Text that other parsers of YAML take for a number or a boolean, and PyYAML does not: `1e3`."""

_ENDS_A_LINE: Final = re.compile("[\x85\u2028\u2029]")
"""What ends a line in YAML 1.1, so that only quotes keep it (yaml.org/spec/1.1, 5.4)."""


class _Dumper(yaml.SafeDumper):
    """Writes as people do: lists indented, lines of text as lines, nothing by reference."""

    def ignore_aliases(self, data: object) -> bool:
        """Write everything out where it belongs."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002  # PyYAML's own
        """Indent lists."""
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if _ENDS_A_LINE.search(value):
        style = '"'
    elif "\n" in value:
        style = "|"
    elif _READ_OTHERWISE.match(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(documents: Iterable[Mapping[str, object]]) -> str:
    """Return the documents, each after a line `---`."""
    return "".join(f"---\n{_dumped(each)}" for each in documents)


def json_text(documents: Iterable[Mapping[str, object]]) -> str:
    """Return the documents as the items of one List."""
    content = {"apiVersion": "v1", "kind": "List", "items": [*documents]}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _dumped(document: Mapping[str, object]) -> str:
    text: str = yaml.dump(
        dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return text
