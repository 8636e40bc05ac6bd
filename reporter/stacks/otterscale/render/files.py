"""ModelServices as users write them, in YAML or JSON, before an API server has seen them.

Values are refused here too that the API server refuses in what the operator makes. The rules are
those of pods (Kubernetes, pkg/apis/core/validation/validation.go, v1.34), of quantities
(k8s.io/apimachinery, pkg/api/resource/quantity.go) and of host names (Gateway API,
apis/v1/shared_types.go, v1.3).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.errors import UsageError
from reporter.model.objects import Deployment
from reporter.model.text import clean, cut, is_label, is_subdomain
from reporter.snapshot.documents import BrokenDocument, read_documents, sources_of
from reporter.snapshot.inputs.files import DumpError
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests.wanted import script_of
from reporter.stacks.otterscale.objects import (
    ACCELERATORS,
    GROUP_VERSION,
    KIND,
    ModelService,
    Resources,
)

_CAUSE_BYTES = 300
_PICKER_MODES = ("FailOpen", "FailClose")


@dataclass(frozen=True, slots=True)
class Read:
    """What the files hold.

    Attributes:
        scripts: by which Deployments of an operator among them unpack their models.

    """

    services: list[ModelService] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)


def read_modelservices(paths: Sequence[str], namespace: str) -> Read:
    """Read the ModelServices of files, of folders, and of standard input (`-`).

    Args:
        paths: where they are.
        namespace: for those that name none.

    Raises:
        UsageError: a file cannot be read, a ModelService is not valid, or there is none.

    """
    read = Read()
    others: Counter[str] = Counter()
    try:
        for document in read_documents(sources_of(paths)):
            if isinstance(document, BrokenDocument):
                raise UsageError(f"{document.source}: {document.cause}")
            for value in _objects(document.value, document.source):
                if value["kind"] == KIND:
                    _take(value, document.source, namespace=namespace, read=read)
                else:
                    others[clean(str(value["kind"]))] += 1
                    read.scripts.extend(_scripts(value))
    except DumpError as error:
        raise UsageError(str(error)) from None
    if not read.services:
        found = f", only {_counted(others)}" if others else ""
        raise UsageError(f"{', '.join(paths)}: there is no ModelService{found}")
    if others:
        read.notes.append(f"not rendered: {_counted(others)}")
    return read


def _scripts(value: dict[str, object]) -> Iterator[str]:
    """Yield the script of a serving Deployment; what is no Deployment as the API has it has none."""
    if value["kind"] != DEPLOYMENTS.kind:
        return
    try:
        script = script_of(msgspec.convert(value, Deployment))
    except (msgspec.ValidationError, RecursionError):
        return
    if script:
        yield script


def _counted(others: Counter[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(others.items()))


def _objects(value: object, source: str) -> Iterator[dict[str, object]]:
    """Yield the objects of a document: of a list its items; an empty document has none."""
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
    if value.get("apiVersion") != GROUP_VERSION:
        version = clean(str(value.get("apiVersion")))
        raise UsageError(
            f"{source}: a ModelService has the version {version}; only {GROUP_VERSION} is known"
        )
    written = _without_null(value)
    try:
        service = msgspec.convert(written, ModelService)
        wrong = next(_wrong(service), "")
    except (msgspec.ValidationError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        cause = cut(clean(wrong), _CAUSE_BYTES)
        raise UsageError(f"{source}: {_called(written)}: {cause}")
    metadata = service.metadata
    if not metadata.namespace:
        metadata = msgspec.structs.replace(metadata, namespace=namespace)
    placed = msgspec.structs.replace(service, metadata=metadata)
    if text := names.too_long(placed.name):
        read.notes.append(f"{_called(written)}: {text}")
    for path in _unknown(written.get("spec"), msgspec.to_builtins(service.spec), "spec"):
        read.notes.append(f"{_called(written)}: {clean(path)} is not a known field; ignored")
    read.services.append(placed)


def _wrong(service: ModelService) -> Iterator[str]:
    """Yield what is wrong and not in the types, because an object of a cluster may be newer than they are."""
    for path, value, allowed in (
        ("accelerator.type", service.spec.accelerator.type, ACCELERATORS),
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
        yield f"{service.namespace!r} is not a valid name of a namespace - at `$.metadata.namespace`"


def _called(written: dict[str, object]) -> str:
    metadata = written.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"ModelService {clean(str(name))}" if name else "a ModelService without a name"


def _without_null(value: dict[str, object]) -> dict[str, object]:
    """Return an object as the API server takes it: a field that is null has its default."""
    return {key: _pruned(each) for key, each in value.items() if each is not None}


def _pruned(value: object) -> object:
    if isinstance(value, dict):
        return _without_null(value)
    if isinstance(value, list):
        return [_pruned(each) for each in value]
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


def _refused(service: ModelService) -> Iterator[tuple[str, str]]:
    """Yield the path of what the API server would refuse and what is wrong, in the order of the fields."""
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


def _quantities(resources: Resources, path: str) -> Iterator[tuple[str, str]]:
    for group, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name, amount in (amounts or {}).items():
            if not _QUANTITY.fullmatch(str(amount)):
                yield f"{path}.{group}[{name}]", f"{amount!r} is no quantity, such as 500m or 8Gi"
            elif str(amount).startswith("-"):
                yield f"{path}.{group}[{name}]", f"{amount!r} is negative"
