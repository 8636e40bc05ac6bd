"""The second distribution: what its wheel is made of. `make image-check` builds and runs it."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import reporter
from image.install import PROGRAM
from lab.demo import modelserving, sample_stack
from reporter.cli.main import LABORATORY

LAB = Path("lab")
DISTRIBUTIONS = {"yaml": "pyyaml", "prometheus_client": "prometheus-client"}
"""Of modules that are called otherwise."""


@pytest.fixture(scope="module")
def project():
    """lab/pyproject.toml."""
    return tomllib.loads((LAB / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(project):
    """Where each file or folder of the checkout is in the wheel."""
    target = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert target["sources"] == {"": "lab"}
    files = {name: name for name in target["only-include"]} | target["force-include"]
    return {name: f"lab/{place}" for name, place in files.items()}


def test_wheel_has_every_package(wheel):
    """The wheel is made of a list, which a new package must be on."""
    modules = {path.relative_to(LAB).parts[0] for path in LAB.rglob("*.py")}
    assert modules == {name for name in wheel if not name.startswith("..")}
    assert all(wheel[name] == f"lab/{name}" for name in modules)


def test_everything_in_the_wheel_is_in_the_checkout(wheel):
    """What was moved or renamed is missed here and not by whoever installs it."""
    assert [name for name in wheel if not (LAB / name).exists()] == []


def test_demo_finds_its_files_in_the_wheel(wheel):
    """The stack and the definitions, which a checkout has elsewhere, are where the demo looks first."""
    places = {str(LAB.resolve().parent / place) for place in wheel.values()}
    assert places >= {str(sample_stack._PACKAGED), str(modelserving._PACKAGED)}


def test_license_comes_with_it(wheel):
    """The licence asks for that."""
    assert wheel["../LICENSE"] == "lab/LICENSE"


def test_it_needs_the_program_of_the_same_version(project):
    """It imports the program's own modules, which may differ in the next release."""
    needed = f"{PROGRAM}=={reporter.__version__}"
    assert needed in project["project"]["dependencies"]


def test_its_commands_are_those_that_the_program_tells_of(project):
    """`status-reporter --help` lists them wherever it is installed or not."""
    added = project["project"]["entry-points"]["status_reporter.commands"]
    assert set(added) == set(LABORATORY)


def test_what_it_imports_it_asks_for(project):
    """It does not rely on what the program happens to need."""
    modules = {name for path in LAB.rglob("*.py") for name in imported(path)}
    others = modules - set(sys.stdlib_module_names) - {"lab", "reporter"}
    asked = {re.match(r"[\w-]+", each)[0] for each in project["project"]["dependencies"]}
    assert {DISTRIBUTIONS.get(each, each) for each in others} == asked - {PROGRAM}


def imported(path):
    """Yield the top-level names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
