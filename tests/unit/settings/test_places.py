"""Where shared parts are, and what is said to who gives a setting that is gone."""

import pytest

from reporter.arguments import Parser
from reporter.cli.configure import add_setting_flags, load_settings, misspelt_variables
from reporter.cli.main import main
from reporter.errors import UsageError
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.components import components

GONE = {
    "kserve_namespace": "use --components kserve=[NAMESPACE/]DEPLOYMENT",
    "lws_deployment": "use --components lws=[NAMESPACE/]DEPLOYMENT",
    "runtime_reasons": "use --disable-reasons runtime, or the names of some",
    "otterscale_operator_flags": "the operator's own arguments are read",
}


def places(part, **settings):
    """The Deployments of a part, where they may be, and whether they are expected."""
    found = components(FullEvaluationSettings(**settings))
    return [(each.deployment, each.namespaces, each.mode) for each in found if each.part == part]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("kthena=auto", [("kthena-controller-manager", ("kthena-system",), "auto")]),
        ("kthena=mine", [("mine", ("kthena-system",), "on")]),
        ("kthena=a/mine", [("mine", ("a",), "on")]),
        ({"kthena": "a/mine"}, [("mine", ("a",), "on")]),
        ("kthena=off", []),
    ],
)
def test_a_place(given, found):
    """Whoever names a part expects it."""
    assert places("kthena", components=given) == found


@pytest.mark.parametrize(
    "value", ["kthena=a/b/c", "kthena=A", "kthena=/b", "kthena=a/", "kaito=a/b"]
)
def test_what_is_no_place(value):
    """Parts with flags of their own are placed by these."""
    with pytest.raises(UsageError, match="--components"):
        load_settings({"components": value})


@pytest.mark.parametrize("field", GONE)
def test_a_setting_that_is_gone(monkeypatch, tmp_path, capsys, field):
    """Each source says what to use instead."""
    name = field.replace("_", "-")
    assert main(["check", f"--{name}=1"]) == 2
    assert f"--{name} is gone: {GONE[field]}" in capsys.readouterr().err
    file = tmp_path / "settings.yaml"
    file.write_text(f"{name}: 1\n")
    with pytest.raises(UsageError, match=f"'{name}' is gone: "):
        load_settings({}, str(file))
    monkeypatch.setenv(f"STATUS_REPORTER_{field.upper()}", "1")
    with pytest.raises(UsageError, match=f"STATUS_REPORTER_{field.upper()} is gone: "):
        load_settings({})
    assert misspelt_variables() == []


@pytest.mark.parametrize("field", ["scrape_max_bytes", "retry_period_seconds", "log_format"])
def test_a_setting_that_is_constant_now(monkeypatch, tmp_path, capsys, field):
    """A command line of the release before still starts."""
    name = field.replace("_", "-")
    file = tmp_path / "settings.yaml"
    file.write_text(f"{name}: 1\n")
    monkeypatch.setenv(f"STATUS_REPORTER_{field.upper()}", "1")
    assert load_settings({}, str(file)) == load_settings({})
    assert misspelt_variables() == []
    assert main(["check", f"--{name}", "1", "--from", str(tmp_path / "none")]) == 2
    said = capsys.readouterr().err
    for given in (f"--{name}", f"--config {file}: {name}", f"STATUS_REPORTER_{field.upper()}"):
        assert f"warning: {given} is gone, and ignored: " in said


@pytest.mark.parametrize(
    ("flags", "grace"),
    [
        (["--model-startup-budget-seconds", "45"], {"model-startup": 45}),
        (["--runtime-window=workloadEngineIdle=9", "--grace", "node-boot=7"],
         {"workloadEngineIdle": 9, "node-boot": 7}),
    ],
)  # fmt: skip
def test_a_flag_that_is_another_one_now(capsys, flags, grace):
    parser = Parser("run", "test")
    add_setting_flags(parser, daemon=True)
    arguments = parser.parse(flags)
    assert arguments.grace == [f"{name}={seconds}" for name, seconds in grace.items()]
    assert f"{flags[0].partition('=')[0]} is going: use --grace " in capsys.readouterr().err
