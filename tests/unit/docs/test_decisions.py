"""The records of decisions: short, dated, of one form, and all in the index."""

import re

import pytest

from tests.unit.docs.pages import PAGES, page

FOLDER = "docs/decisions/"
INDEX = PAGES[f"{FOLDER}README.md"]
RECORDS = {
    name.removeprefix(FOLDER): text
    for name, text in PAGES.items()
    if name.startswith(FOLDER) and not name.endswith("README.md")
}
PARTS = ["Question", "Decision", "Why", "Considered", "What would change our mind"]


def test_the_index_has_each_record_with_its_date():
    """Nothing is decided where nobody looks, and the page on architecture leads there."""
    rows = re.findall(r"\| \[\d+\]\((.+?)\) \| .+ \| (.+) \|", INDEX)
    assert dict(rows) == {name: text.splitlines()[2] for name, text in RECORDS.items()}
    assert "(decisions/README.md)" in page("architecture.md")


@pytest.mark.parametrize(("name", "text"), RECORDS.items(), ids=RECORDS.keys())
def test_a_record_has_one_question_and_is_short(name, text):
    """Number and date, the same parts in the same order, 15 to 30 lines."""
    lines = text.splitlines()
    assert lines[0].startswith(f"# {int(name[:4])}. ")
    assert lines[0].endswith("?")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", lines[2])
    told = re.findall(r"^\*\*([^*]+)\.\*\*", text, re.MULTILINE)
    assert [each for each in told if each in PARTS] == PARTS
    assert 15 <= len(lines) <= 30
