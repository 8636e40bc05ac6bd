"""The page on LLMInferenceServices has the reasons, graces and scenario that the code has."""

from lab.demo.main import STORIES
from reporter.stacks.llmisvc import reasons as c
from reporter.stacks.llmisvc.probes.whole import UNWRITTEN
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.docs.pages import code, page, section, table

PAGE = page("llminferenceservice.md")
REASONS = [(code(row[0])[0], row) for row in table(section(PAGE, "## Reasons"), "reason")]


def test_reasons_stand_in_the_order_in_which_one_outranks_the_next():
    wanted = [each.name for each in c.REASONS if each.window_seconds is None]
    assert [name for name, _ in REASONS] == wanted


def test_those_beside_the_others_are_counted_rightly():
    """The sentence before the table."""
    beside = [each for each in c.REASONS if not each.chain and each.window_seconds is None]
    assert len([each for each in beside if not each.says_ready]) == 5


def test_graces_are_those_of_the_code():
    told = {name: row[1] for name, row in REASONS}
    settings = FullEvaluationSettings()
    for reason in (each for each in c.REASONS if each.window_seconds is None):
        if reason.grace_seconds is not None:
            assert f"{reason.grace_seconds} s" in told[reason.name]
    assert f"{int(UNWRITTEN.total_seconds())} s without any condition" in told[c.NOT_READY]
    assert f"{settings.startup_grace_seconds} s" in told[c.OBJECT_MISSING]


def test_the_scenario_exists():
    assert "demo --scenario llminferenceservice" in PAGE
    assert "llminferenceservice" in STORIES
