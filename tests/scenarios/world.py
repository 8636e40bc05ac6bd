"""A small cluster written in YAML, and the Events that are written into it."""

import copy
import json
import re
from datetime import datetime, timedelta
from pathlib import Path

from reporter.catalogue.custom import WORKLOADS
from reporter.catalogue.resources import AUTOSCALERS, EVENTS, LEASES
from reporter.model.catalogue import Catalogue
from reporter.model.instant import Instant, rfc3339, rfc3339_micro
from reporter.model.report import SkippedObject
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot, with_held_leases
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from tests.tables import ALL
from tests.unit.probes.building import resources_of
from tests.yaml_files import load

FOLDER = Path(__file__).parent
PRESETS = load(FOLDER / "bases/presets.yaml")
COMPONENTS = load(FOLDER / "bases/components.yaml")
SCENARIOS = {path.stem: load(path)["cases"] for path in sorted(FOLDER.glob("*.yaml"))}
"""By the file that they are in."""
EVENT_LIFETIME = timedelta(hours=1)

_SPAN = re.compile(r"(\d+)(s|m|h|d)")
_MOMENT = re.compile(r"now(?:([+-])((?:\d+[smhd])+))?")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_KINDS = {each.kind for each in (*ALL, *WORKLOADS.values(), AUTOSCALERS, LEASES)} | {
    each["condition"]["kind"] for each in COMPONENTS.values() if "condition" in each
}
_KEDA_CRDS = {"clustertriggerauthentications.keda.sh"}


def span(text: str | int) -> timedelta:
    """`90s`, `1h30m`, or seconds."""
    if isinstance(text, int):
        return timedelta(seconds=text)
    parts = _SPAN.findall(text)
    if "".join(number + unit for number, unit in parts) != text.lstrip("-+"):
        raise ValueError(f"{text!r} is no span of time; write it like 90s or 1h30m")
    seconds = timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in parts))
    return -seconds if text.startswith("-") else seconds


class World:
    """Objects, how well each resource can be read, and our Events with their lifetime."""

    def __init__(
        self,
        base: str | list[str] | None,
        now: Instant,
        catalogue: Catalogue = BUILT_IN,
        *,
        age: timedelta = timedelta(days=7),
    ) -> None:
        self.objects = {}
        self.crds, self.names = set(), set()
        self.declare(catalogue)
        self.events = {}
        self.creations = []
        self.rewrites = []
        self.unknown, self.unconfirmed, self.absent = {}, set(), set()
        self.discovery = True
        self._version = 0
        self._later = []
        self._decoded = {}
        made = Instant(now.wall - age, now.boot)
        for each in [base] if isinstance(base, str) else base or ():
            self.change(load(FOLDER / f"bases/{each}.yaml"), made)

    def declare(self, catalogue: Catalogue) -> None:
        """Read what this catalogue needs; what earlier ones needed stays in the cluster."""
        self.declared = [
            *(each for each in catalogue.resources if each not in ALL),
            AUTOSCALERS,
            LEASES,
        ]
        self.resources = (*ALL, *self.declared)
        crds = {each.component.crd.name for each in catalogue.declared if each.component.crd}
        self.crds |= crds | _KEDA_CRDS | {str(each) for each in self.resources if each.custom}
        self.names |= {str(each) for each in self.resources}

    def change(self, changes, now: Instant) -> None:
        """Apply merge patches: `Kind [namespace/]name` to a patch, a preset's name, or null."""
        for key, patch in changes.items():
            kind, place = key.split(" ", 1)
            if kind not in _KINDS:
                raise ValueError(f"{kind} is no kind that is read or declared")
            if patch is None:
                self.objects.pop((kind, place))
                continue
            for part in self._parts(kind, patch):
                self._patch(kind, place, part, now)

    def _parts(self, kind, patch):
        parts = patch if isinstance(patch, list) else [patch]
        return [PRESETS[kind][each] if isinstance(each, str) else each for each in parts]

    def _patch(self, kind, place, patch, now: Instant) -> None:
        namespace, _, name = place.rpartition("/")
        fresh = {
            "metadata": {
                "name": name, "namespace": namespace, "creationTimestamp": rfc3339(now.wall),
                "uid": f"{kind}-{place}-{rfc3339(now.wall)}",
            }
        }  # fmt: skip
        known = self.objects.get((kind, place), fresh)
        self.objects[kind, place] = merged(known, copy.deepcopy(patch), now.wall)

    def mark(self, step) -> None:
        """Take over what a step says of how well the cluster can be read; it lasts."""
        if "unknown" in step:
            self.unknown = dict(step["unknown"])
        if "unconfirmed" in step:
            self.unconfirmed = set(step["unconfirmed"])
        if "absent" in step:
            self.absent = set(step["absent"])
        if "discovery" in step:
            self.discovery = step["discovery"]
        named = {*self.unknown, *self.unconfirmed, *self.absent} - {"all"}
        if not named <= self.names | self.crds:
            raise ValueError(f"{sorted(named - self.names - self.crds)}: no such resource")

    def snapshot(self, now: Instant) -> Snapshot:
        """The cluster as it is now."""
        self.catch_up(now)
        self._expire(now)
        tables, skipped = {}, []
        groups = {resource: [] for resource in self.resources}
        for (kind, _), doc in self.objects.items():
            for resource in resources_of({"kind": kind, **doc}, self.declared):
                groups[resource].append(doc)
        groups[EVENTS] += [doc for doc, _ in self.events.values()]
        for resource, docs in groups.items():
            decoded = self._as_a_watch_leaves_them(resource, docs)
            skipped += [each for each in decoded if isinstance(each, SkippedObject)]
            tables[resource] = table_of(
                each for each in decoded if not isinstance(each, SkippedObject)
            )
        served = frozenset(self.crds - self.absent) if self.discovery else None
        snapshot = Snapshot(
            tables=tables,
            states={resource: self._state(resource) for resource in self.resources},
            discovery=Discovery(served),
            skipped=tuple(skipped),
        )
        return with_held_leases(snapshot, now.wall)

    def _as_a_watch_leaves_them(self, resource, docs) -> list:
        """Decode documents; one that has not changed is the same object as before.

        So the answers of the pass before are used again, and each scenario sees what that misses.
        """
        known = self._decoded.get(resource, {})
        found = {
            id(doc): known.get(id(doc)) or (doc, decode_object(resource, json.dumps(doc).encode()))
            for doc in docs
        }
        self._decoded[resource] = found
        return [each for _, each in found.values()]

    def _state(self, resource) -> ResourceState:
        name = str(resource)
        confirmed = name not in self.unconfirmed and "all" not in self.unconfirmed
        if name in self.unknown:
            return ResourceState(Served.UNKNOWN, confirmed=confirmed, cause=self.unknown[name])
        served = Served.ABSENT if name in self.absent else Served.SERVED
        return ResourceState(served, confirmed=confirmed)

    def write(self, plan, now: Instant) -> None:
        """Do what the API server does with the planned writes, when each is due."""
        self._later = []
        for each in plan.writes:
            if each.due_in:
                self._later.append((now.after(each.due_in.total_seconds()), each))
            else:
                self._write(each, now)

    def _write(self, each, now: Instant) -> None:
        self._version += 1
        doc, _ = self.events.get(each.name, (None, now))
        if not each.resource_version:
            assert doc is None, f"Event {each.name} is created twice"
            doc = copy.deepcopy(each.body)
            doc["metadata"]["creationTimestamp"] = rfc3339(now.wall)
            self.creations.append(doc["reason"])
        else:
            assert doc is not None, f"Event {each.name} is patched and does not exist"
            assert doc["metadata"]["resourceVersion"] == each.resource_version
            before, doc = doc["message"], _merge(doc, each.body)
            if doc["message"] != before:
                self.rewrites.append(doc["reason"])
        doc["metadata"]["resourceVersion"] = str(self._version)
        assert len(doc["message"].encode()) <= 1024
        self.events[each.name] = (doc, now)

    def message(self, reason: str):
        """Return what the newest Event of a reason says."""
        return [doc["message"] for doc, _ in self.events.values() if doc["reason"] == reason][-1]

    def catch_up(self, now: Instant) -> None:
        """Write what was planned for a time that has come."""
        for due, each in self._later:
            if due.boot <= now.boot:
                self._write(each, due)
        self._later = [(due, each) for due, each in self._later if due.boot > now.boot]

    def _expire(self, now: Instant) -> None:
        self.events = {
            name: (doc, at)
            for name, (doc, at) in self.events.items()
            if now.boot - at.boot < EVENT_LIFETIME
        }

    def told(self) -> list[str]:
        """Return each Event as `reason subject state`, sorted; a Ready as `reason subject`."""
        lines = []
        for doc, _ in self.events.values():
            meta = doc["metadata"]
            state = meta["labels"]["status-reporter.io/state"]
            subject = meta["annotations"]["status-reporter.io/subject"]
            ready = doc["type"] == "Normal"
            lines.append(f"{doc['reason']} {subject}" + ("" if ready else f" {state}"))
        return sorted(lines)

    def primary(self) -> list[str]:
        """Return as `reason subject` the Events that are labelled primary, whatever their state."""
        return sorted(
            f"{doc['reason']} {doc['metadata']['annotations']['status-reporter.io/subject']}"
            for doc, _ in self.events.values()
            if doc["metadata"]["labels"]["status-reporter.io/primary"] == "true"
        )


def merged(known, patch, now: datetime):
    return _merge(known, _spelled_out(patch, known, now))


def _spelled_out(value, known, now: datetime):
    """Return a patch with moments resolved and conditions as the API has them."""
    known = known if isinstance(known, dict) else {}
    if isinstance(value, dict):
        result = {key: _spelled_out(each, known.get(key), now) for key, each in value.items()}
        if isinstance(value.get("conditions"), dict):
            result["conditions"] = _conditions(value["conditions"], known.get("conditions"), now)
        return result
    if isinstance(value, list):
        return [_spelled_out(each, None, now) for each in value]
    if isinstance(value, str) and (moment := _MOMENT.fullmatch(value)):
        sign, length = moment.groups()
        shift = span(length) if length else timedelta(0)
        return rfc3339(now - shift if sign == "-" else now + shift)
    if isinstance(value, datetime):
        return rfc3339_micro(value)
    return value


def _conditions(changed, known, now: datetime):
    """Return the list of conditions; the time moves where the status does, as the API's rule is."""
    conditions = {each["type"]: each for each in known or ()}
    for type_, said in changed.items():
        if said is None:
            conditions.pop(type_, None)
            continue
        if isinstance(said, str):
            status, _, rest = said.partition(" ")
            reason, _, message = rest.partition(" ")
            said = {"status": status, "reason": reason, "message": message}  # noqa: PLW2901
        before = conditions.get(type_, {})
        moved = before.get("status") != said["status"]
        since = rfc3339(now) if moved else before.get("lastTransitionTime")
        wanted = {"type": type_, "lastTransitionTime": since, **said}
        conditions[type_] = _spelled_out(wanted, None, now)
    return list(conditions.values())


def _merge(known, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(known) if isinstance(known, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), value)
    return result
