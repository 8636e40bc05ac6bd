"""The pages on InferenceServices and LLMInferenceServices have the reasons and the scenario that the code has."""

import pytest

from lab.demo.main import STORIES
from reporter.stacks.kserve import reasons as kserve
from reporter.stacks.llmisvc import reasons as llmisvc
from tests.unit.docs.pages import code, page, section, table

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
