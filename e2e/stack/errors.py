"""Errors of the played cluster."""

from http import HTTPStatus


class StackError(Exception):
    """The cluster cannot be played as requested; the message says what to do."""


class ApiError(StackError):
    """The API server refused a request.

    Attributes:
        code: HTTP status.
        reason: of the Status object, such as `NotFound`, or empty.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"the API server answered {code} {reason}: {message}")
        self.code = code
        self.reason = reason

    @property
    def not_found(self) -> bool:
        """Whether the object or its kind does not exist."""
        return self.code == HTTPStatus.NOT_FOUND

    @property
    def conflict(self) -> bool:
        """Whether the object has changed, was replaced, or exists already."""
        return self.code == HTTPStatus.CONFLICT
