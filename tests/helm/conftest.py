import shutil

import pytest

from tests.helm import charts


@pytest.fixture(scope="session")
def combinations():
    """Return each combination of values that makes a difference, and what it renders."""
    rows = charts.load("combinations.yaml")
    return [(row, charts.render(row.get("values"))) for row in rows]


@pytest.fixture(scope="session")
def umbrella(tmp_path_factory):
    """The umbrella chart with its dependency, built in a folder of this process's own."""
    folder = tmp_path_factory.mktemp("helm")
    for chart in (charts.REPORTER, charts.UMBRELLA):
        shutil.copytree(chart, folder / chart.name, ignore=shutil.ignore_patterns("charts"))
    built = charts.helm("dependency", "build", str(folder / charts.UMBRELLA.name))
    assert built.returncode == 0, built.stderr
    return folder / charts.UMBRELLA.name
