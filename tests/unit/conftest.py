import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


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

    # Here, as it imports the whole program.
    from reporter.cli.main import main

    def run(*argv):
        # In a thread of its own, so that its event loop is not mixed up with that of the tests.
        with ThreadPoolExecutor(1) as thread:
            status = thread.submit(main, [str(each) for each in argv]).result()
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture(scope="module")
def examples():
    return EXAMPLES


@pytest.fixture
def healthy():
    return EXAMPLES / "healthy-stack"


@pytest.fixture
def broken():
    return EXAMPLES / "broken-stack"
