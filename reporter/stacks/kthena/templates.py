"""Compares pod templates and lists of roles by their meaning.

The controller writes a ControllerRevision from typed values: it omits zero values, spells out empty
structs and writes quantities in canonical form. The ModelServing has what its author wrote.
"""

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import msgspec
from msgspec import structs

from reporter.model.objects import KubeObject
from reporter.model.quantity import quantity
from reporter.stacks.kthena.objects import ControllerRevision, ModelServing, Role, Template

DIGEST: Final = "rest"
"""The key of the whole template's digest in a template that is reduced."""

_OF_QUANTITIES: Final = frozenset({"limits", "requests", "overhead"})
_ONE_OF_THEM: Final = "limits.*"
_DIVISOR: Final = "divisor"
_QUANTITIES: Final = frozenset({_ONE_OF_THEM, "sizeLimit", _DIVISOR})

_FREE_KEYS: Final = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})
"""Maps whose keys mean something even without a value: `nodeSelector: {gpu: ""}`."""

_POINTERS: Final = frozenset({
    "activeDeadlineSeconds", "allowPrivilegeEscalation", "automountServiceAccountToken",
    "defaultMode", "enableServiceLinks", "expirationSeconds", "fsGroup", "hostUsers", "mode",
    "optional", "priority", "privileged", "readOnlyRootFilesystem", "runAsGroup",
    "runAsNonRoot", "runAsUser", "setHostnameAsFQDN", "shareProcessNamespace",
    "terminationGracePeriodSeconds", "tolerationSeconds",
})  # fmt: skip
"""Fields of a PodSpec whose zero is kept, and differs in meaning from an absent field."""


def same_roles(ours: Sequence[Role], theirs: Sequence[Role]) -> bool:
    """Return True if two lists of roles give the same revision.

    `replicas`, `maxUnavailable` and `partition` are not part of it; the order of the roles is.
    """
    return len(ours) == len(theirs) and all(map(same_role, ours, theirs))


def same_role(one: Role, other: Role) -> bool:
    """Return True if two roles are equal except for replicas, maxUnavailable and partition."""
    return (one.name, one.pods) == (other.name, other.pods) and all(
        bool(digest := _digest(ours)) and digest == _digest(theirs)
        for ours, theirs in (
            (one.entry_template, other.entry_template),
            (one.worker_template, other.worker_template),
        )
    )


def _digest(template: Template | None) -> str:
    """Return a digest that is equal for equivalent templates; empty if one is nested too deeply."""
    if template and DIGEST in template:
        return str(template[DIGEST])
    try:
        return _sha256(_canonical(template))
    except RecursionError:
        return ""


def _sha256(value: object) -> str:
    return f"sha256:{hashlib.sha256(msgspec.json.encode(value, order='deterministic')).hexdigest()}"


def _canonical(value: object, key: str = "") -> object:
    """Return the canonical form of equivalent values; None if the value may as well be absent.

    `key` is the key of the value; each entry of `limits` is a quantity of its own.
    """
    if isinstance(value, dict):
        if key in _FREE_KEYS:
            return value or None
        members = {
            str(name): _canonical(each, _ONE_OF_THEM if key in _OF_QUANTITIES else str(name))
            for name, each in value.items()
        }
        return {name: each for name, each in members.items() if each is not None} or None
    if isinstance(value, list) and value:
        return [_canonical(each) for each in value]
    if key in _QUANTITIES and value is not None:
        found = quantity(value)
        if not isinstance(found, Decimal):
            return found
        # A divisor is a struct, so Go spells out its zero.
        return None if key == _DIVISOR and not found else f"{found.normalize():f}"
    return value if value or key in _POINTERS else None


_KEPT: Final = ("containers", "initContainers")
_CONTAINERS: Final = 20
_CHARACTERS: Final = 500
_COMPARED_BYTES: Final = 256 * 1024
"""Larger templates are not walked: they are equal only if they are written the same way."""


def without_templates(obj: KubeObject) -> KubeObject:
    """Reduce the pod templates of a ModelServing or ControllerRevision to images and a digest.

    The rest is only compared, and a megabyte of it would take twenty in memory.
    """
    if isinstance(obj, ControllerRevision):
        roles = roles_in(obj.data)
        kept = None if roles is None else msgspec.to_builtins(tuple(map(_slim, roles)))
        return structs.replace(obj, data=kept)
    if not isinstance(obj, ModelServing) or not obj.roles:
        return obj
    template = structs.replace(obj.spec.template, roles=tuple(map(_slim, obj.roles)))
    return structs.replace(obj, spec=structs.replace(obj.spec, template=template))


def roles_in(data: object) -> tuple[Role, ...] | None:
    """Return the roles that a ControllerRevision keeps, or None if they cannot be read."""
    inner = data.get("data") if isinstance(data, dict) else data
    try:
        return msgspec.convert(inner, tuple[Role, ...])
    except (msgspec.ValidationError, RecursionError):
        return None


def _slim(role: Role) -> Role:
    entry, worker = _slim_template(role.entry_template), _slim_template(role.worker_template)
    return structs.replace(role, entry_template=entry, worker_template=worker)


def _slim_template(template: Template | None) -> Template | None:
    if not template or DIGEST in template:
        return template
    is_small = len(msgspec.json.encode(template)) <= _COMPARED_BYTES
    digest = _digest(template) if is_small else _sha256(template)
    spec = template.get("spec")
    containers = {
        key: [{"image": _image_of(each)} for each in listed[:_CONTAINERS]]
        for key in _KEPT
        if isinstance(spec, dict) and isinstance(listed := spec.get(key), list)
    }
    return {**({"spec": containers} if containers else {}), DIGEST: digest}


def _image_of(container: object) -> str | None:
    image = container.get("image") if isinstance(container, dict) else None
    return image[:_CHARACTERS] if isinstance(image, str) else None
