"""A wrong value is a wrong value wherever it stands: one line that names it, and exit status 2."""

import subprocess
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reporter.cli.configure import FILE_ONLY, FullProgramSettings, load_settings, variable_of
from reporter.errors import UsageError
from tests.unit.docs.pages import ROOT

TAKE_ANY_TEXT = {
    "context", "kubeconfig", "release_namespace",
    "alertmanager_credentials",
}  # fmt: skip
"""Names of what is looked for elsewhere: a wrong one is not found there."""

FIELDS = sorted(FullProgramSettings.model_fields)
WRONG = "-x y=, =\t{"


def refused(run, monkeypatch, config, *, place, field, command="check"):
    """Return what is wrong with how a wrong value is refused; empty if nothing is."""
    with monkeypatch.context() as patch:
        if place == "file":
            config.write_text(yaml.safe_dump({field.replace("_", "-"): WRONG}))
            patch.setenv("STATUS_REPORTER_CONFIG", str(config))
        else:
            patch.setenv(variable_of(field), WRONG)
        status, out, err = run(command)
    name = variable_of(field) if place == "environment" else field.replace("_", "-")
    right = (status, out, err.count("\n")) == (2, "", 1) and name in err
    return "" if right else f"{command}, {field} in {place}: {status} {out} {err}"


@pytest.mark.parametrize("place", ["environment", "file"])
def test_every_setting_from_everywhere(run, monkeypatch, tmp_path, place):
    """For each setting of each kind, as for its flag: nothing is read, and nothing judged."""
    config = tmp_path / "config.yaml"
    found = (
        refused(run, monkeypatch, config, place=place, field=field)
        for field in FIELDS
        if field not in TAKE_ANY_TEXT
    )
    assert [*filter(None, found)] == []


@pytest.mark.parametrize("command", ["run", "mcp", "dump", "explain"])
@pytest.mark.parametrize("field", ["startup_grace_seconds", "emit", "components"])
def test_for_every_command(run, monkeypatch, tmp_path, command, field):
    """Whoever asks for settings says the same."""
    config = tmp_path / "config.yaml"
    assert refused(run, monkeypatch, config, place="file", field=field, command=command) == ""


def test_from_the_first_import_on():
    """A new process, whose modules are imported with the wrong value there."""
    done = subprocess.run(
        [sys.executable, "-m", "reporter", "check", "--from", "examples/broken-stack"],
        cwd=ROOT,
        env={"STATUS_REPORTER_STARTUP_GRACE_SECONDS": "x", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "status-reporter: check: STATUS_REPORTER_STARTUP_GRACE_SECONDS: 'x' is not allowed; "
        "allowed: a whole number from 0 to 86400\n"
    )


def said(layer, *, config=None):
    """Return what the settings are refused with; empty if they are taken."""
    with pytest.MonkeyPatch.context() as patch:
        for name, text in layer.items():
            patch.setenv(name, text)
        try:
            load_settings({}, config)
        except UsageError as error:
            return str(error)
    return ""


@given(
    field=st.sampled_from(FIELDS),
    text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)
def test_any_text_in_the_environment(field, text):
    """It is a value, or refused with the name of a setting; nothing else ever comes of it."""
    refusal = said({variable_of(field): text})
    assert not refusal or refusal.startswith((variable_of(field), "--"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(field=st.sampled_from(FIELDS), value=VALUES)
def test_any_value_in_the_file(tmp_path_factory, field, value):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump({field: value}), encoding="utf-8")
    refusal = said({}, config=str(path))
    assert not refusal or "any.yaml" in refusal or refusal.startswith("--")


def test_what_takes_any_text_is_told_here_alone():
    """A setting that is added has a wrong value, or is on the list."""
    assert set(FIELDS) >= TAKE_ANY_TEXT | FILE_ONLY


def test_an_error_that_nobody_caught_is_no_verdict(run, monkeypatch):
    """Not 1, which says that a cause fires: 2, and a line to report."""

    def broken(*_):
        raise KeyError("token=hunter2hunter2")

    monkeypatch.setattr("reporter.cli.check.viewed", broken)
    status, out, err = run("check", "--from", ROOT / "examples" / "broken-stack")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("status-reporter: an error in this program, ")
    assert "KeyError" in err
    assert "reporter/cli/main.py:" in err
    assert "Please report this line as CONTRIBUTING.md of the project says" in err
    assert "hunter2" not in err


@pytest.mark.parametrize("flag", ["--kubeconfig", "--context"])
@pytest.mark.parametrize("command", ["check", "mcp"])
def test_of_a_dump_and_a_cluster_one_is_not_used(run, command, flag):
    """Whose verdict it is must not be a guess."""
    status, out, err = run(command, "--from", ROOT / "examples" / "broken-stack", flag, "other")
    assert (status, out) == (2, "")
    assert f"{flag} is not used" in err


def test_assistants_are_not_served_from_a_dump_that_is_not_there(run):
    """It is said at the start, not with the first answer."""
    status, out, err = run("mcp", "--from", "nope")
    assert (status, out) == (2, "")
    assert err == "status-reporter: mcp: --from nope: no such file or folder\n"
