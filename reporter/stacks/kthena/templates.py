"""Whether two pod templates, or two lists of roles, say the same.

The controller writes a ControllerRevision from typed values, so zero values are left out there,
empty structs are spelled out and quantities are in canonical form, while the ModelServing holds
what its author wrote.
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
"""Key under which a template that is not kept whole has a digest of all that it says."""

_OF_QUANTITIES: Final = frozenset({"limits", "requests", "overhead"})
_ONE_OF_THEM: Final = "limits.*"
_DIVISOR: Final = "divisor"
_QUANTITIES: Final = frozenset({_ONE_OF_THEM, "sizeLimit", _DIVISOR})

_FREE_KEYS: Final = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})
"""Maps whose keys say something without a value, too: `nodeSelector: {gpu: ""}`."""

_POINTERS: Final = frozenset({
    "activeDeadlineSeconds", "allowPrivilegeEscalation", "automountServiceAccountToken",
    "defaultMode", "enableServiceLinks", "expirationSeconds", "fsGroup", "hostUsers", "mode",
    "optional", "priority", "privileged", "readOnlyRootFilesystem", "runAsGroup",
    "runAsNonRoot", "runAsUser", "setHostnameAsFQDN", "shareProcessNamespace",
    "terminationGracePeriodSeconds", "tolerationSeconds",
})  # fmt: skip
"""Fields of a PodSpec whose zero is kept, and says something else than their absence."""


def same_roles(ours: Sequence[Role], theirs: Sequence[Role]) -> bool:
    """Tell whether two lists of roles give the same revision.

    `replicas`, `maxUnavailable` and `partition` are no part of it; the order of the roles is.
    """
    return len(ours) == len(theirs) and all(map(same_role, ours, theirs))


def same_role(one: Role, other: Role) -> bool:
    """Tell whether two roles are the same apart from replicas, maxUnavailable and partition."""
    return (one.name, one.pods) == (other.name, other.pods) and all(
        bool(digest := _digest(ours)) and digest == _digest(theirs)
        for ours, theirs in (
            (one.entry_template, other.entry_template),
            (one.worker_template, other.worker_template),
        )
    )


def _digest(template: Template | None) -> str:
    """Return what is equal of templates that say the same; empty where one is nested too deeply."""
    if template and DIGEST in template:
        return str(template[DIGEST])
    try:
        return _sha256(_canonical(template))
    except RecursionError:
        return ""


def _sha256(value: object) -> str:
    return f"sha256:{hashlib.sha256(msgspec.json.encode(value, order='deterministic')).hexdigest()}"


def _canonical(value: object, key: str = "") -> object:
    """Return the one form of all values that say the same; None is what may as well be absent.

    `key` is what the value stands under; each entry of `limits` is a quantity of its own.
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
        # A divisor is a struct, so that Go spells its zero out.
        return None if key == _DIVISOR and not found else f"{found.normalize():f}"
    return value if value or key in _POINTERS else None


_KEPT: Final = ("containers", "initContainers")
_CONTAINERS: Final = 20
_CHARACTERS: Final = 500
_COMPARED_BYTES: Final = 256 * 1024
"""A larger template is the same only if it is written the same way: nothing walks all of it."""


def without_templates(obj: KubeObject) -> KubeObject:
    """Return a ModelServing or a ControllerRevision whose pod templates are names, images and a
    digest.

    What they say is compared and not read, and a megabyte of it would be twenty in memory.
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
    """Return the roles that a ControllerRevision keeps, None where they cannot be read."""
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
        key: [
            {
                name: value[:_CHARACTERS]
                for name in ("name", "image")
                if isinstance(value := container.get(name), str)
            }
            if isinstance(container, dict)
            else None
            for container in listed[:_CONTAINERS]
        ]
        for key in _KEPT
        if isinstance(spec, dict) and isinstance(listed := spec.get(key), list)
    }
    return {**({"spec": containers} if containers else {}), DIGEST: digest}
