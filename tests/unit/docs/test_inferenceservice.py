"""The page on InferenceServices has the reasons and the scenario that the code has."""

from lab.demo.main import STORIES
from reporter.model.reason import EventType
from reporter.stacks.kserve import reasons as c
from tests.unit.docs.pages import code, page, section, table

PAGE = page("inferenceservice.md")
NAMES = [code(row[0])[0] for row in table(section(PAGE, "## Reasons"), "reason")]


def test_reasons_stand_in_the_order_in_which_one_outranks_the_next():
    wanted = [each.name for each in c.REASONS if each.window_seconds is None]
    assert wanted == NAMES


def test_those_beside_the_others_are_counted_rightly():
    """The sentence before the table."""
    beside = [
        each
        for each in c.REASONS
        if not each.chain and not each.says_ready and each.window_seconds is None
    ]
    assert len(beside) == 6
    assert not any(each.blocks_ready for each in beside)
    normal = [each.name for each in beside if each.type is EventType.NORMAL]
    assert normal == [c.ROLLED_BACK, c.CANARY_IN_PROGRESS, c.STOPPED]


def test_the_scenario_exists():
    assert "demo --scenario inferenceservice" in PAGE
    assert "inferenceservice" in STORIES
