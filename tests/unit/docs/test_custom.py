"""The page on custom components: its examples are taken, and print what it says they print."""

import re
import shlex
from dataclasses import MISSING, fields

import pytest
import yaml

from reporter.catalogue.custom.checks import (
    LONGEST_GRACE_SECONDS,
    MOST_COMPONENTS,
    MOST_NAMESPACES,
    SUPPRESSED_BYTES,
    TEXT_BYTES,
)
from reporter.catalogue.custom.extend import ALLOWED
from reporter.cli.configure import load_settings
from reporter.cli.main import main
from reporter.setting_types import PARTS, key_of
from tests.unit.docs.pages import ROOT, code, page, section, table

PAGE = page("custom-components.md")
EXAMPLE = ROOT / "examples" / "custom-components" / "config.yaml"


def indented() -> list[str]:
    """The blocks of the page, without their indent."""
    blocks = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", PAGE, re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks]


TRANSCRIPTS = [each[2:].partition("\n") for each in indented() if each.startswith("$ ")]


@pytest.mark.parametrize(
    ("command", "output"), [(each[0], each[2]) for each in TRANSCRIPTS], ids=lambda text: text[:50]
)
def test_what_a_command_prints(monkeypatch, capsys, command, *, output):
    monkeypatch.chdir(ROOT)
    program, *argv = shlex.split(command)
    assert program == "status-reporter"
    main(argv)
    printed = capsys.readouterr()
    assert (printed.out + printed.err).strip() == output.strip()


def test_there_are_transcripts():
    assert [each[0].split()[1] for each in TRANSCRIPTS] == ["explain"]


def test_the_examples_are_those_of_the_file():
    shown = [yaml.safe_load(each) for each in indented() if each.lstrip().startswith("- reason:")]
    given = yaml.safe_load(EXAMPLE.read_text())["custom-components"]
    assert [entry for entries in shown for entry in entries] == given
    assert len(load_settings({}, str(EXAMPLE)).custom_components) == len(given)


COMMAND = next(
    line.strip() for line in PAGE.splitlines() if "--from examples/custom-components/dump" in line
)


def test_the_dump_shows_all_three(monkeypatch, capsys):
    """Each declared reason fires, and the symptom that one of them explains does not."""
    monkeypatch.chdir(ROOT)
    main(shlex.split(COMMAND)[1:])
    out = capsys.readouterr().out
    given = yaml.safe_load(EXAMPLE.read_text())["custom-components"]
    assert out.startswith("3 causes fire")
    assert all(each["reason"] in out for each in given)
    assert "suppressed by clusterGpuPluginNotReady" in out


def test_without_the_file_the_dump_has_one_fault(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    without = COMMAND.replace("--config examples/custom-components/config.yaml", "")
    main(shlex.split(without)[1:])
    out = capsys.readouterr().out
    assert out.startswith("1 cause fires")
    assert "Unschedulable" in out


def blocks(first: str) -> list[object]:
    """What the fenced blocks of YAML hold that begin so."""
    found = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    return [yaml.safe_load(each) for each in found if each.startswith(first)]


def test_values_of_the_chart_are_entries(tmp_path):
    (values,) = blocks("customComponents:")
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"custom-components": values["customComponents"]}))
    assert load_settings({}, str(path)).custom_components


def test_the_rules_are_those_that_the_examples_take():
    (rules,) = blocks("- apiGroups")
    catalogue = load_settings({}, str(EXAMPLE)).catalogue
    taken = {
        (each.resource.group, each.resource.plural) for each in catalogue.declared if each.resource
    }
    assert {
        (group, plural)
        for rule in rules
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    } == taken
    assert all(rule["verbs"] == ["list", "watch"] for rule in rules)


def _default(value):
    if value is MISSING:
        return "required"
    if value in ("", (), None):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_every_key_is_in_the_table():
    told = {code(row[0])[0]: row[1:3] for row in table(section(PAGE, "## Keys"), "key")}
    wanted = {
        f"{part}.{key_of(each.name)}".lstrip("."): _default(each.default)
        for part, type_ in PARTS.items()
        for each in fields(type_)
    }
    assert {key: default for key, (default, _) in told.items()} == wanted
    assert {key: takes for key, (_, takes) in told.items()} == {
        key: ALLOWED[key].replace("<", "&lt;") for key in wanted
    }


def test_bounds_are_those_of_the_code():
    assert f"at most {MOST_COMPONENTS} declarations, {MOST_NAMESPACES} namespaces each" in PAGE
    assert f"a grace from 0 to {LONGEST_GRACE_SECONDS:,} seconds" in PAGE
    assert f"{SUPPRESSED_BYTES} bytes of names" in PAGE
    words = f"`summary` and `why` {TEXT_BYTES['summary']} bytes, `action` {TEXT_BYTES['action']}"
    assert words in PAGE
    assert TEXT_BYTES["summary"] == TEXT_BYTES["why"]
