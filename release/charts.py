"""The chart, the alert rules and the dashboard."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import yaml

from release.archives import pack, unpack

CHART: Final = Path("helm/productionstack-status-reporter")
RELEASE: Final = "status"
NAMESPACE: Final = "kaito-system"

_HELM: Final = Path(sys.executable).with_name("helm")
_ALERTS: Final = (
    "serviceMonitor.enabled=true",
    "prometheusRule.enabled=true",
    "modelServing.status=full",
    "mirrorToWorkload=true",
)
"""Renders every rule; one about what is switched off has no series and never fires."""

_HEAD: Final = f"""\
# The alerts of the status reporter as a file of rules for Prometheus, for those who do without the
# Prometheus operator. Its series are those of release {RELEASE} in namespace {NAMESPACE}, as docs/install.md
# installs it: adapt `namespace` and `job` to yours. docs/alerts.md explains each.
"""


def package_chart(to: Path) -> None:
    """Write the chart as `helm package` does, without the time of it."""
    with TemporaryDirectory() as name:
        packed, folder = Path(name) / "packed", Path(name) / "folder"
        helm("package", str(CHART), "--destination", str(packed))
        (archive,) = packed.iterdir()
        unpack(archive, folder)
        pack(folder, to / archive.name)


def write_alerts(to: Path) -> None:
    """Write the rules of the chart as Prometheus itself reads them."""
    text = helm(
        "template", RELEASE, str(CHART), "--namespace", NAMESPACE,
        "--show-only", "templates/prometheusrule.yaml", "--set", ",".join(_ALERTS),
    )  # fmt: skip
    rule: dict[str, Any] = yaml.safe_load(text)
    groups = yaml.safe_dump(rule["spec"], sort_keys=False, width=120, allow_unicode=True)
    to.write_text(_HEAD + groups, encoding="utf-8")


def write_dashboard(to: Path) -> None:
    """Write the dashboard for Grafana's import."""
    to.write_bytes((CHART / "files" / "dashboards" / "status-reporter.json").read_bytes())


def helm(*arguments: str) -> str:
    """Run helm and return what it printed.

    Raises:
        subprocess.CalledProcessError: it failed and has said why.

    """
    return subprocess.run(  # noqa: S603  # our own words
        [_HELM, *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
