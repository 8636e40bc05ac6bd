"""What makes the exit status 1, in every command that shows a report."""

import shutil

import pytest


@pytest.fixture(name="notice")
def _notice(run, tmp_path, monkeypatch):
    """A dump with nothing but a notice, and one kind that could not be read."""
    from reporter.cli import single_pass
    from reporter.model.reason import EventType
    from reporter.model.report import UnknownResource
    from tests.unit.sinks.page.reports import KAITO, finding, report

    def judged(*_):
        told = finding(KAITO, type=EventType.NORMAL)
        return report(told, unknown=(UnknownResource("pods", "forbidden"),))

    monkeypatch.setattr(single_pass, "judged", judged)


@pytest.mark.usefixtures("notice")
@pytest.mark.parametrize(
    ("flag", "status"),
    [("cause", 0), ("notice", 1), ("unknown", 1), ("none", 0), ("notice,unknown", 1), ("warning", 0)],
)  # fmt: skip
def test_a_notice_alone(run, healthy, *, flag, status):
    """Worth knowing is not wrong, unless somebody wants it so."""
    assert run("check", healthy, "--fail-on", flag)[0] == status
    if flag == "cause":
        assert run("check", healthy)[0] == 0


_FORBIDDEN = """\
apiVersion: v1
kind: Status
status: Failure
reason: Forbidden
details: {{group: "{group}", kind: {kind}}}
"""


@pytest.mark.parametrize(
    ("kind", "group", "status"),
    [
        ("workspaces", "kaito.sh", 2),
        ("deployments", "apps", 2),
        ("gateways", "gateway.networking.k8s.io", 2),
        ("inferencesets", "kaito.sh", 2),
        ("pods", "", 2),
        ("configmaps", "", 0),  # the models have a verdict, only the namespaces have none
    ],
)
def test_a_model_without_a_verdict_is_no_success(run, healthy, tmp_path, *, kind, group, status):
    """Standard error says what could not be read, and what lets it be read."""
    dump = tmp_path / "dump"
    shutil.copytree(healthy, dump)
    (dump / f"{kind}.yaml").write_text(_FORBIDDEN.format(group=group, kind=kind))
    found, _, err = run("check", dump)
    assert found == status
    if status:
        assert f"{kind}{'.' if group else ''}{group} cannot be read (forbidden)" in err
        assert "kubectl create clusterrole" in err
    assert run("check", dump, "--allow-unknown")[0] == 0
    assert ('type="unknown"' in run("check", dump, "-o", "junit")[1]) is True
