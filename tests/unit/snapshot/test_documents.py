import io
import json
import os
import tempfile
from pathlib import Path

import pytest

from reporter.snapshot.documents import BrokenDocument, Document, read_documents, sources_of
from reporter.snapshot.inputs.files import DumpError, InputLimits

A, B = {"kind": "A"}, {"kind": "B"}


def values(*sources):
    return [
        each.value if isinstance(each, Document) else f"broken: {each.cause}"
        for each in read_documents(sources)
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", json.dumps(A) + "\n" + json.dumps(B)),
        ("pretty.json", json.dumps(A, indent=2) + "\n" + json.dumps(B, indent=2) + "\n"),
        ("row.json", json.dumps(A) + json.dumps(B)),
        ("nameless", json.dumps(A) + "\n" + json.dumps(B)),
        ("json-then-yaml.txt", json.dumps(A) + "\n---\n" + json.dumps(B)),
        ("flow.yaml", "{kind: A}\n---\n{kind: B}\n"),
        ("block.yaml", "kind: A\n---\nkind: B\n"),
        ("windows.yaml", "kind: A\r\n---\r\nkind: B\r\n"),
    ],
)
def test_forms_and_encodings(tmp_path, name, content):
    """YAML and JSON, several documents in a row, with and without a byte order mark."""
    path = tmp_path / name
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        path.write_bytes(content.encode(encoding))
        assert values(path) == [A, B], encoding


def test_folders_are_read_in_the_order_of_names(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "metrics" / "ns").mkdir(parents=True)
    for name in ("b/z.yml", "a.yaml", "c.json"):
        (tmp_path / name).write_text(json.dumps({"kind": name}))
    for name in (".a.yaml", "README.md", "metrics/ns/1.prom"):
        (tmp_path / name).write_text("not: [yaml")
    assert values(tmp_path) == [{"kind": name} for name in ("a.yaml", "c.json", "b/z.yml")]


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kind: A\n")))
    assert values("-") == [A]


def test_a_named_pipe_is_read(tmp_path):
    """Process substitution in a shell gives a pipe, not a file."""
    read, write = os.pipe()
    os.write(write, b"kind: A\n")
    os.close(write)
    assert values(Path(f"/dev/fd/{read}")) == [A]
    os.close(read)


@pytest.mark.parametrize(
    ("raw", "cause"),
    [
        (b"\xff\xfe\xfa", "not UTF-8"),
        (b"kind: \xe9t\xe9", "not UTF-8"),
        (b"kind: [", "line "),
        (b'{"kind": ', "line "),
        (b"[" * 100_000, "line"),
    ],
)
def test_a_broken_file_costs_no_other(tmp_path, raw, cause):
    (tmp_path / "a.yaml").write_bytes(raw)
    (tmp_path / "b.yaml").write_text("kind: B\n")
    broken, good = list(read_documents([tmp_path]))
    assert isinstance(broken, BrokenDocument)
    assert cause in broken.cause
    assert broken.source.endswith("a.yaml")
    assert good == Document(str(tmp_path / "b.yaml"), B)


def test_broken_json_keeps_what_stands_before_it(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"kind": "A"}\n{"kind": \n')
    assert values(path)[0] == A
    assert values(path)[1].startswith("broken: line 3: it is not valid JSON")


def test_json_and_yaml_in_one_file(tmp_path):
    """`kubectl get -o yaml >> f; kubectl get -o json >> f`, in any order, repeatedly."""
    lists = [{"kind": "List", "items": [{"kind": f"K{number}"}]} for number in range(5)]
    path = tmp_path / "f"
    for is_json in ((0, 1, 0), (1, 0, 1), (0, 0, 1, 1, 0), (0, 1)):
        texts = [
            json.dumps(each, indent=4) + "\n" if one else f"kind: List\nitems:\n- kind: K{number}\n"
            for number, (each, one) in enumerate(zip(lists, is_json, strict=False))
        ]
        path.write_text("".join(texts))
        assert values(path) == lists[: len(is_json)]


def test_a_broken_value_costs_no_other(tmp_path):
    """The message names the line; whatever begins at the left edge after it counts."""
    path = tmp_path / "a.json"
    path.write_text(
        '{"kind":\n"A"}\n{"kind": "x\n{"kind": "B",\n"list": [\n{"a": 1},\n{"b": 2}]}\n'
    )
    first, broken, last = values(path)
    assert (first, last) == (A, {**B, "list": [{"a": 1}, {"b": 2}]})
    assert broken.startswith("broken: line 3: it is not valid JSON")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "9" * 5_000])
def test_numbers_that_json_has_not(tmp_path, number):
    path = tmp_path / "a.json"
    path.write_text(f'{{"kind": {number}}}\n{{"kind": "B"}}\n')
    broken, last = values(path)
    assert last == B
    assert broken.startswith("broken: line 1: it is not valid JSON")


def test_deep_json_is_refused(tmp_path):
    """A document nested so deeply that it would exhaust the stack counts as broken."""
    path = tmp_path / "a.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    assert values(path) == ["broken: it is nested too deeply"]
    path.write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + '}\n{"kind": "A"}\n')
    assert values(path) == ["broken: it is nested too deeply", A]


def test_a_missing_path_is_an_error(tmp_path):
    with pytest.raises(DumpError, match="no such file or folder"):
        values(tmp_path / "missing")


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(DumpError, match=r"has no \.yaml"):
        values(tmp_path)


@pytest.fixture
def _ordinary_user():
    """Root may read everything, so the test runs as another user."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", ["folder", "folder/file.yaml"])
@pytest.mark.usefixtures("_ordinary_user")
def test_an_unreadable_path_is_an_error(name):
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base, "folder")
        folder.mkdir()
        (folder / "file.yaml").write_text("kind: A")
        Path(base, name).chmod(0)
        try:
            with pytest.raises(DumpError, match="permission denied"):
                values(folder)
        finally:
            Path(base, name).chmod(0o700)


def test_a_file_that_is_too_large_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "a.yaml"
    path.write_text("kind: A # more than ten bytes")
    limits = InputLimits(file=10)
    for source in (path, tmp_path):
        with pytest.raises(DumpError, match="split it by kind"):
            list(read_documents([source], limits))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kind: A # more\n")))
    with pytest.raises(DumpError, match="standard input: larger"):
        list(read_documents(["-"], limits))


def test_a_source_named_twice_is_read_once():
    """Standard input can be read only once, and reading a file twice gives only duplicates."""
    assert sources_of(["a", "-", "a", "-"]) == [Path("a"), "-"]
