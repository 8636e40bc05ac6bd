"""Query parameters of writes, and the handling of unknown fields."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aiohttp import hdrs

from lab.sandbox.errors import DecodeError, invalid_options, required_value, unsupported_value
from lab.sandbox.requests import is_true
from lab.sandbox.resources import Resource

_MAX_MANAGER = 128
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


@dataclass(slots=True)
class Problems:
    """Unknown or duplicate fields of a body, and how to treat them.

    Attributes:
        validation: Ignore, Warn or Strict, the query parameter fieldValidation.
        found: the problems to warn about.
    """

    validation: str = "Ignore"
    found: list[str] = field(default_factory=list)

    def add(self, resource: Resource, problems: Iterable[str]) -> None:
        """Add problems.

        Raises:
            DecodeError: there are problems and validation is strict.
        """
        self.found += [] if self.validation == "Ignore" else problems
        if self.found and self.validation == "Strict":
            why = f"strict decoding error: {', '.join(self.found)}"
            raise DecodeError(resource.version, resource.kind, why)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Query parameters of a write."""

    manager: str = "sandbox"
    force: bool = False
    dry_run: bool = False
    problems: Problems = field(default_factory=Problems)
    through: str = ""
    """A subresource for managedFields to name although the main resource is written."""


DEFAULT_OPTIONS = WriteOptions()


def read_write_options(
    query: Mapping[str, str], headers: Mapping[str, str], verb: str
) -> WriteOptions:
    """Parse the options of a request.

    Raises:
        ApiError: 422 for an unknown fieldValidation.
    """
    manager = query.get("fieldManager", "")
    if not manager:
        manager = headers.get(hdrs.USER_AGENT, "unknown").split("/")[0]
    return WriteOptions(
        manager=manager[:_MAX_MANAGER],
        force=is_true(query.get("force")),
        dry_run=is_dry_run(query),
        problems=Problems(_validation(query, verb)),
    )


def _validation(query: Mapping[str, str], verb: str) -> str:
    given = query.get("fieldValidation", "")
    if given not in _VALIDATIONS:
        error = unsupported_value("fieldValidation", given, _VALIDATIONS)
        raise invalid_options(f"{verb.capitalize()}Options", [error])
    return given or "Warn"


def is_dry_run(query: Mapping[str, str]) -> bool:
    """Return whether a request is a dry run, which stores nothing."""
    return query.get("dryRun") == "All"


def require_manager(query: Mapping[str, str]) -> None:
    """Refuse an apply without a field manager.

    Raises:
        ApiError: 422.
    """
    if not query.get("fieldManager"):
        raise invalid_options(
            "PatchOptions", [required_value("fieldManager", "is required for apply patch")]
        )
