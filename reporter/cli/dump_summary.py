"""What is said of a dump that was written: where it is, what is in it, and what is not."""

from collections import defaultdict
from pathlib import Path

from reporter.kube.collecting import Collection
from reporter.model.text import clean
from reporter.snapshot.snapshot import Served


def summary(collection: Collection, path: Path, pages: int | None) -> str:
    """Return a few lines for whoever made the dump; `pages` is None where none were asked for."""
    objects = sum(map(len, collection.objects.values()))
    kinds = sum(bool(each) for each in collection.objects.values())
    size = max(1, path.stat().st_size // 1024)
    lines = [f"{path}: {objects} objects of {kinds} kinds, {size} KiB."]
    if pages is not None:
        lines.append(f"{pages} pages of metrics." if pages else "No page of metrics could be had.")
    lines += [f"Not read, {each}." for each in _causes(collection)]
    lines.append(f"Look at it: status-reporter check --from {path}")
    return "\n".join(lines) + "\n"


def unread(collection: Collection) -> str:
    """Say in one line what could not be read, and why."""
    return "; ".join(_causes(collection))


def _causes(collection: Collection) -> list[str]:
    """Return for each cause why something could not be read what it was."""
    by_cause: dict[str, list[str]] = defaultdict(list)
    for resource, state in collection.states.items():
        if state.served is Served.UNKNOWN:
            by_cause[state.cause].append(str(resource))
    return [
        f"{clean(cause)}: {', '.join(sorted(set(names)))}"
        for cause, names in sorted(by_cause.items())
    ]
