"""Which stacks are looked at, and what is written of them."""

import pytest
from pydantic import ValidationError

from reporter.cli.configure import load_settings
from reporter.errors import UsageError
from reporter.setting_types import StackMode
from reporter.stacks.settings import FullDaemonSettings, FullEvaluationSettings
from tests.tables import FROM_METRICS, REASONS, Stack


def modes(settings: FullEvaluationSettings) -> dict[str, str]:
    return {str(stack): str(settings.stack(stack)) for stack in Stack}


DEFAULT = {"kaito": "on", "kthena": "auto", "otterscale": "auto", "kserve": "auto"}


def test_only_kaito_is_expected_by_default():
    """A cluster without the others is not told of what it lacks of them."""
    assert modes(FullEvaluationSettings()) == DEFAULT


@pytest.mark.parametrize("mode", StackMode)
@pytest.mark.parametrize("stack", Stack)
def test_naming_one_stack_leaves_the_others(stack, mode):
    assert modes(load_settings({"stacks": f"{stack}={mode}"})) == DEFAULT | {str(stack): str(mode)}


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
        ({"role_events": "true"}, "as --role-events needs it"),
    ],
)
def test_nothing_is_written_of_a_stack_that_is_off(writes, says):
    """It would do nothing, and say nothing."""
    with pytest.raises(UsageError) as refused:
        load_settings({"stacks": "kthena=off", **writes})
    assert str(refused.value).startswith("--stacks: ")
    assert says in str(refused.value)
    assert load_settings({"stacks": "kthena=auto", **writes})


def test_nothing_is_written_of_modelservings_by_default():
    settings = FullDaemonSettings()
    assert (settings.modelserving_status, settings.role_events) == ("off", False)


OF_OTHER_STACKS = [
    each.name
    for each in REASONS
    if each.window_seconds is not None and each.name not in FROM_METRICS
]


@pytest.mark.parametrize("reason", OF_OTHER_STACKS)
def test_windows_are_set_under_one_name(reason):
    """Under another the setting would do nothing."""
    with pytest.raises(ValidationError, match="the name that it has for InferenceSets"):
        FullEvaluationSettings(grace=f"{reason}=5")


@pytest.mark.parametrize(
    "reason", [each.name for each in REASONS if each.name not in OF_OTHER_STACKS]
)
def test_every_other_reason_may_have_a_grace_of_its_own(reason):
    assert FullEvaluationSettings(grace=f"{reason}=5").grace == {reason: 5}


@pytest.mark.parametrize("reason", [each.name for each in REASONS])
def test_every_reason_may_be_kept_out_of_the_events(reason):
    assert FullEvaluationSettings(disable_reasons=reason).disable_reasons == (reason,)
