"""The commands of the pages run: against a dump of the examples where the page has the reader's own."""

import re
import shlex

import pytest

from reporter.cli import kubectl
from reporter.cli.main import main
from tests.unit.docs.pages import PAGES, ROOT

DUMP = "examples/broken-stack"
STANDS_FOR = {
    "dump.tgz": DUMP,
    "FILE.tgz": DUMP,
    "dump/": DUMP,
    "dump": DUMP,
    "new.yaml": "examples/modelservice/unified.yaml",
    "overlay/": "examples/modelservice/unified.yaml",
    "modelservice.yaml": "examples/modelservice/unified.yaml",
    "chatserver.yaml": "examples/dialects/chatserver.yaml",
    "config.yaml": "examples/custom-components/config.yaml",
    "REASON": "clusterBBRNotReady",
}
"""What a reader puts in the place of a name, and what stands there in the tests."""

NOT_RUN = {
    "--watch": "ends by Ctrl-C only",
    "completion": "the shell's own tests take what it prints",
    "demo": "the tests of the demo play its stories",
    "dump": "a cluster, which it is tested with elsewhere",
    "run": "a cluster, for ever",
    "sandbox": "serves for ever",
    "status": "a daemon, which it is tested with elsewhere",
}
"""What is only read, by command or flag, and why."""

_LINE = re.compile(
    r"^(?:    |\$ )(?:\$ )?(?:\S*/bin/)?(kubectl status-reporter|status-reporter)( .*)?$"
)
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands():
    """Yield page, program and arguments of each command of ours in a block of code."""
    for name, text in PAGES.items():
        if not name.startswith("docs/reasons"):
            blocks = "\n".join(_BLOCK.findall(text)).splitlines()
            indented = [line for line in text.splitlines() if line.startswith("    ")]
            for match in filter(None, map(_LINE.match, [*blocks, *indented])):
                program, rest = match[1], re.split(r" (?:\||>|#|&)( |$)", f"{match[2] or ''} ")[0]
                yield pytest.param(
                    program, shlex.split(rest), id=f"{name}: {match[0].strip()[:70]}"
                )


COMMANDS = list(commands())


def ready(program, argv):
    """Return the arguments with what stands for the reader's own, and a dump for the cluster."""
    given = [STANDS_FOR.get(each, each) for each in argv]
    of_a_cluster = program.startswith("kubectl") or given[:1] == ["check"]
    told = {"--from", "--explain", DUMP, f"{DUMP}/"}
    return [*given, "--from", DUMP] if of_a_cluster and not told & {*given} else given


def not_run(argv):
    """Return the command and the flags for which it is only read."""
    return NOT_RUN.keys() & {*argv[:1], *(each for each in argv if each.startswith("--"))}


@pytest.mark.parametrize(("program", "argv"), COMMANDS)
def test_a_command_runs(monkeypatch, capsys, program, *, argv):
    """It is understood, and ends with a verdict; one that is not run has a cause above."""
    monkeypatch.chdir(ROOT)
    if not_run(argv):
        return
    call = kubectl.main if program.startswith("kubectl") else main
    try:
        status = call(ready(program, argv))
    except SystemExit as end:
        status = end.code
    wrong_on_purpose = any("wrong.yaml" in each for each in argv)
    assert status in ({2} if wrong_on_purpose else {0, 1, None}), capsys.readouterr().err


def test_every_cause_of_not_running_is_of_a_command():
    met = {word for each in COMMANDS for word in not_run(each.values[1])}
    assert met == NOT_RUN.keys()
