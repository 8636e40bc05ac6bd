"""`make setup`, as somebody on a fresh machine meets it: what is told, and what is left after a failure."""

import ast
import re
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import pytest

from locks import setup
from locks.setup import SetupError, _Progress, explained
from tests.unit.docs.pages import ROOT

RETRY = "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by "
NONE = (
    "ERROR: Could not find a version that satisfies the requirement a==1 (from versions: none)\n"
    "ERROR: No matching distribution found for a==1\n"
)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (f"{RETRY}'NewConnectionError('<...>: [Errno 111] Connection refused')'\n{NONE}",
         "the package index does not answer: connect to the network; behind a proxy set HTTPS_PROXY"),
        (f"{RETRY}'ProxyError('Cannot connect to proxy.', NewConnectionError('<...>'))'\n{NONE}",
         "the proxy lets nothing through: set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
        (f"{RETRY}'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))'\n{NONE}",
         "the certificate of the package index is not trusted here: name the file of"),
        ("ERROR: HTTP error 401\nERROR: 401 Client Error: Unauthorized for url: http://x/simple\n",
         "the package index answers 401: put name and password into PIP_INDEX_URL"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
         "the disk is full: make room, and try again"),
        ("ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '/x'\n",
         "/x cannot be written: get the right to, or clone elsewhere"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you\n    six==1 from x\n",
         "six==1 is not the file that was locked: set PIP_INDEX_URL"),
        (NONE, "the package index has no a==1 for this Python and processor: set PYTHON to CPython"),
        ("fine\nERROR: something {new}\nmore\n", "ERROR: something {new} (all that pip said: "),
        ("", "pip failed (all that pip said: "),
    ],
)  # fmt: skip
def test_a_failure_is_one_line_that_says_what_to_do(monkeypatch, tmp_path, output, said):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    line = explained(output)
    assert line.startswith(said)
    assert "\n" not in line
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == output
    assert str(kept) in line


def test_how_far_it_is_follows_what_pip_says(tmp_path):
    lock = tmp_path / "x.lock"
    lock.write_text("a==1 \\\n    --hash=sha256:00\nb==2 ; sys_platform == 'win32'\nc==3\n")
    progress = _Progress(lock, tmp_path)
    assert str(progress) == "fetching package 0 of 3: "
    progress.read("Ignoring b: markers \"sys_platform == 'win32'\" don't match your environment\n")
    progress.read("Collecting a==1 (from -r x.lock (line 1))\n")
    progress.read("  Downloading a-1-py3-none-any.whl (17.5 MB)\n")
    assert str(progress) == "fetching package 1 of 2: a, 17.5 MB"
    progress.read("Installing collected packages: a, c\n")
    (tmp_path / "lib" / "python3.11" / "site-packages" / "a-1.dist-info").mkdir(parents=True)
    assert str(progress) == "installing package 2 of 2"


def test_an_old_python_is_told_which_one_is_needed():
    """Python 2.7 can read as far as that, too: nothing newer stands before it."""
    code = (
        "import runpy, sys\nsys.version_info = (3, 10, 13)\n"
        "runpy.run_module('locks', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    told = (
        f"setup: Python 3.11 or newer is needed, and {sys.executable} is 3.10: make setup PYTHON="
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(told)
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    text = (ROOT / "locks" / "__main__.py").read_text()
    assert f"OLDEST = ({oldest.removeprefix('>=').replace('.', ', ')})" in text
    assert not [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.JoinedStr | ast.AnnAssign)
    ]


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_makes_nothing(monkeypatch, tmp_path, module):
    """As Debian's is before python3-venv is installed."""
    monkeypatch.setattr(setup, "find_spec", lambda name: None if name == module else name)
    with pytest.raises(
        SetupError, match=rf"has no module {module}: .*apt-get install python3-venv"
    ):
        setup.make(tmp_path / "env")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_makes_nothing(monkeypatch, tmp_path):
    free = SimpleNamespace(free=300_000_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: free)
    with pytest.raises(SetupError, match="has 300 MB free, and 700 MB are needed: make room"):
        setup.make(tmp_path / "env")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("was_there", [False, True])
def test_what_could_not_be_filled_is_taken_away(monkeypatch, tmp_path, was_there):
    venv = tmp_path / "env"
    if was_there:
        venv.mkdir()

    def run(words, _doing, progress=None):
        venv.mkdir(exist_ok=True)
        if progress is not None:
            raise SetupError("no")

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(setup, "_run", run)
    with pytest.raises(SetupError):
        setup.make(venv)
    assert venv.exists() == was_there


def test_a_command_that_fails_is_explained(capfd):
    code = "print('OSError: [Errno 28] No space left on device'); raise SystemExit(1)"
    with pytest.raises(SetupError, match=r"^the disk is full: make room"):
        setup._run([sys.executable, "-c", code], "trying")
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(r"(setup: trying\n)+", err)
