"""The scenarios of LLMInferenceServices tell each reason, and what suppresses or outranks it."""

import yaml

from reporter.stacks.llmisvc.reasons import CLUSTER_REASONS, REASONS
from tests.scenarios.world import FOLDER


def told(disposition):
    """The reasons that a scenario expects so."""
    return {
        line.split()[0]
        for path in FOLDER.glob("llminferenceservice*.yaml")
        for case in yaml.safe_load(path.read_text())["cases"]
        for step in case["steps"]
        for line, found in (step.get("findings") or {}).items()
        if found == disposition
    }


def test_each_reason_fires_in_a_scenario():
    """Those from metrics are the same for all stacks; Ready is in `ready`."""
    own = {each.name for each in REASONS if each.window_seconds is None and not each.says_ready}
    assert own | {each.name for each in CLUSTER_REASONS} <= told("firing")


def test_each_reason_with_a_grace_of_its_own_waits_in_a_scenario():
    assert {each.name for each in REASONS if each.grace_seconds} <= told("pending")
