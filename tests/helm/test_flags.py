"""What the daemon makes of the command line that the chart writes."""

from pathlib import Path

import pytest
import yaml

from reporter.arguments import Parser
from reporter.cli.configure import FullProgramSettings, add_setting_flags, settings_from
from reporter.setting_types import PartPlace
from reporter.stacks.settings import FullDaemonSettings
from tests.helm.charts import NAMESPACE, RELEASE, REPORTER, load, render
from tests.tables import Stack

FLAGS = load("flags.yaml")
NOT_VALUES = {
    "release_namespace", "health_probe_bind_address", "custom_components", "log_signatures",
    "dialects",
}  # fmt: skip
"""The release says the first, the probes rest on the second, and the others are in files."""
NEEDED = {
    "leader_elect", "leader_election_id", "metrics_bind_address", "report_bind_address",
    "node_provisioner_name", "scrape_via", "stacks", "modelserving_status",
}  # fmt: skip
"""What other objects or the notes rest on must be there."""
PROGRAM = FullProgramSettings()


def parsed(values=None) -> FullProgramSettings:
    """Return the settings, as the program itself reads them from the rendered command line."""
    parser = Parser("run", "test")
    add_setting_flags(parser, daemon=True)
    return settings_from(parser.parse(render(values).flags))


def plain(value: object) -> object:
    value = str(value) if isinstance(value, Path) else value
    if isinstance(value, dict):
        return {
            key: str(each) if isinstance(each, PartPlace) else each for key, each in value.items()
        }
    return list(value) if isinstance(value, tuple) else value


def test_the_defaults_are_those_of_the_program():
    """Whoever sets nothing gets the same from the chart and from the command."""
    chart = parsed()
    different = {
        field
        for field in FullProgramSettings.model_fields
        if getattr(chart, field) != getattr(PROGRAM, field)
    }
    assert different == {"release_namespace", "scrape_via", "stacks"}
    assert (PROGRAM.scrape_via, chart.scrape_via) == ("auto", "direct")  # the same in a cluster
    assert [chart.stack(each) for each in Stack] == [PROGRAM.stack(each) for each in Stack]


def test_the_release_namespace_is_that_of_the_release():
    """`clusterReady` refers to where the stack was installed, wherever the reporter itself is."""
    assert parsed().release_namespace == NAMESPACE
    assert parsed({"namespaceOverride": "elsewhere"}).release_namespace == NAMESPACE


def test_every_setting_of_the_daemon_has_a_value():
    """Nothing that an operator may want to set is left to patching the Deployment."""
    assert FLAGS.keys() | NOT_VALUES == FullDaemonSettings.model_fields.keys()


def test_a_value_becomes_its_setting():
    """Each value reaches the program, whatever its form."""
    found = {
        field: plain(getattr(parsed({row["value"]: row["set"], **row.get("with", {})}), field))
        for field, row in FLAGS.items()
    }
    assert found == {field: row["becomes"] for field, row in FLAGS.items()}


@pytest.mark.long
def test_a_value_of_null_leaves_the_flag_to_the_program():
    """As does a value that an older release knows nothing of, with `--reuse-values`."""
    fields = FLAGS.keys() - NEEDED
    found = {field: getattr(parsed({FLAGS[field]["value"]: None}), field) for field in fields}
    assert found == {field: getattr(PROGRAM, field) for field in fields}


def test_a_mode_of_null_is_the_programs_default():
    """Permissions and notes rest on the modes, so that all of them are always named."""
    modes = {each: PROGRAM.stack(each) for each in Stack}
    values = ["stacks", *(f"stacks.{each}" for each in Stack)]
    found = {value: named_modes(parsed({value: None})) for value in values}
    assert {value: named for value, named in found.items() if named != modes} == {}


def named_modes(chart):
    """The mode of each stack that the command line names."""
    return {each: chart.stack(each) for each in chart.stacks}


def test_the_names_of_the_chart_are_nobodys_choice():
    """Else every part would be missed wherever the chart is installed."""
    places = {name.replace("-", "_") for name in load_places()}
    assert places <= FullProgramSettings.model_fields.keys()
    assert not parsed().model_fields_set & places
    chosen = parsed({"controlPlane.kaitoNamespace": ["mine"]})
    assert chosen.model_fields_set & places == {"kaito_namespace"}


def load_places() -> dict[str, str]:
    return yaml.safe_load((REPORTER / "files" / "places.yaml").read_text())


@pytest.mark.parametrize("given", [None, False])
def test_no_status_is_written_unless_asked_for(given):
    assert parsed({"modelServing.status": given}).modelserving_status == "off"


@pytest.mark.parametrize(("given", "becomes"), [(True, "on"), (False, "off"), ("auto", "auto")])
def test_a_mode_is_what_it_says(given, becomes):
    """YAML reads `on` and `off` as true and false where they stand without quotes."""
    found = {stack: parsed({f"stacks.{stack}": given}).stack(stack) for stack in Stack}
    assert found == dict.fromkeys(Stack, becomes)


@pytest.mark.parametrize(
    ("value", "field", "given", "becomes"),
    [
        ("scrape.via", "scrape_via", False, "off"),
        ("scrape.via", "scrape_via", "off", "off"),
    ],
)
def test_on_and_off_are_what_they_say(value, field, given, *, becomes):
    """YAML reads them as true and false where they stand without quotes."""
    assert getattr(parsed({value: given}), field) == becomes


@pytest.mark.parametrize(
    "values",
    [
        {"controlPlane.weightDownload.metricPort": 8000},
        {"controlPlane.weightDownload.metricPort": 8000, "scrape.port": 8000},
        {"controlPlane.weightDownload.metricPort": 8000, "scrape.port": None},
    ],
)
def test_the_name_that_go_has_for_the_port_works(values):
    """Values of the Go chart are taken over as they are."""
    assert parsed(values).scrape_port == 8000


def test_more_flags_come_last():
    """The last one counts, so they win."""
    assert parsed({"extraArgs": ["--log-level=debug"]}).log_level == "debug"


def test_the_daemon_gets_every_flag_in_one_word():
    """`--flag value` would be two arguments, of which an empty value is lost."""
    assert all(flag.startswith("--") and "=" in flag for flag in render(release=RELEASE).flags)
