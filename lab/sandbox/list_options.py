"""Query parameters of lists and watches about versions."""

from collections.abc import Iterator, Mapping

from lab.sandbox.errors import (
    ApiError,
    FieldError,
    bad_request,
    forbidden_value,
    invalid_options,
    invalid_value,
    unsupported_value,
)

_MATCH = "resourceVersionMatch"
_MATCHES = ("Exact", "NotOlderThan")


def read_version(text: str) -> int:
    """Parse a resourceVersion of the query; 0 if it is missing.

    Raises:
        ApiError: 500 if it is not a number; gets and watches do not validate it before reading.
    """
    if not text:
        return 0
    if not text.isdecimal():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise ApiError(500, "", str(invalid_value("resourceVersion", text, why)))
    return int(text)


def read_uncached_version(text: str) -> int:
    """Parse a resourceVersion for a read from the storage, not from the cache.

    Raises:
        ApiError: 400 if it is not a number.
    """
    try:
        return read_version(text)
    except ApiError as error:
        raise bad_request(f"invalid resource version: {error.message}") from None


def check_options(query: Mapping[str, str], *, watch: bool) -> None:
    """Refuse query parameters that contradict each other.

    Raises:
        ApiError: 422.
    """
    errors = [*_unknown_match(query), *_contradictions(query, watch=watch)]
    if errors:
        raise invalid_options("ListOptions", errors)


def _unknown_match(query: Mapping[str, str]) -> Iterator[FieldError]:
    match = query.get(_MATCH, "")
    if match and match not in _MATCHES:
        yield unsupported_value(_MATCH, match, (*_MATCHES, ""))


def _contradictions(query: Mapping[str, str], *, watch: bool) -> Iterator[FieldError]:
    match, version = query.get(_MATCH, ""), query.get("resourceVersion", "")
    if "sendInitialEvents" in query:
        yield from _initial_events(match, watch=watch)
    elif not match:
        return
    elif watch:
        yield _forbidden_match("for watch unless sendInitialEvents is provided")
    elif query.get("continue"):
        yield _forbidden_match("when continue is provided")
    elif not version:
        yield _forbidden_match("unless resourceVersion is provided")
    elif match == "Exact" and version == "0":
        yield forbidden_value(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"')


def _initial_events(match: str, *, watch: bool) -> Iterator[FieldError]:
    if not watch:
        yield forbidden_value("sendInitialEvents", "sendInitialEvents is forbidden for list")
    elif match != "NotOlderThan":
        yield forbidden_value(
            _MATCH, f"sendInitialEvents requires setting {_MATCH} to NotOlderThan"
        )
        if match:
            yield unsupported_value(_MATCH, match, ("NotOlderThan",))


def _forbidden_match(when: str) -> FieldError:
    return forbidden_value(_MATCH, f"{_MATCH} is forbidden {when}")
