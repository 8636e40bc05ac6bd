"""The page on ModelServings has the tables and bounds that the code has."""

import re

from reporter.stacks.kthena.derived.groups import GROUP_ROWS, INSTANCE_ROWS
from reporter.stacks.kthena.derived.status import MAX_ENTRIES, MAX_ORDINALS
from tests.unit.docs.pages import page, section, table

PAGE = page("modelserving.md")
STATES = section(PAGE, "## States")
STATUSES = re.compile(r"Creating|Running|Scaling|Deleting|NotFound|not listed")


def decided(text: str) -> dict[str, set[str]]:
    """Return the statuses that a table has for each row."""
    return {row[0]: set(STATUSES.findall(row[-1])) for row in table(text, "#")}


def test_the_rows_of_instances_are_those_that_decide():
    """I1 is applied where the list is written; I2 is not listed, and Deleting for the rest."""
    told = decided(STATES)
    assert told.pop("I1") == {"not listed"}
    assert told.pop("I2") == {"not listed", "Deleting"}
    rows = [row for row in INSTANCE_ROWS if row.name != "I2"]
    assert told == {row.name: {row.status.value if row.status else "not listed"} for row in rows}


def test_the_rows_of_groups_are_those_that_decide():
    _, _, rest = STATES.partition("A **ServingGroup**")
    told = decided(rest)
    assert told.pop("S1") == set()
    rows: dict[str, set[str]] = {}
    for row in GROUP_ROWS:
        rows.setdefault(row.name, set()).add(row.status.value)
    assert told == rows


def test_bounds_are_those_of_the_code():
    assert f"At most {MAX_ENTRIES:,} entries" in PAGE
    assert f"ordinals of groups, {MAX_ORDINALS} at most" in PAGE
