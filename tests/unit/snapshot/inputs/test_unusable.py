"""A file that is no dump gets one line: what it looks like, and what to do."""

import pytest

from reporter.snapshot.dump import load_dump
from reporter.snapshot.inputs.files import DumpError
from reporter.stacks import BUILT_IN


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "it is empty; did the command"),
        (b"\xfd7zXZ\x00...", "an xz archive; unpack it"),
        (b"\x28\xb5\x2f\xfd...", "a zstd archive"),
        (b"7z\xbc\xaf\x27\x1c...", "a 7z archive"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"\x89PNG\r\n", "a picture"),
        (b"<!DOCTYPE html><html>", "a page of HTML"),
        (b"apiVersion: v1\nclusters:\n- cluster: {}\nkind: Config\n", "--kubeconfig FILE"),
        (b"NAMESPACE   NAME   READY   STATUS\nkube-system a 1/1 Running\n", "it needs -o yaml"),
        (b"NAME            STATUS   ROLES\nnode-1 Ready x\n", "it needs -o yaml"),
        (b"LAST SEEN   TYPE      REASON   OBJECT\n", "it needs -o yaml"),
        (b"Name:         p\nNamespace:    n\n", "kubectl describe"),
        (b"Error from server (Forbidden): pods is forbidden", "an error message of kubectl"),
        (b"# HELP vllm:num_requests_running x\n", "metrics/<namespace>/<pod>"),
        (b"I1120 12:00:00.000000       1 main.go:1] starting\n", "a log"),
        (b"2026-11-20T12:00:00Z stderr F starting\n", "a log"),
        (b"\xf3\x00\xfe", "it is not UTF-8 text; a dump is what `kubectl get ... -o yaml` prints"),
    ],
)
def test_what_it_looks_like(tmp_path, raw, words):
    (said,) = said_of(tmp_path, raw)
    assert words in said
    assert said.startswith(f"{tmp_path / 'file'}: it ")


@pytest.mark.parametrize(
    "raw",
    [b"hello", b"name,age\na,1\n", b"replicaCount: 1\nimage: {tag: x}\n", b'{"a": 1}', b'{"a": ['],
)
def test_any_other_file(tmp_path, raw):
    (said,) = said_of(tmp_path, raw)
    assert said.endswith("or what `status-reporter dump` writes")


def said_of(folder, raw):
    path = folder / "file"
    path.write_bytes(raw)
    with pytest.raises(DumpError) as error:
        load_dump([path], BUILT_IN)
    return str(error.value).splitlines()


def test_objects_behind_a_warning_are_no_log(tmp_path):
    """What kubectl says on the other stream may stand before the objects."""
    path = tmp_path / "dump.yaml"
    path.write_text(
        "W1120 12:00:00.000000 1 x.go:1] old\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
    )
    assert load_dump([path], BUILT_IN).snapshot.states
