"""Field ownership: server-side apply, and the bookkeeping for every other write.

The problem: the reporter's own writes depend on ownership. Two writers of one status, a PUT that
erases applied fields, a conflict that names a manager: a server that treats apply as a merge patch
shows none of these.

What exists: the algorithm is the Go library sigs.k8s.io/structured-merge-diff, which has no Python
port. kmock 0.8 merges and keeps no managedFields. A real kube-apiserver needs etcd and two large
programs; the end-to-end tests use one, but `demo` and unit tests cannot.

The choice: ownership as sets of paths. `fieldsets` says which lists are maps, sets or atomic, and
turns an object into the paths of its leaves, with the keys of FieldsV1. Then the rules of the
Kubernetes documentation ("Server-Side Apply") are unions and differences:

* A write other than an apply owns the fields that it changed, and takes them from all other
  managers (`track_update`).
* An apply merges, and conflicts with managers of fields that would change. Fields that it applied
  before, omits now and nobody else owns are removed (`apply`).

What fails:

* Removing a map when its owner omits it: others may own fields in it, so every prefix of an owned
  path stays.
* Treating every field of another manager as a conflict: with equal values, both own it.
* Renewing the time of an entry on every apply: an apply that changes nothing must not give a new
  resource version, so an entry stays as it is while its paths are the same.
* Appending new items to a list of maps: the order of the configuration counts, and other items keep
  their place (`_merge_items`).

Compared with recorded answers of kube-apiserver in tests/api_behaviour.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from lab.sandbox.errors import ApiError
from lab.sandbox.fieldsets import (
    Leaves,
    ListType,
    Manager,
    Path,
    TypeWalker,
    key_element,
    leaves,
    read_managers,
    readable,
    value_element,
)
from lab.sandbox.objects import JSON, Object, copy_json, meta


def track_update(new: Object, old: Object | None, writer: Manager, *, walker: TypeWalker) -> None:
    """Set managedFields of `new` after a write other than an apply."""
    given = meta(new).get("managedFields")
    # Omitting the list keeps it; an empty list resets it.
    managers = read_managers(new if given is not None or old is None else old)
    before = leaves(old, walker, containers=True) if old is not None else {}
    after = leaves(new, walker, containers=True)
    changed, removed = _compare(before, after)
    mine = next((item for item in managers if item.writer == writer.writer), None)
    others = [item.without(changed | removed, writer.time) for item in managers if item is not mine]
    paths = ((mine.paths if mine else frozenset()) | changed) - removed
    kept = mine if mine is not None and paths == mine.paths else replace(writer, paths=paths)
    _write(new, [*others, kept])


def apply(
    live: Object | None, config: Object, writer: Manager, *, walker: TypeWalker, force: bool
) -> Object:
    """Return the result of a server-side apply to the live object.

    Raises:
        ApiError: 409 if another manager owns a field whose value would change.
    """
    wanted = leaves(config, walker)
    if live is None:
        created: Object = copy_json(config)
        _write(created, [replace(writer, paths=frozenset(wanted))])
        return created
    managers = read_managers(live)
    mine = next((item for item in managers if item.writer == writer.writer), None)
    others = [item for item in managers if item is not mine]
    before = leaves(live, walker)
    merged: Object = _merge(live, config, walker, field="")
    changed, _ = _compare(before, leaves(merged, walker))
    # Remove fields that this manager applied before, omits now, and nobody else owns. A map or list
    # stays while it has any content.
    owned = chain(wanted, *(other.paths for other in others))
    needed = {path[:end] for path in owned for end in range(1, len(path) + 1)}
    dropped = (mine.paths if mine else frozenset()) - needed
    if dropped:
        _prune(merged, dropped, walker)
    conflicts = [(each, sorted(each.paths & changed)) for each in others if each.paths & changed]
    if conflicts and not force:
        raise _conflict(conflicts)
    _, removed = _compare(
        leaves(live, walker, containers=True), leaves(merged, walker, containers=True)
    )
    others = [item.without(changed | removed, writer.time) for item in others]
    paths = frozenset(wanted)
    kept = mine if mine is not None and mine.paths == paths else replace(writer, paths=paths)
    _write(merged, [*others, kept])
    return merged


def _write(obj: Object, managers: Iterable[Manager]) -> None:
    meta(obj).pop("managedFields", None)
    if entries := [each.entry() for each in sorted(managers, key=_order) if each.paths]:
        meta(obj)["managedFields"] = entries


def _order(manager: Manager) -> tuple[str, ...]:
    """Sort appliers before updaters, then by time."""
    return (manager.operation, manager.time, manager.name, manager.api_version, manager.subresource)


def _compare(before: Leaves, after: Leaves) -> tuple[frozenset[Path], frozenset[Path]]:
    changed = frozenset(
        path for path, value in after.items() if path not in before or before[path] != value
    )
    return changed, frozenset(before.keys() - after.keys())


def _conflict(conflicts: list[tuple[Manager, list[Path]]]) -> ApiError:
    causes = []
    parts = []
    for manager, paths in conflicts:
        version = manager.api_version
        subresource = f' with subresource "{manager.subresource}"' if manager.subresource else ""
        using = f" using {version}" if manager.operation == "Update" else ""
        who = f'"{manager.name}"{subresource}{using}'
        fields = [readable(path) for path in paths]
        why = {"reason": "FieldManagerConflict", "message": f"conflict with {who}"}
        causes += [{**why, "field": field} for field in fields]
        if len(fields) == 1:
            parts.append(f"conflict with {who}: {fields[0]}")
        else:
            parts.append(f"conflicts with {who}:" + "".join(f"\n- {field}" for field in fields))
    count = len(causes)
    message = f"Apply failed with {count} conflict{'s' * (count > 1)}: " + "\n".join(parts)
    return ApiError(409, "Conflict", message, details={"causes": causes})


def _merge(live: JSON, config: JSON, walker: TypeWalker, *, field: str) -> JSON:
    if isinstance(config, dict) and isinstance(live, dict) and not walker.is_atomic_map():
        merged = dict(live)
        for name, value in config.items():
            merged[name] = _merge(live.get(name), value, walker.child(name), field=name)
        return merged
    if isinstance(config, list) and isinstance(live, list):
        kind = walker.list_type(field)
        if kind.is_set:
            return live + [item for item in config if item not in live]
        if kind.keys:
            return _merge_items(live, config, walker.item(), kind=kind)
    return copy_json(config)


def _merge_items(
    live: list[JSON], config: list[JSON], inner: TypeWalker, *, kind: ListType
) -> list[JSON]:
    """Merge lists of maps: the config's items in its order, other items at their old places."""
    theirs = {key_element(item, kind, inner): item for item in live}
    ours = {key_element(item, kind, inner): item for item in config}
    left, wanted = deque(theirs), deque(ours)
    shared = deque(key for key in ours if key in theirs)
    taken: set[str] = set()
    merged: list[JSON] = []
    while left or wanted:
        key = left[0] if left else ""
        if left and key not in ours:
            merged.append(theirs[left.popleft()])
        elif left and shared and key != shared[0]:
            left.popleft()  # the config moves it to another place
        else:
            if left and (key in taken or key == wanted[0]):
                left.popleft()
            if wanted:
                key = wanted.popleft()
                taken.add(key)
                if shared and shared[0] == key:
                    shared.popleft()
                merged.append(_merge(theirs.get(key), ours[key], inner, field=""))
    return merged


def _prune(obj: Object, dropped: Iterable[Path], walker: TypeWalker) -> None:
    # Shortest first: remove a list item while the keys that identify it are still there.
    for path in sorted(dropped, key=len):
        _drop(obj, path, walker, field="")


def _drop(node: JSON, path: Path, walker: TypeWalker, *, field: str) -> None:
    element, rest = path[0], path[1:]
    if element.startswith("f:") and isinstance(node, dict):
        name = element[2:]
        if name not in node:
            return
        if not rest:
            del node[name]
            return
        # The merged object shares unchanged parts with the live object.
        node[name] = child = _shallow(node[name])
        _drop(child, rest, walker.child(name), field=name)
        if child in ({}, []):
            del node[name]
    elif isinstance(node, list):
        kind = walker.list_type(field)
        inner = walker.item()
        for index, item in enumerate(node):
            found = value_element(item) if kind.is_set else key_element(item, kind, inner)
            if found == element:
                if not rest:
                    del node[index]
                else:
                    node[index] = copied = _shallow(item)
                    _drop(copied, rest, inner, field="")
                return


def _shallow(value: JSON) -> JSON:
    return value.copy() if isinstance(value, dict | list) else value
