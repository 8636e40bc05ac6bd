"""Whether two pod templates, or two lists of roles, say the same.

The controller writes a ControllerRevision from typed values, so zero values are left out there,
empty structs are spelled out and quantities are in canonical form, while the ModelServing holds
what its author wrote.
"""

import hashlib
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import msgspec
from msgspec import structs

from reporter.model.objects import KubeObject
from reporter.stacks.kthena.objects import ControllerRevision, ModelServing, Role, Template

DIGEST: Final = "rest"
"""Key under which a template that is not kept whole has a digest of all that it says."""

_QUANTITY: Final = re.compile(r"([+-]?[0-9.]{1,40})([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?")
_SUFFIXES: Final = {
    "": Decimal(1),
    **{suffix: Decimal(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
_OF_QUANTITIES: Final = frozenset({"limits", "requests", "overhead"})
_ONE_OF_THEM: Final = "limits.*"
_DIVISOR: Final = "divisor"
_QUANTITIES: Final = frozenset({_ONE_OF_THEM, "sizeLimit", _DIVISOR})

_FREE_KEYS: Final = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})
"""Maps whose keys say something without a value, too: `nodeSelector: {gpu: ""}`."""

_POINTERS: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "allowPrivilegeEscalation",
        "automountServiceAccountToken",
        "defaultMode",
        "enableServiceLinks",
        "expirationSeconds",
        "fsGroup",
        "hostUsers",
        "mode",
        "optional",
        "priority",
        "privileged",
        "readOnlyRootFilesystem",
        "runAsGroup",
        "runAsNonRoot",
        "runAsUser",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
    }
)
"""Fields of a PodSpec whose zero is kept, and says something else than their absence."""


def same_roles(ours: Sequence[Role], theirs: Sequence[Role]) -> bool:
    """Tell whether two lists of roles give the same revision.

    `replicas`, `maxUnavailable` and `partition` are no part of it; the order of the roles is.
    """
    return len(ours) == len(theirs) and all(map(same_role, ours, theirs))


def same_role(one: Role, other: Role) -> bool:
    """Tell whether two roles are the same apart from replicas, maxUnavailable and partition."""
    if (one.name, one.pods) != (other.name, other.pods):
        return False
    return _same_template(one.entry_template, other.entry_template) and _same_template(
        one.worker_template, other.worker_template
    )


def _same_template(one: Template | None, other: Template | None) -> bool:
    if DIGEST in (one or {}) or DIGEST in (other or {}):
        return (digest_of(one) or object()) == digest_of(other)
    try:
        return _same(one, other)
    except RecursionError:
        return False


def digest_of(template: Template | None) -> str:
    """Return what is equal of templates that say the same; empty where one is nested too deeply."""
    if template and DIGEST in template:
        return str(template[DIGEST])
    try:
        canonical = msgspec.json.encode(_canonical(template), order="deterministic")
    except RecursionError:
        return ""
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def _canonical(value: object, key: str = "") -> object:
    """Return the one form of all values that `_same` holds for equal; None is what may as well be absent."""
    if isinstance(value, dict):
        if key in _FREE_KEYS:
            return value or None
        members = {str(name): _canonical(each, _key(name, key)) for name, each in value.items()}
        return {name: each for name, each in members.items() if each is not None} or None
    if isinstance(value, list) and value:
        return [_canonical(each) for each in value]
    if key in _QUANTITIES and value is not None:
        found = _quantity(value)
        if isinstance(found, Decimal):
            is_zero = key == _DIVISOR and not found
            return None if is_zero else f"{found.normalize():f}"
        return found
    return value if value or key in _POINTERS else None


def _same(one: object, other: object, key: str = "") -> bool:
    """Compare two values found under the same key, where what is absent is None."""
    if one == other:
        return True
    if isinstance(one or other, dict):
        return _same_maps(one or {}, other or {}, key)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if key == _DIVISOR:  # a struct, so that Go spells its zero out
        return _quantity(one or "0") == _quantity(other or "0")
    if key in _QUANTITIES:
        return _quantity(one) == _quantity(other)
    return key not in _POINTERS and not one and not other


def _same_maps(one: object, other: object, key: str) -> bool:
    if key in _FREE_KEYS or not isinstance(one, dict) or not isinstance(other, dict):
        return one == other
    return all(
        _same(one.get(name), other.get(name), _key(name, key)) for name in one.keys() | other.keys()
    )


def _key(name: object, parent: str) -> str:
    """Return what a value is known by: each entry of `limits` is a quantity of its own."""
    return _ONE_OF_THEM if parent in _OF_QUANTITIES else str(name)


def _quantity(value: object) -> object:
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return value
    number, suffix = found[1], found[2] or ""
    if number.count(".") > 1 or not any(map(str.isdigit, number)):
        return value
    if suffix in _SUFFIXES:
        return Decimal(number) * _SUFFIXES[suffix]
    return Decimal(number + suffix)


_KEPT: Final = ("containers", "initContainers")
_CONTAINERS: Final = 20
_CHARACTERS: Final = 500
_COMPARED_BYTES: Final = 256 * 1024
"""A template that is larger is the same only as one that is written the same way: nothing walks all of it."""


def without_templates(obj: KubeObject) -> KubeObject:
    """Return a ModelServing or a ControllerRevision whose pod templates are names, images and a digest.

    What they say is compared and not read, and a megabyte of it would be twenty in memory.
    """
    if isinstance(obj, ControllerRevision):
        return structs.replace(obj, data=_slim_data(obj.data))
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


def _slim_data(data: object) -> object:
    roles = roles_in(data)
    return None if roles is None else msgspec.to_builtins(tuple(map(_slim, roles)))


def _slim(role: Role) -> Role:
    return structs.replace(
        role,
        entry_template=_slim_template(role.entry_template),
        worker_template=_slim_template(role.worker_template),
    )


def _slim_template(template: Template | None) -> Template | None:
    if not template or DIGEST in template:
        return template
    written = msgspec.json.encode(template, order="deterministic")
    if len(written) > _COMPARED_BYTES:
        digest = f"sha256:{hashlib.sha256(written).hexdigest()}"
    else:
        digest = digest_of(template)
    spec = template.get("spec")
    containers = {
        key: [_named(each) for each in listed[:_CONTAINERS]]
        for key in _KEPT
        if isinstance(spec, dict) and isinstance(listed := spec.get(key), list)
    }
    return {**({"spec": containers} if containers else {}), DIGEST: digest}


def _named(container: object) -> object:
    if not isinstance(container, dict):
        return None
    return {
        key: each[:_CHARACTERS]
        for key in ("name", "image")
        if isinstance(each := container.get(key), str)
    }
