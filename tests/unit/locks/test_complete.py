"""A lock that lacks a line, or has one of a wrong version, is told with the name."""

import tomllib

import pytest

from locks import complete
from tests.unit.docs.pages import ROOT

NEEDS = {
    "plugin": ["tool[colour]>=2", 'backport; python_version < "3.12"'],
    "tool": ['colours>=1; extra == "colour"', 'winapi; sys_platform == "win32"'],
    "colours": [],
    "backport": ['arm-only; platform_machine == "aarch64"'],
}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("plugin==1 tool==2 colours==1 backport==1 arm-only==1", []),
        ("plugin==1 tool==2 backport==1 arm-only==1", ["no line for colours, which tool"]),
        ("plugin==1 tool==2 colours==1 arm-only==1", ["no line for backport, which plugin"]),
        ("plugin==1 tool==2 colours==1 backport==1", ["no line for arm-only, which backport"]),
        ("tool==2 colours==1", ["no line for plugin, which the project"]),
        ("plugin==1 tool==1 colours==1 backport==1 arm-only==1", ["tool 1 does not fit"]),
    ],
)
def test_a_lock_is_read_with_extras_and_markers(lines, said):
    """For each Python and processor that is supported, on whichever this runs."""
    text = "".join(f"{line} \\\n    --hash=sha256:00\n" for line in lines.split())
    found = complete.missing(text, ["plugin"], NEEDS.get)
    assert [line[: len(start)] for line, start in zip(found, said, strict=True)] == said


def test_a_line_for_some_pythons_is_none_for_the_others():
    text = "plugin==1\ntool==2 ; python_version < '3.13'\ncolours==1\nbackport==1\narm-only==1\n"
    said = "no line for tool, which plugin needs (Python 3.13, 3.14)"
    assert complete.missing(text, ["plugin"], NEEDS.get) == [said]


def test_every_lock_of_the_repository_is_checked(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert complete.check() == 0
    told = capsys.readouterr().out
    assert all(path.name in told for path in [*ROOT.glob("*.lock"), *ROOT.glob("image/*.lock")])


def test_a_lock_with_a_line_taken_out_fails():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lock = next(complete.locks(project))
    text = (ROOT / lock.files[0]).read_text()
    for name in ("aiohttp", "multidict", "typing-extensions"):
        without = text.replace(f"\n{name}==", f"\n# {name}==")
        assert f"no line for {name}" in "".join(
            complete.missing(without, lock.roots, complete.installed)
        )
