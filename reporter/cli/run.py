"""`status-reporter run`: the daemon."""

import asyncio
from collections.abc import Sequence
from typing import Final

from reporter.arguments import Parser
from reporter.cli.configure import EPILOG, add_setting_flags, settings_from
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts

_EXAMPLES: Final = (
    ("status-reporter run --context kind-lab", "from your machine; scrapes no pods"),
    ("status-reporter run --config settings.yaml", "with a file of settings"),
)


def main(argv: Sequence[str]) -> int:
    settings = settings_from(command_parser().parse(argv))

    from reporter.daemon.main import run_daemon
    from reporter.kube.errors import KubeError

    try:
        with own_interrupts():
            return asyncio.run(
                run_daemon(settings, kubeconfig=settings.kubeconfig, context=settings.context)
            )
    except KubeError as error:
        raise UsageError(str(error)) from None


def command_parser() -> Parser:
    parser = Parser(
        "run", "Watch the cluster and write root causes as Events.", EPILOG, examples=_EXAMPLES
    )
    add_setting_flags(parser, daemon=True)
    return parser
