"""ObjectMeta: the fields that the server sets, and validation."""

import random
import re
import uuid
from collections.abc import Callable

import msgspec

from lab.sandbox.errors import FieldError, forbidden_value, invalid_value, required_value
from lab.sandbox.objects import JSON, Object, format_time, meta

_LABEL = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_QUALIFIED_NAME = re.compile("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(f"({_QUALIFIED_NAME.pattern})?")
_MAX_SUBDOMAIN = 253
_MAX_LABEL = 63
_GENERATED_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_LENGTH = 5
_MAX_GENERATED_BASE = _MAX_LABEL - _GENERATED_LENGTH

# Names for pods and the like are not secrets; a private generator keeps seeded tests apart.
_random = random.Random()  # noqa: S311


def generate_name(base: str) -> str:
    suffix = "".join(_random.choices(_GENERATED_ALPHABET, k=_GENERATED_LENGTH))
    return base[:_MAX_GENERATED_BASE] + suffix


def fill_on_create(obj: Object, *, now: float, generation: bool, keep: bool = False) -> None:
    """Set the system's fields; `keep` preserves uid and creationTimestamp of a loaded object."""
    metadata = meta(obj)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generate_name(str(metadata["generateName"]))
    if keep:
        metadata.setdefault("uid", str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", format_time(now))
    else:
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = format_time(now)
        metadata.pop("deletionTimestamp", None)
        metadata.pop("deletionGracePeriodSeconds", None)
    metadata.pop("selfLink", None)
    if not generation:
        metadata.pop("generation", None)
    elif not keep or not metadata.get("generation"):
        metadata["generation"] = 1


_SET_BY_SERVER = (
    "uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip


def carry_over(new: Object, old: Object) -> None:
    """Copy the fields from the stored object that an update cannot change but may omit."""
    target, source = meta(new), meta(old)
    for name in ("generation", "deletionTimestamp", "deletionGracePeriodSeconds"):
        target.pop(name, None)
    for name in _SET_BY_SERVER:
        if name in source and not target.get(name):
            target[name] = source[name]
        elif name not in source:
            target.pop(name, None)
    target.pop("selfLink", None)


NameRule = Callable[[str], list[str]]


def _says(what: str, examples: str, pattern: str) -> str:
    ends = "must start and end with an alphanumeric character"
    return f"{what}, and {ends} (e.g. {examples}, regex used for validation is '{pattern}')"


def _rule(
    what: str, examples: str, pattern: re.Pattern[str], *, longest: int = _MAX_LABEL
) -> NameRule:
    """Return a rule; a name that does not match is told what names consist of, with examples."""
    text = _says(what, examples, pattern.pattern)

    def errors(name: str) -> list[str]:
        too_long = [f"must be no more than {longest} bytes"] if len(name) > longest else []
        return too_long + ([] if pattern.fullmatch(name) else [text])

    return errors


subdomain_errors = _rule(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'",
    "'example.com'",
    _SUBDOMAIN,
    longest=_MAX_SUBDOMAIN,
)
label_errors = _rule(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
    "'my-name',  or '123-abc'",
    _LABEL,
)
label_value_errors = _rule(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'",
    "'MyValue',  or 'my_value',  or '12345'",
    _LABEL_VALUE,
)
_QUALIFIED = _says(
    "must consist of alphanumeric characters, '-', '_' or '.'",
    "'MyName',  or 'my.name',  or '123-abc'",
    _QUALIFIED_NAME.pattern,
)


def path_segment_errors(name: str) -> list[str]:
    if name in {".", ".."}:
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]


def qualified_name_errors(name: str) -> list[str]:
    """Return why a text is not a qualified name: an optional DNS subdomain and `/`, and a name."""
    errors: list[str] = []
    prefix, slash, local = name.rpartition("/")
    if "/" in prefix:
        return [f"a qualified name {_QUALIFIED} with an optional DNS subdomain prefix and '/'"]
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in subdomain_errors(prefix)]
    if not local:
        errors.append("name part must be non-empty")
    elif len(local) > _MAX_LABEL:
        errors.append(f"name part must be no more than {_MAX_LABEL} bytes")
    if not _QUALIFIED_NAME.fullmatch(local):
        errors.append(f"name part {_QUALIFIED}")
    return errors


def validate(obj: Object, rule: NameRule, *, namespaced: bool) -> list[FieldError]:
    metadata = meta(obj)
    name = str(metadata.get("name") or "")
    errors = []
    if not name:
        errors.append(required_value("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid_value("metadata.name", name, text) for text in rule(name)]
    if namespaced and not metadata.get("namespace"):
        errors.append(required_value("metadata.namespace"))
    labels, annotations = _string_map(metadata, "labels"), _string_map(metadata, "annotations")
    rows = [
        *(("labels", key, qualified_name_errors(key)) for key in labels),
        *(("labels", value, label_value_errors(value)) for value in labels.values()),
        *(("annotations", key, qualified_name_errors(key.lower())) for key in annotations),
        *(("finalizers", f, qualified_name_errors(f)) for f in metadata.get("finalizers") or ()),
    ]
    for name, value, texts in rows:
        errors += [invalid_value(f"metadata.{name}", value, text) for text in texts]
    return errors


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """Validate the changes that an update makes to the metadata."""
    before, after = meta(old), meta(new)
    errors = [
        invalid_value(f"metadata.{name}", after.get(name), "field is immutable")
        for name in ("name", "namespace", "uid", "creationTimestamp")
        if after.get(name) != before.get(name)
    ]
    if before.get("deletionTimestamp"):
        kept = before.get("finalizers") or []
        added = [item for item in after.get("finalizers") or [] if item not in kept]
        if added:
            shown = ", ".join(f'"{item}"' for item in added)
            found = f"found new finalizers []string{{{shown}}}"
            why = "no new finalizers can be added if the object is being deleted"
            errors.append(forbidden_value("metadata.finalizers", f"{why}, {found}"))
    return errors


class _ObjectMeta(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None
    generate_name: str | None = msgspec.field(name="generateName", default=None)
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None


class _Typed(msgspec.Struct):
    metadata: _ObjectMeta | None = None


class _ConfigMap(_Typed):
    data: dict[str, str | None] | None = None


def type_error(kind: str, obj: Object) -> str:
    """Return what is wrong about the types of metadata or of a ConfigMap's data, or nothing."""
    try:
        msgspec.convert(obj, _ConfigMap if kind == "ConfigMap" else _Typed)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _string_map(metadata: Object, name: str) -> dict[str, str]:
    found: JSON = metadata.get(name)
    return found if isinstance(found, dict) else {}
