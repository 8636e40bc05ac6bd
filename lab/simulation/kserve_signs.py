"""How KServe and Knative read a pod, and how both keep conditions."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from lab.simulation.kserve_objects import KSERVE_CONTAINER, STORAGE_INITIALIZER, Object

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"

_CRASH_LOOP: Final = "CrashLoopBackOff"


def is_ready(pod: Object) -> bool:
    """True if a pod runs and is ready."""
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return status.get("phase") == "Running" and conditions.get("Ready") == TRUE


def serving_container(pod: Object) -> Object | None:
    """Return the status of the container that serves."""
    return _container(pod, "containerStatuses", KSERVE_CONTAINER)


def storage_initializer(pod: Object) -> Object | None:
    """Return the status of the container that fetches the model."""
    return _container(pod, "initContainerStatuses", STORAGE_INITIALIZER)


def is_running(container: Object) -> bool:
    """True if a container runs."""
    return bool((container.get("state") or {}).get("running"))


def waiting(container: Object) -> Object:
    """Return the waiting state of a container, or an empty one."""
    return dict((container.get("state") or {}).get("waiting") or {})


def last_end(container: Object) -> Object:
    """Return the last terminated state of a container, or an empty one."""
    return dict((container.get("lastState") or {}).get("terminated") or {})


def failed_end(container: Object) -> Object | None:
    """Return the failed end of a container that ended in Error or crash-loops, or None."""
    ended = (container.get("state") or {}).get("terminated")
    if ended:
        return dict(ended) if ended.get("reason") == "Error" else None
    return last_end(container) if waiting(container).get("reason") == _CRASH_LOOP else None


def _container(pod: Object, field: str, name: str) -> Object | None:
    statuses = (pod.get("status") or {}).get(field) or ()
    return next((each for each in statuses if each["name"] == name), None)


Said: TypeAlias = tuple[str, str, str]
"""Status, reason and message of a condition."""


class Conditions:
    """The conditions of an object while they are written, as Knative keeps them."""

    def __init__(self, stored: Sequence[Object], now: str, errors: frozenset[str]) -> None:
        """Start from the stored conditions; all types except `errors` get severity Info."""
        self._found = {each["type"]: each for each in stored}
        self._now = now
        self._errors = errors

    def status(self, type_: str) -> str:
        """Return the status of a condition, Unknown if it is missing."""
        return str(self._found.get(type_, {}).get("status", UNKNOWN))

    def get(self, type_: str) -> Object | None:
        """Return a condition."""
        return self._found.get(type_)

    def put_said(self, type_: str, said: Said) -> None:
        """Write a condition with its status, reason and message."""
        status, reason, message = said
        self.put(type_, status, reason, message=message)

    def put(self, type_: str, status: str, reason: str = "", *, message: str = "") -> None:
        """Write a condition; its time changes if any other field does."""
        wanted = {"type": type_, "status": status}
        wanted |= {"reason": reason} if reason else {}
        wanted |= {"message": message} if message else {}
        wanted |= {} if type_ in self._errors else {"severity": "Info"}
        before = self._found.get(type_, {})
        if {key: each for key, each in before.items() if key != "lastTransitionTime"} != wanted:
            self._found[type_] = {**wanted, "lastTransitionTime": self._now}

    def take_over(self, type_: str, condition: Object | None) -> None:
        """Copy a condition of another object; without one, ours stays."""
        if condition is not None:
            reason, message = condition.get("reason", ""), condition.get("message", "")
            self.put(type_, condition["status"], reason, message=message)

    def sum_up(self, parts: Sequence[str]) -> None:
        """Derive Ready from its parts: the first False one, else the first Unknown one."""
        for status in (FALSE, UNKNOWN):
            bad = next((each for each in parts if self.status(each) == status), None)
            if bad is not None:
                found = self._found.get(bad, {})
                said = (status, found.get("reason", ""), found.get("message", ""))
                self.put_said("Ready", said)
                return
        self.put("Ready", TRUE)

    def __iter__(self) -> Iterator[Object]:
        return (self._found[type_] for type_ in sorted(self._found))


def condition_of(obj: Object | None, type_: str) -> Object | None:
    """Return a condition of an object."""
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), None)
