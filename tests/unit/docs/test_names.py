"""What the pages name exists: flags, variables, reasons, metrics, lines of the log, values, links."""

import re
from datetime import UTC, datetime

import pytest
import yaml
from prometheus_client import generate_latest

from reporter.arguments import CONFIG_VARIABLE
from reporter.cli import kubectl
from reporter.cli.configure import FullProgramSettings, variable_of
from reporter.cli.main import known_commands, main
from reporter.model.report import Report
from reporter.model.subject import NAMESPACE_KIND, Layer
from reporter.sinks.own_metrics import GAUGES, LiveMetrics, Metrics, SubjectMetrics
from reporter.stacks import BUILT_IN
from reporter.stacks.kthena.output import status_counter
from tests.tables import BY_NAME
from tests.unit.docs.pages import CHART, PAGES, ROOT, anchors, found, page

OF_OTHERS = {
    "--enable-metrics": "sglang",
    "--event-ttl": "kube-apiserver",
    "--force-conflicts": "kubectl",
    "--namespace": "helm",
    "--network": "container engines",
    "--previous": "kubectl",
    "--show-managed-fields": "kubectl",
    "--sort-by": "kubectl",
}
OF_GO = {"--weight-download-metric", "--zap"}
NO_REASONS = {"clusterStatus"}
DECLARED = set(re.findall(r"reason: (\w+)", page("custom-components.md"))) | {
    "clusterVectorStoreReady", "clusterBBRNotRedy", "modelharnessCacheNotReady",
}  # fmt: skip
"""Reasons that examples declare, and those of its file with mistakes."""
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(name="flags", scope="module")
def _flags():
    """Every flag of every command, as its help has it."""
    with pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr("sys.stdout.write", said.append)
        main(["--help"])
        for command in known_commands():
            main([command, "--help-all"])
        with pytest.raises(SystemExit):
            kubectl.main(["--help-all"])
    return set(re.findall(r"--[a-z][a-z-]*", "".join(said)))


def test_flags(flags):
    """Flags that a page speaks of, or gives to our program; those in other commands are others'."""
    spoken_of = found(r"`(--[a-z][a-z-]*[a-z])")
    commands = found(rf"(?<![\w/-])status-reporter (?:{'|'.join(known_commands())}) [^`|;&#\n]*")
    given = [
        (where, flag) for where, line in commands for flag in re.findall(r" (--[a-z-]+)", line)
    ]
    assert ("docs/check.md", "--from") in given
    unknown = [
        (where, flag)
        for where, flag in [*spoken_of, *given]
        if flag not in flags | OF_OTHERS.keys() | OF_GO
    ]
    assert unknown == []


def test_flags_of_go_are_refused(flags, capsys):
    """The page on migrating says so, and with which exit status."""
    _, _, told = page("migrating.md").partition("**Refused**")
    paragraph, _, _ = told.partition("\n\n")
    assert set(re.findall(r"`(--[a-z][a-z-]*[a-z])", paragraph)) - flags == OF_GO
    for flag in [*sorted(OF_GO), "--zap-log-level"]:
        assert main(["run", f"{flag}=1"]) == 2
        assert "is not understood" in capsys.readouterr().err


def test_environment_variables():
    known = {variable_of(field) for field in FullProgramSettings.model_fields}
    known |= {CONFIG_VARIABLE, "STATUS_REPORTER_API_URL"}  # the latter is of the tests
    unknown = [each for each in found(r"STATUS_REPORTER_[A-Z_]*[A-Z]") if each[1] not in known]
    assert unknown == []


def test_reasons():
    known = BY_NAME.keys() | NO_REASONS | DECLARED
    kinds = "|".join({*BUILT_IN.kinds, *Layer} - {NAMESPACE_KIND})
    # `spec.workloadSelector` is a field of Istio's kinds.
    named = found(rf"\b(?:{kinds})(?!Selector\b)[A-Z][A-Za-z]*")
    assert [each for each in named if each[1] not in known] == []


class Idle:
    """A daemon of which everything can be asked."""

    def report(self):
        return Report(catalogue=BUILT_IN, now=NOW, findings=(), ready=(), unknown=(), skipped=())

    def watches(self):
        return ()

    def gauges(self):
        return dict.fromkeys(GAUGES, 1)


def test_metrics():
    counted = Metrics("0", "0")
    status_counter(counted.registry, lambda: 0)
    pages = (LiveMetrics(counted, Idle()), SubjectMetrics(Idle().report, 9))
    text = b"".join(map(generate_latest, pages)).decode()
    exported = set(re.findall(r"^(?:# TYPE )?(status_reporter_\w+)", text, re.MULTILINE))
    rule = (CHART / "templates" / "prometheusrule.yaml").read_text()
    rule += (CHART / "templates" / "_causes.tpl").read_text()
    in_rule = [("PrometheusRule", name) for name in re.findall(r"\bstatus_reporter_\w+", rule)]
    named = [*found(r"\bstatus_reporter_\w+"), *in_rule]
    assert [each for each in named if each[1] not in exported] == []


def test_lines_of_the_log():
    source = "".join(path.read_text() for path in (ROOT / "reporter").rglob("*.py"))
    logged = set(re.findall(r'(?:log\.\w+|\._fail)\(\s*"(\w+)"', source))
    greps = [
        name
        for text in PAGES.values()
        for name in re.findall(r"(?:grep|-e) ([a-z]+_[a-z_]*)", text)
    ]
    assert {"event_refused", "lease_try_failed", "pass_failed"} <= set(greps)
    unknown = [each for each in greps if not any(name.startswith(each) for name in logged)]
    assert unknown == []


def test_values_of_the_chart():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    pattern = r"`((?:controlPlane|stacks|modelServing|scrape|runtime|leaderElection|prometheusRule|viewer|rbac)\.[A-Za-z.]+)`"
    assert [each for each in found(pattern) if not _is_value(values, each[1])] == []


def _is_value(values, path):
    for key in path.split("."):
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def test_links():
    broken = []
    for where, target in found(r"\]\(([^)\s]+)\)"):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        file = (ROOT / where).parent / path if path else ROOT / where
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            broken.append((where, target))
    assert broken == []
