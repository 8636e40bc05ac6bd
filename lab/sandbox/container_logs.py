"""What the kubelet would give as the log of a container: `pods/log`, `get` alone.

There are no containers, so a log is what somebody said that a container said.
"""

from collections.abc import Mapping
from typing import Final

from lab.sandbox.errors import bad_request
from lab.sandbox.requests import is_true

_Key = tuple[str, str, str, bool]

_UNLIMITED: Final = 2**31


class ContainerLogs:
    """The logs of containers, of the run that goes on and of the one before."""

    def __init__(self) -> None:
        self._texts: dict[_Key, str] = {}

    def write(
        self, namespace: str, pod: str, container: str, *, text: str, previous: bool = False
    ) -> None:
        """Let a container have said something."""
        self._texts[namespace, pod, container, previous] = text

    def read(self, namespace: str, pod: str, query: Mapping[str, str]) -> str:
        """Return a log, cut as the query wants it.

        Raises:
            ApiError: 400 where there was no run before.
        """
        container, previous = query.get("container", ""), is_true(query.get("previous"))
        text = self._texts.get((namespace, pod, container, previous))
        if text is None and previous:
            raise bad_request(
                f'previous terminated container "{container}" in pod "{pod}" not found'
            )
        lines = (text or "").splitlines(keepends=True)
        tail = "".join(lines[-int(query.get("tailLines", _UNLIMITED)) :])
        return tail.encode()[: int(query.get("limitBytes", _UNLIMITED))].decode("utf-8", "ignore")
