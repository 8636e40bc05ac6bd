"""`status-reporter run`: the daemon."""

import asyncio
import sys
from collections.abc import Sequence

from reporter.arguments import PROGRAM, Parser
from reporter.cli.configure import misspelt_variables
from reporter.cli.flags import EPILOG, add_setting_flags, settings_from
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts


def main(argv: Sequence[str]) -> int:
    """Run the daemon until SIGTERM or SIGINT.

    Raises:
        UsageError: a setting is not allowed, or there is no way to the cluster.

    """
    parser = Parser("run", "Watch the cluster and write root causes as Events.", EPILOG)
    add_setting_flags(parser, daemon=True)
    settings = settings_from(parser.parse(argv))
    for warning in misspelt_variables():
        sys.stderr.write(f"{PROGRAM}: {warning}\n")

    from reporter.daemon.main import run_daemon
    from reporter.kube.errors import KubeError

    try:
        with own_interrupts():
            return asyncio.run(
                run_daemon(settings, kubeconfig=settings.kubeconfig, context=settings.context)
            )
    except KubeError as error:
        raise UsageError(str(error)) from None
