"""The page on LLMInferenceServices has the reasons and the scenario that the code has."""

from lab.demo.main import STORIES
from reporter.stacks.llmisvc import reasons as c
from tests.unit.docs.pages import code, page, section, table

PAGE = page("llminferenceservice.md")
NAMES = [code(row[0])[0] for row in table(section(PAGE, "## Reasons"), "reason")]


def test_reasons_stand_in_the_order_in_which_one_outranks_the_next():
    wanted = [each.name for each in c.REASONS if each.window_seconds is None]
    assert wanted == NAMES


def test_those_beside_the_others_are_counted_rightly():
    """The sentence before the table."""
    beside = [each for each in c.REASONS if not each.chain and each.window_seconds is None]
    assert len([each for each in beside if not each.says_ready]) == 5


def test_the_scenario_exists():
    assert "demo --scenario llminferenceservice" in PAGE
    assert "llminferenceservice" in STORIES
