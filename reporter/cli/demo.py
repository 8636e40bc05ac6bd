"""`status-reporter demo`: faults and recoveries of a sample stack, told by the real daemon."""

import asyncio
from collections.abc import Sequence

from reporter.cli.parser import Parser


def main(argv: Sequence[str]) -> int:
    """Walk through the demo."""
    parser = Parser(
        "demo",
        "Run a sample stack in the sandbox with the real daemon, walk through faults and "
        "recoveries, and print the Events as they come.",
    )
    parser.add_argument(
        "--scenario",
        choices=("control-plane", "runtime", "modelserving", "modelservice", "inferenceservice"),
        default="control-plane",
        help="control-plane: components, Gateways, nodes and pods; "
        "runtime: what simulated vLLM pods suffer from; "
        "modelserving: roles of a ModelServing that come and go; "
        "modelservice: what the phase of a ModelService hides; "
        "inferenceservice: revisions of InferenceServices, and which of them serves "
        "(control-plane)",
    )
    parser.add_argument("--fast", action="store_true", help="shorten all waiting")
    parser.add_argument(
        "--keep", action="store_true", help="leave the sandbox and the daemon running at the end"
    )
    arguments = parser.parse(argv)

    from reporter.demo.main import run_demo

    return asyncio.run(run_demo(arguments.scenario, fast=arguments.fast, keep=arguments.keep))
