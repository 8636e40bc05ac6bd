"""The page on InferenceServices has the reasons, graces and scenario that the code has."""

from lab.demo.main import STORIES
from reporter.model.reason import EventType
from reporter.stacks.kserve import reasons as c
from reporter.stacks.kserve.probes.conditions import UNWRITTEN
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.docs.pages import code, page, section, table

PAGE = page("inferenceservice.md")
REASONS = [(code(row[0])[0], row) for row in table(section(PAGE, "## Reasons"), "reason")]


def test_reasons_stand_in_the_order_in_which_one_outranks_the_next():
    wanted = [each.name for each in c.REASONS if each.window_seconds is None]
    assert [name for name, _ in REASONS] == wanted


def test_those_beside_the_others_are_counted_rightly():
    """The sentence before the table."""
    beside = [
        each
        for each in c.REASONS
        if not each.chain and not each.says_ready and each.window_seconds is None
    ]
    assert len(beside) == 5
    assert not any(each.blocks_ready for each in beside)
    normal = [each.name for each in beside if each.type is EventType.NORMAL]
    assert normal == [c.ROLLED_BACK, c.CANARY_IN_PROGRESS, c.STOPPED]


def test_graces_are_those_of_the_code():
    told = {name: row[1] for name, row in REASONS}
    settings = FullEvaluationSettings()
    assert f"{settings.startup_grace_seconds} s is `--startup-grace-seconds`" in PAGE
    assert f"{settings.model_startup_budget_seconds // 60} min; a start-up probe" in PAGE
    for reason in (each for each in c.REASONS if each.window_seconds is None):
        if reason.grace_seconds is not None:
            assert f"{reason.grace_seconds} s" in told[reason.name]
    assert f"{int(UNWRITTEN.total_seconds())} s without any condition" in told[c.NOT_READY]
    for name in (c.ROLLOUT_STUCK, c.TRAFFIC):
        assert f"{c.ROLLOUT_SECONDS} s" in told[name]


def test_the_scenario_exists():
    assert "demo --scenario inferenceservice" in PAGE
    assert "inferenceservice" in STORIES
