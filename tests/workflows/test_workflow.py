"""The workflow runs what CI runs, on the Pythons that are claimed, with nothing that can be moved under it."""

import re
import subprocess
import sys

import pytest
import yaml

from tests.unit.docs.pages import ROOT
from tests.workflows.__main__ import WORKFLOWS
from tests.workflows.tool import NoActionlintError, actionlint

MAKE = re.compile(r"^(?:sudo )?make ([a-z-]+)", re.MULTILINE)
TEXT = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
PUBLISHING = (ROOT / ".github" / "workflows" / "release.yml").read_text()
SITE = (ROOT / ".github" / "workflows" / "site.yml").read_text()
WORKFLOW = yaml.safe_load(TEXT)
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
MAKEFILE = "\n".join(
    (ROOT / name).read_text()
    for name in ("Makefile", "image/targets.mk", "tests/browser/targets.mk", "release/targets.mk")
)


def check_targets():
    (told,) = re.findall(r"^check: (.+?) ##", MAKEFILE, re.MULTILINE)
    return told.split()


def test_it_runs_the_steps_of_ci_run():
    """Who passes here passes there; `make setup` comes with each of them."""
    ci = set(MAKE.findall((ROOT / ".ci" / "run").read_text()))
    assert {name for step in STEPS for name in MAKE.findall(step.get("run", ""))} - {"setup"} == ci


def test_actions_are_pinned_by_commit_and_say_which_release_that_is():
    """A tag can be moved by whoever owns the action."""
    uses = re.findall(r"uses: (.+)", TEXT + PUBLISHING + SITE)
    assert uses
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in uses)


def test_no_right_is_given_unasked_and_every_job_ends():
    """The token may read the sources, and no job runs for hours."""
    assert WORKFLOW["permissions"] == {}
    for job in WORKFLOW["jobs"].values():
        assert job["permissions"] == {"contents": "read"}
        assert job["timeout-minutes"] <= 90
    assert "cancel-in-progress" in WORKFLOW["concurrency"]


def test_the_least_python_is_the_first_of_the_matrix():
    """Each Python that is named is a text: 3.10 as a number would be 3.1."""
    pythons = WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert pythons == ["3.11", "3.12", "3.13", "3.14"]
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text()


def test_only_what_was_built_twice_and_tried_is_published():
    """Each job that publishes takes the files of the one that built, and no other job builds."""
    jobs = yaml.safe_load(PUBLISHING)["jobs"]
    built = [step.get("run", "") for step in jobs.pop("build")["steps"]]
    targets = [name for run in built for name in MAKE.findall(run)]
    assert targets == ["setup", "release-check", "release-try"]
    for job in jobs.values():
        assert job["needs"]
        assert job["steps"][0]["uses"].startswith("actions/download-artifact@")
        assert not any(MAKE.findall(step.get("run", "")) for step in job["steps"])


def test_publishing_has_no_secret_and_each_job_its_own_rights():
    """PyPI trusts the workflow and not a token; no job may write everything."""
    workflow = yaml.safe_load(PUBLISHING)
    assert "secrets." not in PUBLISHING
    assert workflow["permissions"] == {}
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    for job in workflow["jobs"].values():
        assert len(job["permissions"]) <= 3
        assert job["timeout-minutes"] <= 60


def test_hooks_are_the_steps_of_make_check():
    """Who commits with the hooks passes `make check`; none of them downloads anything."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    assert {hook["language"] for hook in hooks} == {"system"}
    assert [hook["entry"] for hook in hooks] == [f"make {name}" for name in check_targets()]


def test_targets_without_files_are_phony():
    """A file of a target's name would else switch it off."""
    targets = set(re.findall(r"^([a-z0-9-]+):(?!=)", MAKEFILE, re.MULTILINE))
    phony = {
        name
        for line in re.findall(r"^\.PHONY: (.+)", MAKEFILE, re.MULTILINE)
        for name in line.split()
    }
    assert targets == phony


def test_there_is_something_to_lint():
    """`make workflow-lint` of nothing would pass."""
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml", "site.yml"]


def test_an_actionlint_that_is_named_and_not_there(monkeypatch):
    """It is said, not passed over."""
    monkeypatch.setenv("ACTIONLINT", "/nowhere/actionlint")
    with pytest.raises(NoActionlintError, match="name one, or unset it"):
        actionlint()
    done = subprocess.run(
        [sys.executable, "-m", "tests.workflows"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("workflow-lint: ACTIONLINT=/nowhere/actionlint")
