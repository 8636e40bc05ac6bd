"""Files that take many times their size in memory: each is as large as is read, or what takes most."""

import json

from tests.attacks.attack import Outcome, attacks, program

_MIB = 2**20
_VALUES = 4_000_000


def _run(start, piece, end, size):
    return start + piece * (size // len(piece)) + end


FILES = {
    "JSON of empty objects": ("json", '{"a": [', "{},", "{}]}", 3 * _VALUES // 2 - 300),
    "JSON of empty lists": ("json", '{"a": [', "[],", "[]]}", 3 * _VALUES // 2 - 300),
    "JSON of objects with a key": ("json", '{"a": [', '{"":{}},', "0]}", 2 * _VALUES - 800),
    "JSON of words of two bytes": ("json", '{"a": [', '"é",', "0]}", 4 * _VALUES - 400),
    "items that are no objects": ("json", '{"apiVersion": "v1", "kind": "PodList", "items": [', "1,", "1]}", 2 * _VALUES - 200),
    "items that are empty": ("json", '{"apiVersion": "v1", "kind": "PodList", "items": [', "{},", "{}]}", 3 * _VALUES // 2 - 300),
    "more values than are read": ("json", '{"a": [', "0,", "0]}", 90 * _MIB),
    "a string as large as a file": ("json", '{"a": "', "a", '"}', 95 * _MIB),
    "a string of emoji": ("json", '{"a": "', "😀", '"}', 8 * _MIB),
    "a string of emoji that is larger": ("json", '{"a": "', "a", '😀"}', 90 * _MIB),
    "YAML of empty objects": ("yaml", "a:\n", "- {}\n", "", 5 * _VALUES - 500),
    "YAML of keys": ("yaml", "a:\n", "- a: {}\n", "", 8 * (_VALUES // 3 - 100)),
    "a text of YAML as large as a file": ("yaml", "a: |\n", f"  {'a' * 997}\n", "", 95 * _MIB),
    "a file that is larger than a file": ("yaml", "a: ", "a", "", 100 * _MIB),
}  # fmt: skip
"""Ending, beginning, what is repeated, end, and how many characters."""


@attacks(FILES, quick=False)
def _(folder, row):
    ending, *parts = row
    (folder / f"d.{ending}").write_text(_run(*parts))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    (folder / "node.json").write_text(json.dumps(node))
    ran = program("check", folder, seconds=200)
    return Outcome(
        held=not ran.failed and ran.mebibytes < 1024,
        figure=f"{parts[-1] / _MIB:.0f} million characters take {ran.mebibytes:.0f} MiB, "
        f"{ran.seconds:.0f} s, status {ran.status}",
    )
