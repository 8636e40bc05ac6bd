"""Dumps that a stranger sends: files that cost much more than their size."""

from reporter.snapshot.documents import read_documents
from tests.attacks.attack import attacks, growth

_OBJECT = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
_JSON = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}'

TEXTS = {
    "newlines": ("d.yaml", "", "\n", ""),
    "newlines and a letter": ("d.txt", "", "\n", "x"),
    "blanks": ("d.yaml", "", " ", ""),
    "blanks and a letter": ("d.txt", "", " ", "x"),
    "tabs": ("d.yaml", "", "\t", ""),
    "tabs without end": ("d.txt", "a", "\t", ""),
    "carriage returns": ("d.yaml", "", "\r", "x"),
    "lines of blanks": ("d.yaml", "", "  \n", "x"),
    "ends of documents": ("d.yaml", "", "---\n", ""),
    "ends of documents in one line": ("d.yaml", "", "--- ", ""),
    "dashes": ("d.yaml", "", "-", ""),
    "dots": ("d.yaml", "", "...\n", ""),
    "lists in lists in one line": ("d.yaml", "", "- ", "x"),
    "questions": ("d.yaml", "", "? ", "x"),
    "directives of YAML": ("d.yaml", "", "%YAML 1.1\n", "--- 1\n"),
    "tags of YAML": ("d.yaml", "", "%TAG !{n}! tag:x,{n}:\n", "x\n"),
    "anchors": ("d.yaml", "a:\n", "- &a{n} 1\n", ""),
    "aliases": ("d.yaml", "a: &a 1\nb:\n", "- *a\n", ""),
    "keys of objects": ("d.yaml", "", "kind:\n", ""),
    "keys of objects that begin and do not end": ("d.yaml", "", "metadata:\nkind:\nitems:\n", ""),
    "keys that are one": ("d.yaml", "a:\n", "  k: 1\n", ""),
    "keys that are many": ("d.yaml", "a:\n", "  k{n}: 1\n", ""),
    "merge keys": ("d.yaml", "a: &a {x: 1}\nb:\n", "  <<: *a\n", ""),
    "brackets": ("d.yaml", "", "[", ""),
    "braces": ("d.yaml", "", "{", ""),
    "colons": ("d.yaml", "", ":", ""),
    "quotes": ("d.yaml", "", '"', ""),
    "a text that does not end": ("d.yaml", '"', "a\n", ""),
    "comments": ("d.yaml", "", "#\n", ""),
    "comment signs": ("d.yaml", "", "#", ""),
    "a block of text": ("d.yaml", "a: |\n", "  x\n", ""),
    "a block of empty lines": ("d.yaml", "a: |\n", "\n", "b: 1\n"),
    "what kubectl says": ("d.yaml", "", "error: x\n", ""),
    "objects, broken": ("d.yaml", "", _OBJECT + "  x: [\n", ""),
    "objects, cut off": ("d.yaml", "", "apiVersion: v1\nkind: Node\nmetadata: {na\n", ""),
    "JSON, broken": ("d.json", "", '{"a": }\n', ""),
    "JSON, broken, by another name": ("d.txt", '{"a": 1}\n', '{"a": }\n', ""),
    "JSON that opens and opens": ("d.json", "", '{"a": [\n', ""),
    "JSON that opens and opens at the left edge": ("d.json", "", '{"a":\n', ""),
    "JSON of brackets": ("d.json", "", "[", ""),
    "JSON in a row, the last one broken": ("d.json", "", _JSON + "\n", "{"),
    "JSON of strings that do not end": ("d.json", "", '{"a\n', ""),
    "JSON of backslashes": ("d.json", '{"a": "', "\\", ""),
    "JSON of numbers": ("d.json", '{"a": ', "9", "}"),
    "JSON of blanks": ("d.json", "{", " ", ""),
    "JSON of keys": ("d.json", "{", '"k{n}": 1,', "}"),
    "logs of pods": ("d.txt", "", "==== START logs for container c of pod n/p ====\n", ""),
    "logs of pods in a list": ("d.txt", _JSON + "\n", "==== START logs for container {n} of pod n/p ====\nx\n", ""),
    "letters of two bytes": ("d.yaml", "", "é", ""),
    "ends of lines of Unicode": ("d.yaml", "", "\u2028", ""),
    "bytes of zero": ("d.yaml", "", "\0", ""),
}  # fmt: skip
"""By what it is: the name of a file, its beginning, what is repeated in it, and its end."""

_SIZE = 20_000


@attacks(TEXTS)
def _(folder, row):
    name, start, piece, end = row
    path = folder / name

    def reading(size):
        count = size // len(piece)
        run = (
            "".join(piece.replace("{n}", str(each)) for each in range(count))
            if "{n}" in piece
            else piece * count
        )
        text = start + run + end
        written = path.with_name(f"{size}-{name}")
        written.write_text(text)
        return lambda: len(list(read_documents([written])))

    return growth(reading, _SIZE)
