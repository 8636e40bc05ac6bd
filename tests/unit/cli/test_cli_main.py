import subprocess
import sys
from pathlib import Path

import pytest

from reporter import __version__
from reporter.cli.main import COMMANDS, LABORATORY


@pytest.mark.parametrize("columns", [60, 80])
def test_every_help_fits_and_begins_with_examples(run, monkeypatch, columns):
    """On a narrow terminal, too; only a word that is longer than its column may stick out."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in ("", *COMMANDS, *LABORATORY):
        out = run(*filter(None, (command, "--help")))[1]
        long = [line for line in out.splitlines() if len(line) > columns]
        assert [line for line in long if " " in line.strip().rstrip(" \\")] == []
        if command != "mcp":
            assert out.index("\nexamples:\n") < (out.find("--help") if command else len(out))


def test_a_short_help_leaves_the_settings_to_the_long_one(run):
    """What is needed often is not lost among dozens of settings."""
    short, whole = (run("check", flag)[1] for flag in ("--help", "--help-all"))
    assert "--fail-on" in short
    assert "--startup-grace-seconds" not in short
    assert "more settings, by flag, environment or file: status-reporter check --help-all" in short
    assert "--startup-grace-seconds" in whole
    assert "STATUS_REPORTER_RESYNC_SECONDS" in whole


@pytest.mark.parametrize("command", LABORATORY)
def test_without_the_laboratory_one_line_says_how_it_is_installed(run, monkeypatch, command):
    monkeypatch.setattr("reporter.cli.main.entry_points", lambda **_: ())
    status, out, err = run(command)
    assert (status, out) == (2, "")
    assert err == (
        f"status-reporter: {command}: this is a command of productionstack-status-reporter-lab, "
        "which is not installed; in a checkout of the project: make setup\n"
    )


def test_version_and_commit(run):
    status, out, _ = run("--version")
    assert status == 0
    assert out.startswith(f"status-reporter {__version__} (commit ")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "no command given"),
        (["chek"], "did you mean check?"),
        (["frobnicate"], "one of run, check"),
        (["--frobnicate"], "is not a command"),
        (["check", "--frm", "x"], "did you mean --from?"),
        (["check", "--from"], "expected one argument"),
        (["check", "-o", "xml"], "invalid choice"),
        (["check", "extra"], "extra: no such file or folder; for a namespace: -n extra"),
        (["explain", "clusterKedaNotRedy"], "did you mean clusterKedaNotReady?"),
        (["sandbox", "--port", "x"], "--port: 'x' is not allowed; allowed: 0 to 65535"),
        (["sandbox", "--port", "70000"], "--port: '70000' is not allowed"),
        (["sandbox", "--from", "missing"], "no such file or folder"),
        (["demo", "--slow"], "is not understood"),
        (["status", "--url", "nonsense"], "--url: 'nonsense' is not allowed"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(run, argv, says):
    """A command line that cannot be carried out is refused with what to change."""
    status, out, err = run(*argv)
    assert (status, out) == (2, "")
    assert says in err
    assert err.startswith("status-reporter: ")
    assert err.count("\n") == 1


def test_a_closed_pipe_is_quiet():
    """`status-reporter explain | head` ends without a traceback."""
    code = (
        "import os, sys\n"
        "read, write = os.pipe()\n"
        "os.close(read)\n"
        "os.dup2(write, 1)\n"
        "from reporter.cli.main import main\n"
        "sys.exit(main(['explain']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_full_disk_is_one_line_and_status_2(healthy):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "reporter", "check", "--from", healthy],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "status-reporter: cannot write the output: no space left on device\n"


def test_explain_starts_without_the_clients():
    """What only reads the catalogue loads no HTTP client and no validation library."""
    code = (
        "import sys\n"
        "from reporter.cli.main import main\n"
        "main(['explain', 'clusterReady'])\n"
        "heavy = {'aiohttp', 'kubernetes_asyncio', 'pydantic', 'httpx'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
