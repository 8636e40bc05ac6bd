"""Which texts Kubernetes takes for names."""

import re
from typing import Final

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VERSION: Final = re.compile(r"v[1-9][0-9]{0,3}((alpha|beta)[1-9][0-9]{0,3})?")
_PLURAL: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")


def is_label(text: str) -> bool:
    """Tell whether it can be the name of a namespace: a DNS label."""
    return _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Tell whether it can be the name of most objects, or an API group: a DNS subdomain."""
    return _SUBDOMAIN.fullmatch(text) is not None


def is_crd_name(text: str) -> bool:
    """Tell whether it can be the name of a CustomResourceDefinition: `<plural>.<group>`."""
    plural, _, group = text.partition(".")
    return is_plural(plural) and "." in group and is_subdomain(text)


def is_label_key(text: str) -> bool:
    """Tell whether it can be the key of a label, or the type of a condition."""
    prefix, slash, name = text.rpartition("/")
    return _LABEL_NAME.fullmatch(name) is not None and (not slash or is_subdomain(prefix))


def is_label_value(text: str) -> bool:
    """Tell whether it can be the value of a label."""
    return not text or _LABEL_NAME.fullmatch(text) is not None


def is_version(text: str) -> bool:
    """Tell whether it can be the version of an API group."""
    return _VERSION.fullmatch(text) is not None


def is_plural(text: str) -> bool:
    """Tell whether it can be the name of a resource in URLs."""
    return _PLURAL.fullmatch(text) is not None


def is_kind(text: str) -> bool:
    """Tell whether it can be the name of a kind."""
    return _KIND.fullmatch(text) is not None
