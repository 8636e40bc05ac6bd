"""The program as a process: how it is refused, what it logs, and what it does with time."""

import asyncio
import socket
import ssl
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
import yaml

from reporter.daemon.passes import Heartbeat, server_now
from reporter.model.instant import Instant
from tests.daemon.replica import LONG_LEASE, free_port, until
from tests.daemon.stage import KAITO, Stage

TOKEN = "verysecret.eyJhbGciOiJub25lIn0.token"


async def refused(replica, *flags: str) -> str:
    """Start with flags that cannot work; return the one line that says so."""
    await replica.start_with(*flags)
    assert await replica.ended() == 2
    (line,) = replica.output.splitlines()
    return line


@pytest.mark.quick
async def test_kubeconfig_that_points_nowhere_is_refused_in_one_line(program, tmp_path):
    """The file is named, and nothing else is said."""
    missing = tmp_path / "nowhere"
    line = await refused(program(), "--kubeconfig", str(missing))
    assert line.startswith("status-reporter: run: ")
    assert str(missing) in line


async def test_address_that_is_taken_is_refused_in_one_line(stage, program):
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        line = await refused(
            program(), "--kubeconfig", str(stage.kubeconfig), "--metrics-bind-address=0",
            "--health-probe-bind-address", address,
        )  # fmt: skip
    assert line == (
        f"status-reporter: run: --health-probe-bind-address: cannot listen on {address}: "
        "address already in use; choose another address, or 0 to turn the listener off"
    )


async def test_certificate_that_does_not_verify_is_said_clearly(stage, program, tmp_path):
    """The reporter goes on trying, and its log says what is wrong with which file."""
    await stage.sandbox.stop()
    await stage.sandbox.start(tls=certificate(tmp_path))
    config = stage.sandbox.kubeconfig()
    config["clusters"][0]["cluster"].pop("insecure-skip-tls-verify")
    stage.kubeconfig.write_text(yaml.safe_dump(config))
    replica = await program().start()
    line = (await until(lambda: replica.lines("discovery_failed"), "it says so"))[0]
    assert "certificate is not trusted" in line["cause"]
    assert "certificate-authority" in line["cause"]
    assert (await replica.get("health-probe", "/readyz"))[0] == 503
    assert "Traceback" not in replica.output


def certificate(folder: Path) -> ssl.SSLContext:
    """Return a server's context with a certificate that nobody trusts; `ca.pem` is of who signed it."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost").configure_cert(context)
    return context


async def test_log_tells_each_change_once_and_no_secret(tmp_path, program, stage):
    """One line for each change of a disposition; passes in which nothing changes are silent."""
    locked = Stage(tmp_path / "locked.yaml", token=TOKEN)
    await locked.up()
    replica = program(**LONG_LEASE)
    replica.kubeconfig = locked.kubeconfig
    try:
        await (await replica.start()).ready()
        await locked.all_ready()
        locked.scale_kaito(0)
        await locked.told(KAITO)
        await replica.passes()
        locked.scale_kaito(1)
        await locked.told(KAITO, "over")
        await until(lambda: len(replica.lines("finding")) == 2, "two changes")
        await replica.passes(1)
        quiet = len(replica.lines())
        await replica.passes()
        assert replica.lines()[quiet:] == []
    finally:
        await replica.stop()
        await locked.close()
    changes = [
        (line["reason"], line["was"], line["disposition"]) for line in replica.lines("finding")
    ]
    assert changes == [(KAITO[0], "none", "firing"), (KAITO[0], "firing", "none")]
    told = Counter((line["event"], line.get("subject")) for line in replica.lines())
    assert told["subject_ready", "cluster"] == 2
    assert told["started", None] == 1
    assert "secret" not in replica.output
    assert all("timestamp" in line and "level" in line for line in replica.lines())


@pytest.mark.parametrize("kind", ["away", "forbidden"])
async def test_log_of_an_outage_does_not_grow_with_every_pass(stage, program, kind):
    """What goes on unchanged is not said again and again."""
    replica = await (await program(**LONG_LEASE).start()).ready()
    await stage.all_ready()
    before = len(replica.lines())
    if kind == "away":
        await stage.down()
    else:
        stage.sandbox.access.allow_only(())
        stage.sandbox.faults.cut_watches()
    await until(lambda: replica.lines()[before:], "it says so")
    await replica.passes(3)
    what = ("event", "resource", "namespace", "cause", "reason", "subject")
    told = Counter(tuple(map(line.get, what)) for line in replica.lines()[before:])
    assert max(told.values()) <= 2, told
    assert "Traceback" not in replica.output


@pytest.mark.parametrize(("stood_still", "pauses"), [(4.9, 0), (5.1, 1)])
def test_pause_counts_from_five_seconds(stood_still, pauses):
    """Whoever asks first after a pause finds it, and what follows from it happens once."""
    seconds, told = [100.0], []
    heartbeat = Heartbeat(lambda: told.append("paused"), lambda: seconds[0])
    seconds[0] += stood_still
    assert heartbeat.pauses() == pauses
    seconds[0] += 1.0
    assert heartbeat.pauses() == pauses
    assert len(told) == pauses


@pytest.mark.looptime
async def test_heartbeat_that_runs_is_no_pause():
    """As long as the process runs it beats often enough."""
    loop, told = asyncio.get_running_loop(), []
    heartbeat = Heartbeat(lambda: told.append("paused"), loop.time)
    task = asyncio.create_task(heartbeat.run())
    await asyncio.sleep(60)
    task.cancel()
    assert heartbeat.pauses() == 0
    assert not told


@pytest.mark.parametrize(
    ("offset", "corrected"), [(0.0, 0), (5.0, 0), (-5.0, 0), (5.5, 5.5), (-3600.0, -3600)]
)
def test_clock_follows_the_api_server_where_it_is_far_off(offset, corrected):
    """Up to 5 s is the noise of a header in whole seconds; the boot clock is never touched."""
    present = Instant(datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=7))
    now = server_now(present, offset)
    assert now.wall - present.wall == timedelta(seconds=corrected)
    assert now.boot == present.boot


async def test_ages_are_those_of_the_api_server(stage, inside):
    """A reporter whose clock is an hour behind writes the API server's time."""
    stage.clock.ahead = 3600.0
    replica = await (await inside().start()).ready()
    stage.scale_kaito(0)
    await stage.told(KAITO)
    await replica.passes()
    assert await replica.metric("clock_offset_seconds") == pytest.approx(3600, abs=5)
    now = datetime.fromisoformat((await replica.report())["now"])
    assert abs((now - datetime.now(UTC)).total_seconds() - 3600) < 10
