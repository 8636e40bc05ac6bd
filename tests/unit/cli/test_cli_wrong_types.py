"""Whatever stands in any field of any object, an evaluation ends with a report."""

import copy
import json

import pytest

from reporter.cli.main import main
from reporter.snapshot.documents import read_documents
from tests.tables import ALL

WRONG = (
    None,
    5,
    -1.5,
    True,
    "",
    "x" * 100_000,
    "\x1b[31m\u202e\n",
    [],
    [None],
    [5],
    [[]],
    {},
    {"a": None},
    {"": {"": []}},
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
)

_HERE = ("chat-models", "kaito-system", "istio-system", "kube-system")


@pytest.fixture(scope="module")
def objects(examples):
    """The objects of one workload namespace of the broken stack and what it rests on, by kind."""
    by_kind = {}
    for document in read_documents([examples / "broken-stack"]):
        for item in document.value["items"]:
            if item["metadata"].get("namespace", _HERE[0]) not in _HERE:
                continue
            by_kind.setdefault(item["kind"], []).append(item)
    return by_kind


def paths(value, path=()):
    """Yield the path of each field, the entries of a list taken as one."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*path, key)
            yield from paths(part, (*path, key))
    elif isinstance(value, list):
        for part in value:
            yield from paths(part, (*path, 0))


def put(value, path, wrong):
    """Set a field in all entries of the lists on its path."""
    head, *rest = path
    if isinstance(value, list):
        for entry in value:
            if head == 0 and rest:
                put(entry, rest, wrong)
    elif isinstance(value, dict) and head in value:
        if rest:
            put(value[head], rest, wrong)
        else:
            value[head] = copy.deepcopy(wrong)


def check(tmp_path, objects, capsys):
    path = tmp_path / "dump.json"
    path.write_text("\n".join(json.dumps(each) for each in objects))
    argv = ["check", "--from", str(path), "-o", "json", "--now", "2026-11-20T12:00:00Z"]
    status = main(argv)
    out, err = capsys.readouterr()
    assert status in {0, 1, 2}
    assert "Traceback" not in err
    if status != 2:
        document = json.loads(out)
        for event in document["events"]:
            assert len(event["message"].encode()) <= 1024
            assert event["message"].isprintable()


@pytest.mark.parametrize("kind", [*(each.kind for each in ALL), "CustomResourceDefinition"])
def test_wrong_types_in_every_field(tmp_path, objects, capsys, kind):
    """Each field of each kind in turn holds what it should not; nothing crashes."""
    fields = sorted({path for each in objects.get(kind, ()) for path in paths(each)}, key=str)
    for number, field in enumerate(fields):
        changed = []
        for each in [item for items in objects.values() for item in items]:
            mutant = each
            if each["kind"] == kind:
                mutant = copy.deepcopy(each)
                put(mutant, field, WRONG[number % len(WRONG)])
            changed.append(mutant)
        check(tmp_path, changed, capsys)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("field", ["metadata", "spec", "status", "kind", "apiVersion"])
def test_wrong_parts_of_all_objects(tmp_path, objects, capsys, field, wrong):
    """Even if no object at all is as it should be, the answer is a report or a clear refusal."""
    changed = [each | {field: wrong} for items in objects.values() for each in items]
    check(tmp_path, changed, capsys)


def test_ten_thousand_conditions(tmp_path, objects, capsys):
    """Absurd sizes are skipped with a cause."""
    changed = copy.deepcopy(objects["Workspace"])
    for each in changed:
        each["status"]["conditions"] *= 2000
    rest = [each for kind, items in objects.items() if kind != "Workspace" for each in items]
    check(tmp_path, [*changed, *rest], capsys)
