"""`status-reporter render`: what OtterScale's operator would create for a ModelService."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reporter.arguments import PROGRAM, Parser
from reporter.errors import UsageError
from reporter.model.text import is_label
from reporter.stacks.otterscale.manifests.operator import GKE, ISTIO, NONE, OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import unwanted, wanted
from reporter.stacks.otterscale.objects import ModelService
from reporter.stacks.otterscale.render.defaults import with_defaults
from reporter.stacks.otterscale.render.files import read_modelservices
from reporter.stacks.otterscale.render.manifest_text import json_text, yaml_text

_BOOL: Final = "BOOL"

FLAGS: Final = {
    "provider": (f"{ISTIO}|{GKE}|{NONE}", "the implementation of the Gateway"),
    "metrics_endpoint_auth": (_BOOL, "whether the endpoint picker's metrics need a token"),
    "default_gateway_name": (
        "NAME",
        "Gateway of a ModelService without spec.httpRoute; empty for no route",
    ),
    "default_engine_image": ("IMAGE", "image of vLLM, where spec.engine.image is empty"),
    "default_epp_image": ("IMAGE", "image of the endpoint picker, where none is named"),
    "default_routing_proxy_image": ("IMAGE", "image of the routing proxy, where none is named"),
    "kit_image": ("IMAGE", "image that unpacks the model; empty for no such step"),
    "tracing_enabled": (_BOOL, "whether endpoint picker and routing proxy send traces"),
    "tracing_otel_endpoint": ("URL", "endpoint that traces are sent to"),
    "tracing_sampler": ("NAME", "OpenTelemetry's sampler; empty for none"),
    "tracing_sampler_arg": ("TEXT", "argument of the sampler; empty for none"),
    "version": ("TEXT", "version of the operator, in labels; empty for no label"),
}
"""A flag for each setting of the operator, under the operator's own name for it: placeholder and
meaning. The operator has no flag for its version, which is built in.
"""

_FLAG_OF: Final = {"version": "--operator-version"}

_EPILOG: Final = """\
The script that unpacks the model is our own, unless a Deployment of the operator is among the
files: then the script of that Deployment is used.

What the operator would delete is listed at the end: as comments in YAML, on standard error with
-o json. Nothing is read from a cluster and nothing is written to one. To see what would change:

  status-reporter render -f modelservice.yaml | kubectl diff -f -

To hand over to the operator, or to take its place for a while (docs/modelservice.md):

  kubectl get modelservice NAME -o yaml | status-reporter render -f - | kubectl apply --server-side -f -
"""


def main(argv: Sequence[str]) -> int:
    """Print the manifests.

    Raises:
        UsageError: a file cannot be used, or a value is not allowed.

    """
    arguments = command_parser().parse(argv)
    if not arguments.filename:
        raise UsageError("nothing to render; name a file with -f, or - for standard input")
    if not arguments.namespace:
        raise UsageError("--namespace: it is empty; without the flag it is default")
    if not is_label(arguments.namespace):
        raise UsageError(f"--namespace: {arguments.namespace!r} is not a valid name of a namespace")
    operator = _operator(arguments)
    read = read_modelservices(arguments.filename, arguments.namespace)
    if read.scripts:
        ((script, _),) = Counter(sorted(read.scripts)).most_common(1)
        operator = replace(operator, unpack_script=script)
    documents = [
        with_defaults(each.document) for one in read.services for each in wanted(one, operator)
    ]
    deleted = [line for one in read.services for line in _deletions(one, operator)]
    for note in read.notes:
        sys.stderr.write(f"{PROGRAM}: {note}\n")
    if arguments.output == "json":
        sys.stdout.write(json_text(documents))
        sys.stderr.write("".join(f"{line}\n" for line in deleted))
    else:
        sys.stdout.write(yaml_text(documents))
        sys.stdout.write("".join(f"# {line}\n" for line in deleted))
    return 0


def command_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        "render",
        "Print what OtterScale's model operator creates for a ModelService, for kubectl.",
        _EPILOG,
        arguments="-f FILE [FLAGS]",
    )
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        default=[],
        help="file with ModelServices, YAML or JSON; a folder, or - for standard input; may be "
        "repeated",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        default="default",
        help="namespace of a ModelService that names none (default)",
    )
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="yaml or json (yaml)"
    )
    group = parser.add_argument_group("settings of the operator, as on its command line")
    for field, (placeholder, meaning) in FLAGS.items():
        _add_flag(group, field, placeholder, meaning=meaning)
    return parser


def _add_flag(
    group: argparse._ArgumentGroup, field: str, placeholder: str, *, meaning: str
) -> None:
    default = getattr(OperatorSettings(), field)
    if placeholder == _BOOL:
        shown = "true" if default else "false"
        group.add_argument(
            _flag_of(field), dest=field, nargs="?", const="true", default=shown,
            metavar=_BOOL, choices=("true", "false"), help=f"{meaning} ({shown})",
        )  # fmt: skip
        return
    group.add_argument(
        _flag_of(field),
        dest=field,
        default=default,
        metavar=placeholder,
        choices=placeholder.split("|") if "|" in placeholder else None,
        help=f"{meaning} ({default})" if default else meaning,
    )


def _flag_of(field: str) -> str:
    return _FLAG_OF.get(field, "--" + field.replace("_", "-"))


def _operator(arguments: argparse.Namespace) -> OperatorSettings:
    given = {field: getattr(arguments, field) for field in FLAGS}
    switches = {
        field: given[field] == "true" for field, (kind, _) in FLAGS.items() if kind == _BOOL
    }
    return OperatorSettings(**{**given, **switches})


def _deletions(service: ModelService, operator: OperatorSettings) -> list[str]:
    place = f"{service.namespace}/{service.name}"
    return [
        f"If these exist, the operator deletes them, for ModelService {place}:",
        *(f"  {each.ref}: {each.why}" for each in unwanted(service, operator)),
    ]
