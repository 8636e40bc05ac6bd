"""The subresources `scale`, and `log` (verb `get` only): tests write the logs of containers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from lab.sandbox.errors import DecodeError, bad_request, conflict, invalid, invalid_value
from lab.sandbox.objects import JSON, Object, dig, encode, meta, put_at, value_at
from lab.sandbox.operations import Operations
from lab.sandbox.requests import DEFAULT_OPTIONS, ResourceRequest, WriteOptions, is_true
from lab.sandbox.resources import Resource, ScalePaths
from lab.sandbox.storage import Stored


def scale_of(resource: Resource, obj: Object) -> Object:
    paths = resource.scale or ScalePaths()
    metadata = meta(obj)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": value_at(obj, paths.status_replicas) or 0}
    selector = value_at(obj, paths.selector) if paths.selector else None
    if isinstance(selector, dict):
        labels = dig(selector, "matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": value_at(obj, paths.replicas) or 0},
        "status": status,
    }


def change_scale(
    operations: Operations,
    at: ResourceRequest,
    change: Callable[[Object], JSON],
    *,
    options: WriteOptions = DEFAULT_OPTIONS,
) -> Stored:
    """Write through the scale subresource; `change` turns the current Scale into the wanted one.

    ApiError 409 for a stale version, 422 for negative replicas, 400 for a wrong type.
    """
    resource = at.resource
    stored = operations.find(at)
    obj = stored.decode(resource.api_version, resource.kind)
    wanted = change(scale_of(resource, obj))
    if not isinstance(wanted, dict):
        raise bad_request("the body of the request is not an object")
    version = dig(wanted, "metadata", "resourceVersion")
    if version and version != str(stored.version):
        raise conflict(resource.group, resource.plural, at.name)
    replicas = dig(wanted, "spec", "replicas") or 0
    if not isinstance(replicas, int):
        shown = encode(replicas).decode()
        field = "Go struct field ScaleSpec.spec.replicas of type int32"
        raise DecodeError("v1", "Scale", f"json: cannot unmarshal {shown} into {field}")
    if replicas < 0:
        error = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", at.name, errors=[error])
    patch: Object = {}
    put_at(patch, (resource.scale or ScalePaths()).replicas, replicas)
    whole, options = replace(at, subresource=""), replace(options, through="scale")
    return operations.patch(whole, "merge", patch, options=options)[0]


_Key = tuple[str, str, str, bool]

_UNLIMITED: Final = 2**31


class ContainerLogs:
    """The logs of containers, of the current and the previous run."""

    def __init__(self) -> None:
        self._texts: dict[_Key, str] = {}

    def write(
        self, namespace: str, pod: str, container: str, *, text: str, previous: bool = False
    ) -> None:
        self._texts[namespace, pod, container, previous] = text

    def read(self, namespace: str, pod: str, query: Mapping[str, str]) -> str:
        """Return a log, limited as the query asks; ApiError 400 if there was no previous run."""
        container, previous = query.get("container", ""), is_true(query.get("previous"))
        text = self._texts.get((namespace, pod, container, previous))
        if text is None and previous:
            raise bad_request(
                f'previous terminated container "{container}" in pod "{pod}" not found'
            )
        lines = (text or "").splitlines(keepends=True)
        tail = "".join(lines[-int(query.get("tailLines", _UNLIMITED)) :])
        return tail.encode()[: int(query.get("limitBytes", _UNLIMITED))].decode("utf-8", "ignore")
