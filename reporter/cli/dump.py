"""`status-reporter dump`: what `check` would read from the live cluster, in one archive.

The archive has a list for each resource that was read, and the reasons why others were not.
"""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reporter import __version__
from reporter.arguments import Parser
from reporter.catalogue.resources import GATEWAYS, NAMESPACES, NODES, PODS
from reporter.cli.configure import EPILOG, ProgramSettings, add_setting_flags, settings_from
from reporter.errors import UsageError
from reporter.kube.collecting import Collection, ListedPages, collect
from reporter.kube.errors import ApiStatusError, KubeError
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.text import clean
from reporter.snapshot.outputs.archive import DumpHeader, Json, Member, create, write_archive
from reporter.snapshot.outputs.masking import (
    Masking,
    Redaction,
    Vocabulary,
    learn_objects,
    vocabulary,
)
from reporter.snapshot.snapshot import FORBIDDEN, Served

if TYPE_CHECKING:
    from reporter.cli.saved_pages import DumpedPage


_LONGEST_SECONDS: Final = 3600
_LISTED_SECONDS: Final = 300.0
"""Longest time for all lists: what a dump lacks is unknown."""

_SUFFIXES: Final = (".tgz", ".tar.gz")
_DESCRIPTION: Final = """\
Collect what `check` reads from the live cluster, and nothing else, in one archive to share.
Nothing is written to the cluster. Values of the environment, Secrets and tokens are left out; \
managed fields keep only who wrote them and when."""
_EXAMPLES: Final = (
    ("status-reporter dump", "an archive in the current folder, for your eyes alone"),
    ("status-reporter dump -o FILE.tgz --redact", "with other names, to share"),
    ("status-reporter dump -n chat-models --metrics 600", "with ten minutes of model pods' pages"),
    ("status-reporter check FILE.tgz", "what is wrong there"),
)


def main(argv: Sequence[str]) -> int:
    arguments = command_parser().parse(argv)
    settings = settings_from(arguments)
    path = _path(arguments.output, datetime.now(UTC))
    seconds, namespace = _seconds(arguments.metrics), arguments.namespace or ""
    sys.stdout.write(_collect(settings, path, namespace, seconds=seconds, redact=arguments.redact))
    return 0


def command_parser() -> Parser:
    parser = Parser("dump", _DESCRIPTION, EPILOG, examples=_EXAMPLES)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.tgz",
        help="the archive; by default status-reporter-dump-<time>.tgz in the current folder. An "
        "existing file is never overwritten",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="replace the names of namespaces, objects, nodes, images and hosts consistently; the "
        "findings stay the same",
    )
    parser.add_argument(
        "--metrics",
        metavar="SECONDS",
        help="also fetch the pages of model pods through the API server, every 15 s for this long; "
        "600 is enough for every reason that depends on them",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        help="only this namespace: nothing else is read, so rights there are enough",
    )
    add_setting_flags(parser, daemon=False)
    return parser


def _path(output: str | None, now: datetime) -> Path:
    path = Path(output or f"status-reporter-dump-{now:%Y%m%dT%H%M%SZ}.tgz")
    if not path.name.endswith(_SUFFIXES):
        raise UsageError(f"-o: {output!r} is not allowed; allowed: a name that ends with .tgz")
    if path.exists():
        raise UsageError(f"{path} already exists; name another file with -o, or remove it")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder")
    return path


def _collect(
    settings: ProgramSettings, path: Path, namespace: str, *, seconds: float, redact: bool
) -> str:
    from reporter.cli.saved_pages import learn_pages, members_of_pages
    from reporter.daemon import logs

    logs.configure("error")
    try:
        collection, pages = asyncio.run(_read(settings, namespace, seconds))
    except KubeError as error:
        raise UsageError(str(error)) from None
    _require_objects(collection)
    now = datetime.now(UTC)
    redaction = redaction_of(collection, vocabulary(_given(settings))) if redact else None
    if redaction:
        learn_pages(redaction, pages)
    documents = _documents(collection, now, redaction).items()
    members = [Member.of_documents(name, each) for name, each in documents]
    members += members_of_pages(pages, redaction)
    _write(path, members, now)
    return summary(collection, path, len(pages) if seconds else None)


def _require_objects(collection: Collection) -> None:
    if not collection.objects:
        refused = any(state.cause == FORBIDDEN for state in collection.states.values())
        hint = "; with rights in one namespace only: -n NAMESPACE"
        less = hint if refused and not collection.namespace else ""
        raise UsageError(f"nothing could be read; {'; '.join(_causes(collection))}{less}")
    if collection.namespace and collection.objects.get(NAMESPACES) == []:
        raise UsageError(f"there is no namespace {clean(collection.namespace)}; see -n")


def _write(path: Path, members: list[Member], now: datetime) -> None:
    try:
        with create(path) as file:
            write_archive(file, members, folder=path.name.partition(".")[0], moment=now)
    except FileExistsError:
        raise UsageError(f"{path} already exists; name another file with -o") from None
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def _seconds(text: str | None) -> float:
    if text is None:
        return 0.0
    if not text.isdecimal() or not 1 <= int(text) <= _LONGEST_SECONDS:
        raise UsageError(f"--metrics: {text!r} is not allowed; allowed: 1 to {_LONGEST_SECONDS}")
    return float(text)


def _given(settings: ProgramSettings) -> Iterator[str]:
    """Yield the texts of all settings, which redaction keeps: rules look for these names."""
    # The context is a name of this cluster, so it is not kept.
    for value in settings.model_dump(exclude={"kubeconfig", "context"}).values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, str):
                yield each


async def _read(
    settings: ProgramSettings, namespace: str, seconds: float
) -> "tuple[Collection, list[DumpedPage]]":
    from reporter.cli.cluster import watched_cluster
    from reporter.cli.saved_pages import scrape
    from reporter.daemon.pod_scraping import server_addresses
    from reporter.metrics.scraping.targets import find_targets, pod_addresses

    listed = ListedPages(settings)
    look = partial(
        watched_cluster, settings, namespace=namespace, watch=False, longest=_LISTED_SECONDS
    )
    async with look(on_page=listed.take) as cluster:
        snapshot = cluster.snapshot()
        if not seconds or not snapshot.known(PODS):
            return await collect(cluster, listed), []
        servers = await server_addresses(cluster.client.server)
        targets = find_targets(snapshot, settings, pod_addresses(snapshot, servers)) or ()
        sys.stderr.write(f"Fetching the metrics of {len(targets)} pods for {seconds:g} s.\n")
        pages = await scrape(cluster.client, targets, settings, seconds=seconds)
    # The pages are judged with the cluster as it is after the last of them.
    listed = ListedPages(settings)
    async with look(on_page=listed.take) as cluster:
        return await collect(cluster, listed), pages


_REPLACED: Final[Mapping[Resource[KubeObject], str]] = {
    NAMESPACES: "namespace", NODES: "node", GATEWAYS: "gateway",
}  # fmt: skip
"""Resources other than models whose names are replaced as a whole, and the new names' noun."""


def redaction_of(collection: Collection, known: Vocabulary) -> Redaction:
    redaction = Redaction(known)
    redaction.learn_name("namespace", collection.namespace)
    for name in collection.discovered.versions:
        redaction.learn_text(name)
    for resource, objects in collection.objects.items():
        noun = "model" if resource.subject_kind else _REPLACED.get(resource)
        if noun:
            learn_objects(redaction, noun, objects)
    for objects in collection.objects.values():
        redaction.learn(objects)
    return redaction


def _documents(
    collection: Collection, now: datetime, redaction: Redaction | None
) -> dict[str, list[Json]]:
    discovery = collection.discovered.discovery
    text: Callable[[str], str] = redaction.text if redaction else str
    # A missing permission names the one namespace that was read.
    states = {
        each: replace(state, permission=text(state.permission)) if collection.namespace else state
        for each, state in collection.states.items()
    }
    header = DumpHeader.of(
        states,
        discovery,
        now,
        version=__version__,
        redacted=redaction is not None,
        namespace=text(collection.namespace),
    )
    files: dict[str, list[Json]] = {"dump.json": [header.document()]}
    if discovery.served is not None:
        files["served.json"] = list(_api_resources(collection, redaction))
    if collection.failures:
        files["refused.json"] = [_status(*each) for each in collection.failures.items()]
    masking = Masking()
    for resource, objects in collection.objects.items():
        version_read = collection.versions.get(resource, resource.versions[0])
        kept = masking.masked(objects)
        listed = _list(resource, version_read, redaction.redacted(kept) if redaction else kept)
        files.setdefault(f"{resource}.json", []).append(listed)
    return files


def _list(resource: Resource[KubeObject], version_read: str, objects: object) -> Json:
    """Return a typed list, which shows even if empty that the resource was read."""
    group_version = f"{resource.group}/{version_read}" if resource.group else version_read
    typed = {"apiVersion": group_version, "kind": resource.kind}
    items = objects if isinstance(objects, list) else []
    return {
        "apiVersion": group_version,
        "kind": f"{resource.kind}List",
        "items": [{**typed, **each} for each in items if isinstance(each, dict)],
    }


def _api_resources(collection: Collection, redaction: Redaction | None) -> Iterator[Json]:
    plurals: dict[str, set[str]] = defaultdict(set)
    for found, versions in collection.discovered.versions.items():
        name = redaction.text(found) if redaction else found
        plural, _, group = name.partition(".")
        for each in versions:
            plurals[f"{group}/{each}" if group else each].add(plural)
    for group_version, names in sorted(plurals.items()):
        resources = [{"name": name} for name in sorted(names)]
        yield {
            "apiVersion": "v1",
            "kind": "APIResourceList",
            "groupVersion": group_version,
            "resources": resources,
        }


def _status(resource: Resource[KubeObject], error: KubeError) -> Json:
    """Return a refused list as the API server's Status, without the name of the user."""
    code = error.status if isinstance(error, ApiStatusError) else 503
    reason = (error.reason if isinstance(error, ApiStatusError) else "") or "ServiceUnavailable"
    details = {"group": resource.group} if resource.group else {}
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": f"{resource} could not be listed",
        "reason": reason,
        "details": {**details, "kind": resource.plural},
        "code": code,
    }


def summary(collection: Collection, path: Path, pages: int | None) -> str:
    """Return the command's output; `pages` is None if none were requested."""
    objects = sum(map(len, collection.objects.values()))
    kinds = sum(bool(each) for each in collection.objects.values())
    size = max(1, path.stat().st_size // 1024)
    lines = [f"{path}: {objects} objects of {kinds} kinds, {size} KiB."]
    if pages is not None:
        lines.append(f"{pages} pages of metrics." if pages else "No metrics could be fetched.")
    lines += [f"Not read, {each}." for each in _causes(collection)]
    lines.append(f"Look at it: status-reporter check --from {path}")
    return "\n".join(lines) + "\n"


def _causes(collection: Collection) -> list[str]:
    by_cause: dict[str, list[str]] = defaultdict(list)
    for resource, state in collection.states.items():
        if state.served is Served.UNKNOWN:
            by_cause[state.cause].append(str(resource))
    return [
        f"{clean(cause)}: {', '.join(sorted(set(names)))}"
        for cause, names in sorted(by_cause.items())
    ]
