"""`status-reporter render`: what OtterScale's operator would create for a ModelService.

Server-side apply compares some fields as a whole. Where the operator made an object, the API server
has filled in defaults there; a manifest without them says another value and is refused as a
conflict (Kubernetes documentation, "Server-Side Apply", merge strategy). The object is the same
either way.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import yaml

from reporter.arguments import PROGRAM, Parser
from reporter.errors import UsageError
from reporter.model.text import is_label, json_text
from reporter.stacks.otterscale.manifests.names import GKE, ISTIO, NONE, OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import unwanted, wanted
from reporter.stacks.otterscale.render.files import read_modelservices

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
        _with_defaults(each.document) for one in read.services for each in wanted(one, operator)
    ]
    deleted: list[str] = []
    for one in read.services:
        place = f"{one.namespace}/{one.name}"
        deleted.append(f"If these exist, the operator deletes them, for ModelService {place}:")
        deleted += (f"  {each.ref}: {each.why}" for each in unwanted(one, operator))
    for note in read.notes:
        sys.stderr.write(f"{PROGRAM}: {note}\n")
    if arguments.output == "json":
        content = {"apiVersion": "v1", "kind": "List", "items": documents}
        sys.stdout.write(json_text(content) + "\n")
        sys.stderr.write("".join(f"{line}\n" for line in deleted))
    else:
        sys.stdout.write(yaml_text(documents))
        sys.stdout.write("".join(f"# {line}\n" for line in deleted))
    return 0


def command_parser() -> Parser:
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


_OF_ROUTES: Final[Mapping[str, dict[str, object]]] = {
    "parentRefs": {"group": "gateway.networking.k8s.io", "kind": "Gateway"},
    "backendRefs": {"weight": 1},
}
"""Of entries of these lists (Gateway API, apis/v1/shared_types.go)."""

_VERSION: Final = {"apiVersion": "v1"}


def _with_defaults(document: Mapping[str, object]) -> dict[str, object]:
    is_route = document["kind"] == "HTTPRoute"
    return {key: _filled(each, key, is_route=is_route) for key, each in document.items()}


def _filled(value: object, key: str, *, is_route: bool) -> object:
    if isinstance(value, Mapping):
        filled = {name: _filled(each, name, is_route=is_route) for name, each in value.items()}
        return {**_VERSION, **filled} if key == "fieldRef" else filled
    if isinstance(value, list | tuple):
        filled_items = [_filled(each, "", is_route=is_route) for each in value]
        defaults = _OF_ROUTES.get(key) if is_route else None
        if defaults is None:
            return filled_items
        return [{**defaults, **each} if isinstance(each, dict) else each for each in filled_items]
    return value


_READ_OTHERWISE: Final = re.compile(r"[-+.]?[0-9]|[yYnN]\Z")
"""Text that other parsers of YAML take for a number or a boolean, and PyYAML does not: `1e3`."""

_ENDS_A_LINE: Final = re.compile("[\x85\u2028\u2029]")
"""What ends a line in YAML 1.1, so that only quotes keep it (yaml.org/spec/1.1, 5.4)."""


class _Dumper(yaml.SafeDumper):
    """Writes as people do: lists indented, lines of text as lines, nothing by reference."""

    def ignore_aliases(self, data: object) -> bool:
        """Write everything out where it belongs."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002  # PyYAML's own
        del indentless
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if _ENDS_A_LINE.search(value):
        style = '"'
    elif "\n" in value:
        style = "|"
    elif _READ_OTHERWISE.match(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(documents: Iterable[Mapping[str, object]]) -> str:
    text: str = yaml.dump_all(
        map(dict, documents),
        Dumper=_Dumper,
        explicit_start=True,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )
    return text
