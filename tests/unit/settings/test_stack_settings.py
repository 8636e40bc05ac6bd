"""Which stacks are looked at, and what is written of them."""

from itertools import product

import pytest
from pydantic import ValidationError

from reporter.cli.configure import load_settings
from reporter.errors import UsageError
from reporter.setting_types import StackMode
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import FROM_METRICS, REASONS, Stack


def modes(settings: FullEvaluationSettings) -> dict[str, str]:
    return {str(stack): str(settings.stack(stack)) for stack in Stack}


DEFAULT = dict.fromkeys(map(str, Stack), "auto")


def test_naming_one_stack_leaves_the_others():
    chosen = [(str(stack), str(mode)) for stack, mode in product(Stack, StackMode)]
    found = {
        (stack, mode): modes(load_settings({"stacks": f"{stack}={mode}"})) for stack, mode in chosen
    }
    assert found == {(stack, mode): DEFAULT | {stack: mode} for stack, mode in chosen}


@pytest.mark.parametrize(
    "content",
    [
        "stacks: {kthena: on, kserve: off}",
        'stacks: {kthena: "on", kserve: "off"}',
        "stacks: kthena=on,kserve=off",
        "stacks: [kthena=on, kserve=off]",
    ],
)
def test_forms_in_the_file(tmp_path, content):
    """YAML reads `on` and `off` as true and false where they stand without quotes."""
    path = tmp_path / "settings.yaml"
    path.write_text(content)
    found = load_settings({}, str(path))
    assert modes(found) == DEFAULT | {"kthena": "on", "kserve": "off"}


@pytest.mark.parametrize(
    ("writes", "says"),
    [
        ({"modelserving_status": "roles"}, "as --modelserving-status needs it"),
        ({"modelserving_status": "full"}, "as --modelserving-status needs it"),
    ],
)
def test_nothing_is_written_of_a_stack_that_is_off(writes, says):
    with pytest.raises(UsageError) as refused:
        load_settings({"stacks": "kthena=off", **writes})
    assert str(refused.value).startswith("--stacks: ")
    assert says in str(refused.value)
    assert load_settings({"stacks": "kthena=auto", **writes})


NAMES = [each.name for each in REASONS]
OF_OTHER_STACKS = [
    each.name
    for each in REASONS
    if each.window_seconds is not None and each.name not in FROM_METRICS
]


def refusal(reason):
    """What is said of a grace for the reason, nothing where it is taken."""
    try:
        assert FullEvaluationSettings(grace=f"{reason}=5").grace == {reason: 5}
    except ValidationError as refused:
        return str(refused)
    return ""


def test_windows_are_set_under_one_name():
    """Under the name that another stack has for the reason the setting would do nothing."""
    refused = {each: said for each in NAMES if (said := refusal(each))}
    assert [*refused] == OF_OTHER_STACKS
    assert {
        each for each, said in refused.items() if "its name for InferenceSets" not in said
    } == set()


def test_every_reason_may_be_kept_out_of_the_events():
    assert [
        each
        for each in NAMES
        if FullEvaluationSettings(disable_reasons=each).disable_reasons != (each,)
    ] == []
    assert FullEvaluationSettings(disable_reasons=",".join(NAMES)).disable_reasons == tuple(NAMES)
