"""Whatever stands in any field of any object, an evaluation ends with a report."""

import copy
import json

import pytest

from reporter.catalogue.resources import ON_DEMAND
from reporter.cli.main import main
from reporter.snapshot.documents import read_documents
from tests.incidents.models import build
from tests.incidents.score import cases
from tests.tables import ALL
from tests.unit.conftest import EXAMPLES

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

_ELSEWHERE = ("code-models", "search-models", "keda", "llm-gateway-auth")
"""Namespaces of the broken stack that hold more of the same."""


def dump(folder):
    """The objects of an example, by kind."""
    by_kind = {}
    for document in read_documents([EXAMPLES / folder]):
        for item in document.value["items"]:
            if item["metadata"].get("namespace") not in _ELSEWHERE:
                by_kind.setdefault(item["kind"], []).append(item)
    return by_kind


FOLDERS = (
    "broken-stack", "modelserving/stuck-role", "modelservice/broken", "inferenceservice/failing-load",
    "llminferenceservice/broken", "modelservice/healthy",
)  # fmt: skip
DUMPS = {folder: dump(folder) for folder in FOLDERS}
IN = {kind: DUMPS[folder] for folder in reversed(FOLDERS) for kind in DUMPS[folder]}
"""For each kind the first example that has any."""

for _case in cases():
    _objects = {}
    for _each in json.loads(json.dumps([*build(_case).objects.values()], default=str)):
        _objects.setdefault(_each["kind"], []).append(_each)
    for _kind in _objects.keys() & {each.kind for each in (*ALL, *ON_DEMAND)}:
        IN.setdefault(_kind, _objects)
"""What explains why pods do not run stands in the incidents."""


@pytest.fixture
def objects():
    return DUMPS["broken-stack"]


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


@pytest.fixture(name="is_answered")
def _is_answered(tmp_path, capsys):
    """Whether an evaluation of the objects ends with a report that can be written, or is refused."""
    path = tmp_path / "dump.json"
    argv = ["check", "--from", str(path), "-o", "json", "--now", "2026-11-20T12:00:00Z"]

    def is_answered(objects):
        path.write_text("\n".join(json.dumps(each) for each in objects))
        status = main(argv)
        out, err = capsys.readouterr()
        if status == 2 or "Traceback" in err:
            return "Traceback" not in err
        messages = [event["message"] for event in json.loads(out)["events"]]
        fit = all(len(each.encode()) <= 1024 and each.isprintable() for each in messages)
        return status in {0, 1} and fit

    return is_answered


def test_every_kind_that_is_read_is_in_an_example():
    """But for these, and those of dialects; of a kind that is in none the tests below say nothing."""
    read = {each.kind for each in (*ALL, *ON_DEMAND) if each.stack != "dialects"}
    without = {"ClusterPolicy", "Lease", "RAGEngine", "VolumeAttachment"}
    assert read - IN.keys() <= without


@pytest.mark.parametrize(
    "step", [pytest.param(7, id="some"), pytest.param(1, id="every field", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("kind", sorted(IN))
def test_wrong_types_in_every_field(is_answered, kind, step):
    """Fields of each kind in turn hold what they should not; nothing crashes."""
    objects = IN[kind]
    fields = sorted({path for each in objects[kind] for path in paths(each)}, key=str)
    unanswered = []
    for number, field in [*enumerate(fields)][::step]:
        changed = []
        for each in [item for items in objects.values() for item in items]:
            mutant = each
            if each["kind"] == kind:
                mutant = copy.deepcopy(each)
                put(mutant, field, WRONG[number % len(WRONG)])
            changed.append(mutant)
        if not is_answered(changed):
            unanswered.append(field)
    assert unanswered == []


@pytest.mark.parametrize("field", ["metadata", "spec", "status", "kind", "apiVersion"])
def test_wrong_parts_of_all_objects(objects, is_answered, field):
    """Even if no object at all is as it should be, the answer is a report or a clear refusal."""
    whole = [each for items in objects.values() for each in items]
    assert [
        wrong for wrong in WRONG if not is_answered([each | {field: wrong} for each in whole])
    ] == []


def test_ten_thousand_conditions(objects, is_answered):
    changed = copy.deepcopy(objects["Workspace"])
    for each in changed:
        each["status"]["conditions"] *= 2000
    rest = [each for kind, items in objects.items() if kind != "Workspace" for each in items]
    assert is_answered([*changed, *rest])
