"""`status-reporter mcp` as an assistant sees it: the SDK's own client, over the pipes of a real process."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.unit.conftest import EXAMPLES

ROOT = Path(__file__).parents[3]
KAITO = "clusterKaitoControllerNotReady"
MCP = [sys.executable, "-m", "reporter", "mcp"]
SECRET = "hunter2-hunter2-hunter2"


@asynccontextmanager
async def assistant(*flags, cwd=EXAMPLES, **variables):
    """The client of a server with these flags."""
    from mcp import Client, StdioServerParameters, stdio_client

    program, *words = MCP
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "/nonexistent"}
    server = StdioServerParameters(
        command=program, args=[*words, *map(str, flags)], env=environment | variables, cwd=str(cwd)
    )
    # Its default is the standard error of whatever imported it first, which may be a capture.
    async with Client(stdio_client(server, sys.__stderr__)) as client:
        yield client


async def ask(client, tool, **arguments):
    """Return what a tool answers."""
    answer = await client.call_tool(tool, arguments)
    (content,) = answer.content
    assert not answer.is_error, content.text
    return json.loads(content.text)


async def refused(client, tool, **arguments):
    """Return what a tool says that it cannot do."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return answer.content[0].text


def started(*argv, **options):
    return subprocess.run(
        [*MCP, *argv], capture_output=True, text=True, check=False, timeout=60, **options
    )


async def test_there_are_four_tools_and_none_changes_anything():
    async with assistant("--from", "healthy-stack") as client:
        tools = (await client.list_tools()).tools
    assert [each.name for each in tools] == ["report", "explain", "check_dump", "history"]
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert len(tool.description) > 80
        assert all(each["description"] for each in tool.input_schema["properties"].values())


async def test_report_says_the_causes_that_check_says(run):
    """The same findings in the same order, word for word; the rest is counted."""
    _, out, _ = run("check", "--from", EXAMPLES / "broken-stack", "-o", "json")
    findings = json.loads(out)["findings"]
    async with assistant("--from", "broken-stack") as client:
        told = await ask(client, "report")
    assert told["about"] == "the dump broken-stack"
    assert told["findings"] == [each for each in findings if each["disposition"] == "firing"]
    assert told["findings"][0]["reason"] == KAITO
    assert sum(told["counts"]["findings"].values()) == len(findings)
    assert {each["state"] for each in told["subjectsNotWell"]} <= {"degraded", "not-serving"}


@pytest.mark.long
async def test_one_namespace_comes_with_the_causes_of_the_cluster():
    """What is elsewhere is left out; a name that is misspelt does not look healthy."""
    async with assistant("--from", "broken-stack") as client:
        told = await ask(client, "report", namespace="search-models")
        wrong = await refused(client, "report", namespace="serch-models")
    assert told["findings"][0]["reason"] == KAITO
    subjects = {each["subject"] for each in told["findings"]}
    assert all(each == "cluster" or "/search-models" in each for each in subjects)
    assert "nothing in namespace serch-models is looked at" in wrong


@pytest.mark.long
async def test_a_long_answer_is_cut_and_says_so():
    async with assistant("--from", "broken-stack") as client:
        told = await ask(client, "report", limit=1, everything=True)
    total = sum(told["counts"]["findings"].values())
    assert (len(told["findings"]), told["moreFindings"]) == (1, total - 1)


@pytest.mark.long
async def test_a_dump_is_judged_below_the_folder_alone(tmp_path):
    """What an assistant was talked into asking for is not read."""
    shutil.copytree(EXAMPLES / "broken-stack", tmp_path / "dump")
    (tmp_path / "out").symlink_to("/etc")
    async with assistant("--url", "http://127.0.0.1:1", cwd=tmp_path) as client:
        told = await ask(client, "check_dump", path="dump", namespace="search-models")
        assert told["findings"][0]["reason"] == KAITO
        for path in ("/etc", "../..", "out/hostname"):
            assert f"dumps are read only below {tmp_path}" in await refused(
                client, "check_dump", path=path
            )
        assert "no such file or folder" in await refused(client, "check_dump", path="nothing")


@pytest.mark.long
async def test_reasons_are_explained_one_or_all():
    async with assistant("--from", "healthy-stack") as client:
        one = await ask(client, "explain", reason=KAITO.lower())
        every = await ask(client, "explain")
        wrong = await refused(client, "explain", reason="clusterKaito")
    assert one["reason"] == KAITO
    assert one["action"]
    assert {"reason": KAITO, "summary": one["summary"]} in every["reasons"]
    assert "'clusterKaito' is not a reason" in wrong


@pytest.mark.long
async def test_credentials_are_masked_as_everywhere(tmp_path):
    """What a container wrote last may be repeated to an assistant only as an Event may say it."""
    shutil.copytree(EXAMPLES / "broken-stack", tmp_path / "dump")
    pods = tmp_path / "dump" / "pods.yaml"
    text, spot = pods.read_text(), "exitCode: 1\n"
    before, _, after = text.partition(spot)
    indent = " " * (len(before) - len(before.rstrip(" ")))
    pods.write_text(f"{before}{spot}{indent}message: 'login failed: password={SECRET}'\n{after}")
    async with assistant("--from", "dump", cwd=tmp_path) as client:
        told = await ask(client, "report")
    assert "login failed" in told["findings"][0]["message"]
    assert SECRET not in json.dumps(told)


@pytest.mark.long
async def test_a_daemon_that_is_not_there_is_named():
    async with assistant("--url", "http://127.0.0.1:1") as client:
        for tool in ("report", "history"):
            said = await refused(client, tool)
            assert "http://127.0.0.1:1: nothing answers there; start the daemon" in said


@pytest.mark.long
def test_without_the_extra_it_says_what_to_install():
    code = (
        "import sys\nsys.modules['mcp'] = None\n"
        "from reporter.cli.main import main\nsys.exit(main(['mcp']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert done.stderr == (
        "status-reporter: mcp: this needs the extra mcp, which is not installed: "
        "pip install --no-deps --require-hashes -r requirements-mcp.lock "
        "(in the checkout and in each release)\n"
    )


@pytest.mark.long
def test_nothing_but_the_server_loads_the_sdk():
    """The daemon and all other commands start as fast and as small as without it."""
    code = (
        "import sys\n"
        "import reporter.cli.mcp, reporter.cli.run, reporter.daemon.main, reporter.cli.check\n"
        "found = {'mcp', 'mcp_types', 'starlette', 'uvicorn', 'opentelemetry'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {found}' if found else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_is_without_it():
    """What is locked for the image has neither the SDK nor what it brings."""
    lock = (ROOT / "requirements.lock").read_text()
    assert not any(line.startswith(("mcp", "starlette", "uvicorn")) for line in lock.splitlines())


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--url", "http://x", "--from", "y"], "not allowed with argument"),
        (["--url", "http://x", "-n", "y"], "a daemon has read everything"),
        (["--dumps", "/nowhere"], "--dumps /nowhere: no such folder"),
        (["--resync-seconds", "no"], "--resync-seconds: 'no' is not allowed"),
    ],
)
def test_a_wrong_flag_is_refused_before_anything_is_served(flags, says):
    done = started(*flags, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
