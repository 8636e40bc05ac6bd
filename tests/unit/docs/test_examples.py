"""What examples/README.md says that each dump shows is what `check` says of it, and no dump is left out."""

import json

import pytest

from tests.tables import BY_NAME
from tests.unit.docs.pages import ROOT, code, table

EXAMPLES = ROOT / "examples"
ROWS = table((EXAMPLES / "README.md").read_text(), "`--from`")
NO_DUMPS = {"custom-components", "alert-routing", "dialects"}
"""One has a page of its own, the other is for other programs."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_dump_shows_what_is_said(run, row):
    folders, fires, notes = row
    dumps = [f"--from={EXAMPLES / each}" for each in code(folders)]
    _, out, _ = run("check", *dumps, "-o", "json")
    firing = {
        each["reason"] for each in json.loads(out)["findings"] if each["disposition"] == "firing"
    }
    assert firing == BY_NAME.keys() & set(code(fires))
    assert firing or fires == "nothing"
    _, out, _ = run("check", *dumps)
    text = " ".join(out.split())
    assert [each for each in code(notes) if each not in text] == []


def test_every_dump_is_in_the_table():
    told = {each for row in ROWS for each in code(row[0])}
    folders = {
        str(path.relative_to(EXAMPLES).parent)
        for path in EXAMPLES.glob("*/**/*.yaml")
        if path.relative_to(EXAMPLES).parts[0] not in NO_DUMPS
    }
    single = {"modelservice"}  # manifests for `render`
    assert told == folders - single
