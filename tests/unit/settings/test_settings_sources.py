import shlex
from datetime import timedelta

import pytest

from reporter.arguments import Parser
from reporter.cli.configure import (
    FILE_ONLY,
    GROUPS,
    FullProgramSettings,
    add_setting_flags,
    load_settings,
    settings_from,
)
from reporter.errors import UsageError
from reporter.setting_types import TimeBudget, bind_address
from reporter.stacks.settings import FullDaemonSettings


def settings(*argv):
    parser = Parser("run", "test")
    add_setting_flags(parser, daemon=True)
    return settings_from(parser.parse(argv))


def test_every_setting_has_a_flag_in_exactly_one_group():
    grouped = [field for _, fields in GROUPS for field in fields]
    assert sorted([*grouped, *FILE_ONLY]) == sorted(FullProgramSettings.model_fields)


def test_flag_wins_over_environment_wins_over_file(monkeypatch, tmp_path):
    """Each layer is used where those above it say nothing."""
    path = tmp_path / "settings.yaml"
    path.write_text("resync-seconds: 1\nstartup_grace_seconds: 1\ngrace: {node-boot: 1}\n")
    monkeypatch.setenv("STATUS_REPORTER_RESYNC_SECONDS", "2")
    monkeypatch.setenv("STATUS_REPORTER_STARTUP_GRACE_SECONDS", "2")
    found = settings("--resync-seconds", "3", "--config", str(path))
    assert found.resync_seconds == 3
    assert found.startup_grace_seconds == 2
    assert found.budget(TimeBudget.NODE_BOOT) == timedelta(seconds=1)
    assert found.budget(TimeBudget.MODEL_STARTUP) == timedelta(seconds=1800)


def test_the_file_may_be_named_by_the_environment(monkeypatch, tmp_path):
    """`STATUS_REPORTER_CONFIG` is what `--config` is; the flag wins."""
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text("resync-seconds: 1")
    second.write_text("resync-seconds: 2")
    monkeypatch.setenv("STATUS_REPORTER_CONFIG", str(first))
    assert settings().resync_seconds == 1
    assert settings("--config", str(second)).resync_seconds == 2


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("--resync-seconds=30", "resync_seconds", 30),
        ("--leader-elect", "leader_elect", True),
        ("--leader-elect=false", "leader_elect", False),
        ("--leader-elect=true", "leader_elect", True),
        ("--no-leader-elect", "leader_elect", False),
        ("--emit primary", "emit", "primary"),
        ("--kaito-namespace a,b", "kaito_namespace", ("a", "b")),
        ("--kaito-namespace a --kaito-namespace b", "kaito_namespace", ("a", "b")),
        ("--keda-namespace ''", "keda_namespace", ()),
        ("--bbr-deployment=", "bbr_deployment", ""),
        ("--grace clusterBBRNotReady=5", "grace", {"clusterBBRNotReady": 5}),
        (
            "--grace=clusterBBRNotReady=5 --grace 'clusterKedaNotReady=0, clusterBBRNotReady=6'",
            "grace", {"clusterBBRNotReady": 6, "clusterKedaNotReady": 0},
        ),
        ("--disable-reasons clusterReady", "disable_reasons", ("clusterReady",)),
        ("--report-bind-address [::1]:0", "report_bind_address", "[::1]:0"),
        ("--metrics-bind-address 0", "metrics_bind_address", "0"),
        ("--lease-duration-seconds 2.5", "lease_duration_seconds", 2.5),
        ("--context test", "context", "test"),
        (
            "--node-provisioner-name=karpenter --node-provisioner-namespace=karpenter",
            "node_provisioner_namespace", ("karpenter",),
        ),
    ],
)  # fmt: skip
def test_forms_of_flags(line, field, value):
    """Values after a space or an equals sign; lists with commas or repeated."""
    assert getattr(settings(*shlex.split(line)), field) == value


@pytest.mark.parametrize(
    ("content", "field", "value"),
    [
        ("kaito-namespace: [a, b]", "kaito_namespace", ("a", "b")),
        ("kaito_namespace: a,b", "kaito_namespace", ("a", "b")),
        ("grace: {clusterBBRNotReady: 5}", "grace", {"clusterBBRNotReady": 5}),
        ("grace: [clusterBBRNotReady=5]", "grace", {"clusterBBRNotReady": 5}),
        ("leader-elect: off", "leader_elect", False),
        ("scrape-via: off", "scrape_via", "off"),
        ("modelserving-status: off", "modelserving_status", "off"),
        ('resync-seconds: "30"', "resync_seconds", 30),
        ("", "resync_seconds", 60),
    ],
)
def test_forms_in_the_file(tmp_path, content, field, *, value):
    """Lists and mappings may be written as YAML or as on the command line."""
    path = tmp_path / "settings.yaml"
    path.write_text(content)
    assert getattr(load_settings({}, str(path)), field) == value


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("resync_seconds", "0", "a whole number from 1 to 3600"),
        ("resync_seconds", "soon", "a whole number from 1 to 3600"),
        ("resync_seconds", "", "a whole number from 1 to 3600"),
        ("resync_seconds", "1.5", "a whole number from 1 to 3600"),
        ("startup_grace_seconds", "-1", "a whole number from 0 to 86400"),
        ("startup_grace_seconds", "9" * 5000, "a whole number from 0 to 86400"),
        ("emit", "everything", "causes or primary or firing"),
        ("leader_elect", "perhaps", "true or false"),
        ("lease_duration_seconds", "0", "a number above 0 to 600"),
        ("lease_duration_seconds", "nan", "a number above 0 to 600"),
        ("log_level", "loud", "debug, info, warning or error"),
        ("metrics_bind_address", "8080", "HOST:PORT, :PORT or 0"),
        ("metrics_bind_address", ":99999", "HOST:PORT, :PORT or 0"),
        ("istio_namespace", "Istio System", "names of namespaces, comma-separated"),
        ("kaito_deployment", "a/b", 'the name of a Deployment, or ""'),
        ("release_namespace", "", "the name of a namespace"),
        ("leader_election_id", "", "the name of a Lease"),
        ("grace", "clusterBBRNotReady", "NAME=SECONDS"),
        ("grace", "clusterBBRNotReady=soon", "NAME=SECONDS"),
        ("grace", "clusterBBRNotReady=-5", "NAME=SECONDS"),
        ("grace", "clusterBBR=5", "NAME=SECONDS"),
        ("grace", "node-bot=5", "NAME=SECONDS"),
        ("alert_fields", "cluster", "NAME=TEXT"),
        ("alert_fields", "clusters=west", "NAME=TEXT"),
        ("alert_fields", "docs=docs/", "NAME=TEXT"),
        ("disable_reasons", "clusterBBR", "reasons of the catalogue"),
        ("stacks", "kthena", "STACK=MODE, comma-separated"),
        ("stacks", "kthena=maybe", "STACK=MODE, comma-separated"),
        ("stacks", "ray=auto", "STACK=MODE, comma-separated"),
        ("modelserving_status", "all", "off or roles or full"),
        ("node_provisioner_name", "karpenter", "the namespaces of the Deployment"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    monkeypatch, tmp_path, field, *, value, allowed
):
    path, kebab = tmp_path / "settings.yaml", field.replace("_", "-")
    path.write_text(f'{kebab}: "{value}"')
    lines = {f"--{kebab}": refusal({field: value}), kebab: refusal({}, str(path))}
    variable = f"STATUS_REPORTER_{field.upper()}"
    monkeypatch.setenv(variable, value)
    lines[variable] = refusal({})
    for name, line in lines.items():
        assert "\n" not in line
        assert f"allowed: {allowed}" in line
        assert len(line) < 500
        if field != "node_provisioner_name":
            assert line.startswith(name)
            assert repr(value)[:50] in line or value in line


def refusal(flags, config=None):
    """What is said of settings that cannot be used."""
    with pytest.raises(UsageError) as refused:
        load_settings(flags, config)
    return str(refused.value)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"node_provisioner_name": "gpu"}, "--node-provisioner-namespace: not given; allowed: the"),
        ({"grace": "inferencesetEngineStalled=20000"}, "--scrape-interval-seconds: not given; allo"),
    ],
)  # fmt: skip
def test_a_setting_that_is_missing_is_not_called_a_wrong_value(flags, says):
    """It was never written, so there is no `None` or `()` to look for."""
    with pytest.raises(UsageError) as refused:
        load_settings(flags)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("resync-secs: 5", "did you mean resync-seconds?"),
        ("frobnicate: 5", "'frobnicate' is not a setting"),
        ("5: 5", "'5' is not a setting"),
        ("[1, 2]", "not a mapping"),
        ("a: 1\nb: c: d", "not YAML: line 2: mapping values are not allowed"),
        ("a: 1\nb: 2\na: 3", "not YAML: line 3: the key 'a' is given twice"),
        ("a: 1\n---\nb: 1", "not YAML: there is a second document"),
        ("a: !!python/name:os.system ''", "not YAML"),
        (b"\xff", "not YAML"),
        (b"a" * (1024 * 1024 + 1), "larger than"),
        (None, "no such file"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, content, says):
    path = tmp_path / "settings.yaml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as refused:
        load_settings({}, str(path))
    assert str(refused.value).startswith(f"--config {path}: ")
    assert says in str(refused.value)


def test_each_wrong_setting_has_its_line(monkeypatch):
    monkeypatch.setenv("STATUS_REPORTER_EMIT", "x")
    with pytest.raises(UsageError) as refused:
        load_settings({"resync_seconds": "x"})
    first, second = str(refused.value).splitlines()
    assert first.startswith("--resync-seconds: 'x' is not allowed")
    assert second.strip().startswith("STATUS_REPORTER_EMIT: 'x' is not allowed")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", ("", 8080)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:8082", ("::1", 8082)),
        ("localhost:80", ("localhost", 80)),
        ("0", None),
    ],
)
def test_bind_addresses(text, address):
    assert bind_address(text) == address


def test_the_report_is_served_on_loopback_unless_asked_for():
    assert FullDaemonSettings().report_bind_address.startswith("127.0.0.1:")
