"""`status-reporter render`: what OtterScale's operator would create for a ModelService."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec
import yaml

from reporter.arguments import PROGRAM, Parser
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.errors import UsageError
from reporter.model.objects import Deployment
from reporter.model.text import clean, cut, is_label, is_subdomain, json_text
from reporter.snapshot.documents import BrokenDocument, read_documents, sources_of
from reporter.snapshot.inputs.files import DumpError
from reporter.stacks.otterscale import objects as api
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import script_of, unwanted, wanted
from reporter.stacks.otterscale.operator_flags import OPERATOR_FLAGS, typed

_FLAG_OF: Final = {"version": "--operator-version"}

_EPILOG: Final = """\
The script that unpacks the model is our own, unless a Deployment of the operator is among the
files: then the script of that Deployment is used.

What the operator would delete is listed at the end: as comments in YAML, on standard error with
-o json. Nothing is read from a cluster and nothing is written to one. To see what would change:

  status-reporter render -f modelservice.yaml | kubectl diff -f -

To hand over to the operator, or to take its place for a while (docs/modelservice.md):

  kubectl get modelservice NAME -o yaml | status-reporter render -f - \\
    | kubectl apply --server-side -f -
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
    texts = {name: getattr(arguments, name) for name in OPERATOR_FLAGS}
    operator = OperatorSettings().over(typed(texts))
    read = read_modelservices(arguments.filename, arguments.namespace)
    if read.scripts:
        ((script, _),) = Counter(sorted(read.scripts)).most_common(1)
        operator = replace(operator, unpack_script=script)
    documents = [each.document for one in read.services for each in wanted(one, operator)]
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
    for name, flag in OPERATOR_FLAGS.items():
        default = getattr(OperatorSettings(), name)
        shown = str(default).lower() if flag.is_switch else default
        group.add_argument(
            _FLAG_OF.get(name, "--" + name.replace("_", "-")),
            dest=name,
            nargs="?" if flag.is_switch else None,
            const="true" if flag.is_switch else None,
            default=shown,
            metavar=flag.placeholder,
            choices=list(flag.choices) or None,
            help=f"{flag.meaning} ({shown})" if shown else flag.meaning,
        )
    return parser


_READ_OTHERWISE: Final = re.compile(r"[-+.]?[0-9]|[yYnN]\Z")
"""Text that other YAML parsers, but not PyYAML, read as a number or a boolean: `1e3`."""

_ENDS_A_LINE: Final = re.compile("[\x85\u2028\u2029]")
"""Line breaks of YAML 1.1, which only quotes preserve (yaml.org/spec/1.1, 5.4)."""


class _Dumper(yaml.SafeDumper):
    """Writes YAML as people do: indented lists, text over several lines, and no aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Write repeated values in full."""
        del data
        return True

    # The signature is PyYAML's.
    def increase_indent(
        self,
        flow: bool = False,  # noqa: FBT001, FBT002
        indentless: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
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


_CAUSE_BYTES = 300
_PICKER_MODES = ("FailOpen", "FailClose")


@dataclass(frozen=True, slots=True)
class Read:
    """The contents of files; `scripts`: with which the operator's Deployments unpack models."""

    services: list[api.ModelService] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)


def read_modelservices(paths: Sequence[str], namespace: str) -> Read:
    """Read the ModelServices of files, of folders, and of standard input (`-`).

    `namespace` is for those that name none. Raises UsageError if a file cannot be read, a
    ModelService is invalid, or there are none.
    """
    read = Read()
    others: Counter[str] = Counter()
    try:
        for document in read_documents(sources_of(paths)):
            if isinstance(document, BrokenDocument):
                raise UsageError(f"{document.source}: {document.cause}")
            for value in _objects(document.value, document.source):
                if value["kind"] == api.KIND:
                    _take(value, document.source, namespace=namespace, read=read)
                else:
                    others[clean(str(value["kind"]))] += 1
                    read.scripts.extend(filter(None, [_script(value)]))
    except DumpError as error:
        raise UsageError(str(error)) from None
    if not read.services:
        found = f", only {_counted(others)}" if others else ""
        raise UsageError(f"{', '.join(paths)}: there is no ModelService{found}")
    if others:
        read.notes.append(f"not rendered: {_counted(others)}")
    return read


def _script(value: dict[str, object]) -> str:
    """Return the script of a serving Deployment; empty if the Deployment is invalid."""
    try:
        is_deployment = value["kind"] == DEPLOYMENTS.kind
        return script_of(msgspec.convert(value, Deployment)) if is_deployment else ""
    except (msgspec.ValidationError, RecursionError):
        return ""


def _counted(others: Counter[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(others.items()))


def _objects(value: object, source: str) -> Iterator[dict[str, object]]:
    """Yield the objects of a document, or the items of a list; an empty document has no objects."""
    if value is None:
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise UsageError(f"{source}: a document is not a Kubernetes object")
    items = value.get("items")
    if value["kind"].endswith("List") and isinstance(items, list):
        for item in items:
            yield from _objects(item, source)
    else:
        yield value


def _take(value: dict[str, object], source: str, *, namespace: str, read: Read) -> None:
    if value.get("apiVersion") != api.GROUP_VERSION:
        version = clean(str(value.get("apiVersion")))
        raise UsageError(
            f"{source}: a ModelService has the version {version}; only {api.GROUP_VERSION} is known"
        )
    written = {key: _without_null(each) for key, each in value.items() if each is not None}
    try:
        service = msgspec.convert(written, api.ModelService)
        wrong = next(_wrong(service), "")
    except (msgspec.ValidationError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        cause = cut(clean(wrong), _CAUSE_BYTES)
        raise UsageError(f"{source}: {_called(written)}: {cause}")
    place = service.namespace or namespace
    metadata = msgspec.structs.replace(service.metadata, namespace=place)
    placed = msgspec.structs.replace(service, metadata=metadata)
    if text := names.too_long(placed.name):
        read.notes.append(f"{_called(written)}: {text}")
    for path in _unknown(written.get("spec"), msgspec.to_builtins(service.spec), "spec"):
        read.notes.append(f"{_called(written)}: {clean(path)} is not a known field; ignored")
    read.services.append(placed)


def _wrong(service: api.ModelService) -> Iterator[str]:
    """Yield the faults that the types accept, because objects of a cluster may be newer."""
    for path, value, allowed in (
        ("accelerator.type", service.spec.accelerator.type, api.ACCELERATORS),
        ("inferencePool.endpointPicker.failureMode", service.picker.failure_mode, _PICKER_MODES),
    ):
        if value not in allowed:
            yield f"{value!r} is not allowed - at `$.spec.{path}`; allowed: {', '.join(allowed)}"
    yield from (f"{text} - at `$.{path}`" for path, text in _refused(service))
    if not service.name:
        yield "it has no name - at `$.metadata.name`"
    if not is_subdomain(service.name):
        yield (
            f"{service.name!r} is not a valid name of an object: lower-case letters, digits, - and "
            "., 253 at most - at `$.metadata.name`"
        )
    if service.namespace and not is_label(service.namespace):
        fault = f"{service.namespace!r} is not a valid name of a namespace"
        yield f"{fault} - at `$.metadata.namespace`"


def _called(written: dict[str, object]) -> str:
    metadata = written.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"ModelService {clean(str(name))}" if name else "a ModelService without a name"


def _without_null(value: object) -> object:
    """Return a value as the API server reads it: a field that is null has its default."""
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_null(each) for each in value]
    return value


def _unknown(written: object, understood: object, path: str) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(understood, dict):
        for key, value in written.items():
            if key in understood:
                yield from _unknown(value, understood[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(written, list) and isinstance(understood, list | tuple):
        for index, (one, other) in enumerate(zip(written, understood, strict=True)):
            yield from _unknown(one, other, f"{path}[{index}]")


_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_QUANTITY: Final = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?", re.ASCII
)
_VARIABLE: Final = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
"""Names of environment variables since Kubernetes 1.34: printable ASCII without `=`."""

_ADDRESS: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", re.ASCII)


def _refused(service: api.ModelService) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each fault that the API server would refuse, in field order."""
    engine = service.spec.engine
    if engine.image_pull_policy and engine.image_pull_policy not in _PULL_POLICIES:
        allowed = ", ".join(_PULL_POLICIES)
        text = f"{engine.image_pull_policy!r} is not allowed; allowed: {allowed}"
        yield "spec.engine.imagePullPolicy", text
    for index, variable in enumerate(engine.env or ()):
        if not _VARIABLE.fullmatch(variable.name):
            text = f"{variable.name!r} can be no variable's name: printable ASCII without ="
            yield f"spec.engine.env[{index}].name", text
    roles = (("decode", service.spec.decode), ("prefill", service.spec.prefill))
    for name, role in roles:
        if role is not None:
            yield from _quantities(role.resources, f"spec.{name}.resources")
    if service.spec.inference_pool is not None:
        path = "spec.inferencePool.endpointPicker.resources"
        yield from _quantities(service.picker.resources, path)
    route = service.spec.http_route
    for index, host in enumerate((route.hostnames if route else None) or ()):
        name = host.removeprefix("*.")
        if not is_subdomain(name) or _ADDRESS.fullmatch(name):
            text = f"{host!r} can be no host name: lower-case, no address, * in front only"
            yield f"spec.httpRoute.hostnames[{index}]", text


def _quantities(resources: api.Resources, path: str) -> Iterator[tuple[str, str]]:
    for group, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name, amount in (amounts or {}).items():
            if not _QUANTITY.fullmatch(str(amount)):
                yield f"{path}.{group}[{name}]", f"{amount!r} is no quantity, such as 500m or 8Gi"
            elif str(amount).startswith("-"):
                yield f"{path}.{group}[{name}]", f"{amount!r} is negative"
