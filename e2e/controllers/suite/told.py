"""What a controller wrote, held against the status that the reporter derives, and what was told."""

from typing import Any

from lab.sandbox.objects import Object
from tests.daemon.replica import Replica, until
from tests.daemon.stage import key_of

SETTLING = 10
"""Seconds for which controllers may be at work on a busy machine before anything is told."""

_TIMES = frozenset({"lastTransitionTime", "time"})


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return where a written status differs from what is derived of it, times left out."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key in ours
            if key not in _TIMES
            for line in differences(ours[key], theirs.get(key), f"{path}.{key}".lstrip("."))
        ]
    if path.endswith("conditions") and isinstance(ours, list) and isinstance(theirs, list):
        by_type = [{each["type"]: each for each in side} for side in (ours, theirs)]
        return differences(*by_type, path)
    return [] if ours == theirs else [f"{path}: derived {ours!r}, written {theirs!r}"]


class Model:
    """An object of a controller's kind, its status, and what is told of it."""

    def __init__(self, stage: Any, daemon: Replica, resource: str, obj: Object) -> None:
        self.stage = stage
        self.daemon = daemon
        self.resource = resource
        self.namespace = obj["metadata"]["namespace"]
        self.name = obj["metadata"]["name"]
        self.kind = obj["kind"]
        self.subject = f"{self.kind.lower()}/{self.namespace}/{self.name}"

    async def written(self) -> Object:
        """Return the status that the controller wrote."""
        found = await self.stage.api.get(self.resource, self.name, namespace=self.namespace)
        return (found or {}).get("status") or {}

    async def derived(self) -> Object:
        """Return the status that the report derives."""
        for each in (await self.daemon.report())["derived"]:
            if (each["kind"], each["namespace"], each["name"]) == (
                self.kind,
                self.namespace,
                self.name,
            ):
                return each["status"]
        return {}

    async def agrees(self) -> None:
        """Wait until what is derived is what was written."""

        async def same() -> bool:
            derived = await self.derived()
            found = differences(derived, await self.written())
            assert derived
            assert not found, found
            return True

        await until(same, f"{self.subject}: derived and written agree")

    async def condition(self, type_: str, status: str) -> None:
        """Wait until the controller says so."""

        async def says() -> bool:
            conditions = (await self.written()).get("conditions") or ()
            found = {each["type"]: each["status"] for each in conditions}
            assert found.get(type_) == status, conditions
            return True

        await until(says, f"{self.subject}: {type_} is {status}")

    async def state(self, wanted: str) -> None:
        """Wait until the model is in a state."""

        async def found() -> bool:
            subjects = (await self.daemon.report())["subjects"]
            states = [each["state"] for each in subjects if each["subject"] == self.subject]
            assert states == [wanted], states
            return True

        await until(found, f"{self.subject} is {wanted}")

    async def patch(self, patch: Object) -> None:
        """Merge a patch into it."""
        await self.stage.api.patch(self.resource, self.name, patch, namespace=self.namespace)

    async def fires(self, reason: str, *words: str) -> None:
        """Wait until this reason fires of it, alone, with these words."""
        event = await self._told(reason, "firing")
        for each in words:
            assert each in event["message"], event["message"]
        await self._alone((reason, self.subject))

    async def _told(self, reason: str, state: str) -> Any:
        try:
            return await self.stage.told(reason, self.subject, state=state)
        except AssertionError as error:
            found = (await self.daemon.report())["findings"]
            said = [f"{each['disposition']} {each['reason']}: {each['message']}" for each in found]
            raise AssertionError(
                f"{error}; findings {said}; status {await self.written()}"
            ) from None

    async def _alone(self, *keys: tuple[str, str]) -> None:
        events = await self.stage.events(state="firing")
        others = [each for each in events if each["type"] == "Warning" and key_of(each) not in keys]
        assert not others, [(each["reason"], each["message"]) for each in others]

    async def over(self, reason: str) -> None:
        """Wait until it is over, and nothing fires."""
        await self._told(reason, "over")
        await self._alone()
