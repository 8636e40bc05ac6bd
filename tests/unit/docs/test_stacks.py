"""The pages on stacks have the reasons, tables and bounds that the code has."""

import re

import pytest

from lab.demo.main import STORIES
from reporter.stacks import BUILT_IN, DIALECTS
from reporter.stacks.kserve import reasons as kserve
from reporter.stacks.kthena.derived.status import MAX_ENTRIES, MAX_ORDINALS
from reporter.stacks.llmisvc import reasons as llmisvc
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.components import components
from tests.tables import BY_NAME, CLUSTER_WIDE, REASONS, SCRAPED, Stack, subjects_of
from tests.unit.docs.pages import code, page, section, table
from tests.unit.stacks.kthena.derived.test_rows import GROUP_ROWS, INSTANCE_ROWS
from tools.pages import stacks_page

ROWS = {code(row[0])[0]: row for row in table(section(page("stacks.md"), "## The table"), "stack")}
SETTINGS = FullEvaluationSettings()


def test_the_table_is_rendered():
    assert stacks_page(page("stacks.md"), BUILT_IN) == page("stacks.md")
    assert ROWS.keys() == set(Stack)


def read_of(stack):
    """What is read of a stack: kinds, labels, and the mode that some of it takes."""
    read = [each for each in CLUSTER_WIDE if each.stack == stack]
    labels = {each.label_selector for each in read if each.label_selector}
    modes = {f"{stack}=on" for each in read if each.wide}
    modes |= {f"--{each.opt_in.replace('_', '-')}" for each in read if each.opt_in}
    return {*map(str, read), *labels, *modes}


def test_what_is_read_is_what_the_catalogue_reads():
    """Whoever grants rights by the page grants enough."""
    told = {stack: set(code(ROWS[stack][1])) for stack in Stack}
    assert told == {stack: read_of(stack) for stack in Stack}


def reasons_of(stack):
    """Reasons of its subjects with and without a window."""
    kinds = {each.subject_kind for each in subjects_of(stack)}
    told = [each for each in REASONS if each.subject_kind in kinds]
    plain = [each.name for each in told if each.window_seconds is None]
    return plain, [each.name for each in told if each.window_seconds is not None]


def controllers_of(stack):
    """Its Deployments that are switched off with it."""
    off = {each.reason for each in components(FullEvaluationSettings(stacks={stack: "off"}))}
    return [each for each in components(SETTINGS) if each.reason not in off]


def test_reasons_are_those_of_the_subjects_and_the_controllers():
    """No reason is left out, and each stands once; of those from metrics, the first and the last."""
    told, wanted = {}, {}
    for stack in Stack:
        plain, from_metrics = reasons_of(stack)
        if stack == DIALECTS:
            plain = {f"KIND{BY_NAME[each].heading}" for each in plain}
        ends = from_metrics[:1] + from_metrics[-1:]
        told[stack] = sorted(code(ROWS[stack][3]))
        wanted[stack] = sorted([*plain, *ends, *{each.reason for each in controllers_of(stack)}])
        assert not from_metrics or f"; {len(from_metrics)} [from metrics]" in ROWS[stack][3]
    assert told == wanted


STACKS = {each.name: each for each in BUILT_IN.stacks}


def test_controllers_are_those_that_are_looked_for():
    assert {
        stack: {each.reason for each in STACKS[stack].controllers if each.with_stack}
        for stack in Stack
    } == {stack: {each.reason for each in controllers_of(stack)} for stack in Stack}
    assert [
        (stack, each.deployment)
        for stack in Stack
        for each in controllers_of(stack)
        if each.deployment not in code(ROWS[stack][4])
    ] == []


def test_the_modes_are_the_defaults():
    assert {str(SETTINGS.stack(stack)) for stack in Stack} == {"auto"}
    assert "All are `auto` by default" in page("stacks.md")


def test_pods_that_are_scraped():
    rows = table(section(page("stacks.md"), "## Metrics"), "pods of")
    told = {row[0]: (set(code(row[1])), code(row[2])) for row in rows}
    for each in SCRAPED:
        resource, *_ = subjects_of(each.stack)
        marks = {each.label, *(f"{key}={value}" for key, value in each.labels.items())}
        marks |= {each.container, *each.images} - {""}
        assert told[f"{resource.kind}s"] == (marks, [each.port] if each.port else [])
    assert len(rows) == len(SCRAPED) + 1


PAGES = pytest.mark.parametrize(
    ("kind", "reasons"),
    [("inferenceservice", kserve.REASONS), ("llminferenceservice", llmisvc.REASONS)],
)


@PAGES
def test_reasons_stand_in_the_order_in_which_one_outranks_the_next(kind, reasons):
    rows = table(section(page(f"{kind}.md"), "## Reasons"), "reason")
    told = [code(row[0])[0] for row in rows]
    assert told == [each.name for each in reasons if each.window_seconds is None]


@PAGES
def test_the_scenario_exists(kind, reasons):
    assert f"demo --scenario {kind}" in page(f"{kind}.md")
    assert kind in STORIES


PAGE = page("modelserving.md")
STATES = section(PAGE, "## States")
STATUSES = re.compile(r"Creating|Running|Scaling|Deleting|NotFound|not listed")


def decided(text: str) -> dict[str, set[str]]:
    """Return the statuses that a table has for each row."""
    return {row[0]: set(STATUSES.findall(row[-1])) for row in table(text, "#")}


def statuses_in(rows) -> dict[str, set[str]]:
    """Return the statuses that a table of the tests has for each row."""
    found: dict[str, set[str]] = {}
    for name, status, *_ in rows:
        found.setdefault(name, set()).add(status)
    return found


def test_the_rows_of_instances_are_those_that_are_tested():
    """I1, I2 and I4 make no entry, and have tests of their own."""
    told = decided(STATES)
    others = {"I1": {"not listed"}, "I2": {"not listed", "Deleting"}, "I4": {"not listed"}}
    assert told == statuses_in(INSTANCE_ROWS) | others


def test_the_rows_of_groups_are_those_that_are_tested():
    _, _, rest = STATES.partition("A **ServingGroup**")
    assert decided(rest) == statuses_in(GROUP_ROWS) | {"S1": set()}


def test_bounds_are_those_of_the_code():
    assert f"At most {MAX_ENTRIES:,} entries" in PAGE
    assert f"ordinals of groups, {MAX_ORDINALS} at most" in PAGE
