"""Container logs as the kubelet would return them: `pods/log`, verb `get` only.

There are no containers, so tests write the logs.
"""

from collections.abc import Mapping
from typing import Final

from lab.sandbox.errors import bad_request
from lab.sandbox.requests import is_true

_Key = tuple[str, str, str, bool]

_UNLIMITED: Final = 2**31


class ContainerLogs:
    """The logs of containers, of the current and the previous run."""

    def __init__(self) -> None:
        self._texts: dict[_Key, str] = {}

    def write(
        self, namespace: str, pod: str, container: str, *, text: str, previous: bool = False
    ) -> None:
        """Set the log of a container."""
        self._texts[namespace, pod, container, previous] = text

    def read(self, namespace: str, pod: str, query: Mapping[str, str]) -> str:
        """Return a log, limited as the query asks.

        Raises:
            ApiError: 400 if there was no previous run.
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
