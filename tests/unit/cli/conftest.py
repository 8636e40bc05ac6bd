import os
from pathlib import Path

import pytest

from reporter.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch, tmp_path):
    """Tests do not depend on who runs them where."""
    for name in list(os.environ):
        if name.startswith(("STATUS_REPORTER_", "KUBE")) or name == "NO_COLOR":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys):
    """The program in this process: exit status, standard output and standard error."""

    def run(*argv):
        status = main([str(each) for each in argv])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def healthy():
    return EXAMPLES / "healthy-stack"


@pytest.fixture
def broken():
    return EXAMPLES / "broken-stack"
