"""`python -m e2e.cluster`: a whole Kubernetes on this machine, until Ctrl-C or `down`."""

import argparse
import contextlib
import os
import shlex
import signal
import sys
import time
from typing import Final

from e2e.cluster.cluster import FOLDER, Cluster, lock_file, remove_what_stayed, take_lock
from e2e.cluster.images import REPOSITORY, build_reporter, small_images
from e2e.cluster.machine import Link
from e2e.cluster.packages import install, say
from e2e.envtest.commands import EnvtestError, poll

_END_SECONDS: Final = 300.0


def main() -> None:
    """Start one and wait, or end the one that runs."""
    parser = argparse.ArgumentParser(prog="python -m e2e.cluster", description=__doc__)
    commands = parser.add_subparsers(required=True)
    starting = commands.add_parser("up", help="start one, until Ctrl-C")
    starting.add_argument("--nodes", type=int, choices=(1, 2), default=1)
    starting.set_defaults(command=lambda given: up(given.nodes))
    commands.add_parser("down", help="end the one that runs").set_defaults(command=lambda _: down())
    given = parser.parse_args()
    try:
        given.command(given)
    except EnvtestError as error:
        sys.exit(f"cluster: {error}")


def up(nodes: int) -> None:
    """Start a cluster with all images, print how to use it, and stop it when told to."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cluster = Cluster(count=nodes)
    with contextlib.suppress(KeyboardInterrupt):
        started(cluster)
        try:
            print(_usage(cluster), flush=True)
            signal.pause()
        finally:
            say("ending")
            cluster.stop()


def started(cluster: Cluster, *, reporter: bool = True) -> None:
    """Install what is missing, start the cluster and give it its images, the reporter's if wanted."""
    if os.geteuid():
        raise EnvtestError("only root can run containers here")
    install()
    images = []
    if reporter:
        say("building the reporter's image")
        images = [build_reporter()]
    say("starting")
    began = time.monotonic()
    cluster.start()
    try:
        for archive in (*small_images(cluster.folder), *images):
            cluster.load(archive)
    except BaseException:
        cluster.stop()
        raise
    say(
        f"{' and '.join(each.name for each in cluster.nodes)} Ready after {time.monotonic() - began:.0f} s"
    )


def _usage(cluster: Cluster) -> str:
    kubeconfig = shlex.quote(str(cluster.kubeconfig))
    return f"""\
export KUBECONFIG={kubeconfig}
helm install status helm/productionstack-status-reporter --namespace kaito-system --create-namespace \\
    --set image.repository={REPOSITORY} --wait
# Logs: {cluster.folder / "log"}. To end it: Ctrl-C here, or `make cluster-down`."""


def down() -> None:
    """Stop the running cluster, or remove what is left of one that was killed."""
    try:
        lock = take_lock(FOLDER)
    except EnvtestError:
        _end_the_one_that_runs()
        return
    with lock:
        remove_what_stayed(FOLDER, Link())
        lock_file(FOLDER).unlink()
    say("none runs")


def _end_the_one_that_runs() -> None:
    lock = lock_file(FOLDER)
    with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):
        os.kill(int(lock.read_text()), signal.SIGTERM)
    poll(lambda: not lock.exists(), "it does not end", _END_SECONDS)


if __name__ == "__main__":
    main()
