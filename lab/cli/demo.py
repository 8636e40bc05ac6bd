"""`status-reporter demo`: faults and recoveries of a sample stack, reported by the real daemon."""

import asyncio
import signal
from collections.abc import Sequence
from typing import Final

from reporter.arguments import Parser
from reporter.interrupts import own_interrupts

_EXAMPLES: Final = (
    ("status-reporter demo", "the control plane breaks and recovers"),
    ("status-reporter demo --scenario runtime --fast", "model pods that suffer, without waiting"),
    ("status-reporter demo --keep", "leave the page and the cluster there to look at"),
)

_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str]) -> int:
    arguments = command_parser().parse(argv)

    with own_interrupts():
        return asyncio.run(_tell(arguments.scenario, fast=arguments.fast, keep=arguments.keep))


def command_parser() -> Parser:
    parser = Parser(
        "demo",
        "Run a sample stack in the sandbox with the real daemon, walk through faults and "
        "recoveries, and print the Events as they come.",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "--scenario",
        metavar="NAME",
        choices=(
            "control-plane",
            "runtime",
            "modelserving",
            "modelservice",
            "inferenceservice",
            "llminferenceservice",
        ),
        default="control-plane",
        help="control-plane: components, Gateways, nodes and pods; "
        "runtime: what simulated vLLM pods suffer from; "
        "modelserving: roles of a ModelServing that come and go; "
        "modelservice: what the phase of a ModelService hides; "
        "inferenceservice: revisions of InferenceServices, and which of them serves; "
        "llminferenceservice: what Ready of one hides, and what only looks wrong "
        "(control-plane)",
    )
    parser.add_argument("--fast", action="store_true", help="shorten all waiting")
    parser.add_argument(
        "--keep", action="store_true", help="leave the sandbox and the daemon running at the end"
    )
    return parser


async def _tell(scenario: str, *, fast: bool, keep: bool) -> int:
    """Walk through the demo; a signal that ends it also ends the daemon, like Ctrl-C."""
    from lab.demo.main import run_demo

    loop = asyncio.get_running_loop()
    telling = asyncio.ensure_future(run_demo(scenario, fast=fast, keep=keep))
    received: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        received.append(number)
        telling.cancel()

    for number in _ENDING:
        # nohup ignores hang-ups; keep it that way.
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end, number)
    try:
        return await telling
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
