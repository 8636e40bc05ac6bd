"""`status-reporter dump`: what `check` would read of the live cluster, into one archive."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reporter.arguments import PROGRAM, Parser
from reporter.cli.configure import ProgramSettings, misspelt_variables
from reporter.cli.flags import EPILOG, add_setting_flags, settings_from
from reporter.errors import UsageError

if TYPE_CHECKING:
    from reporter.kube.collecting import Collection

_SUFFIXES: Final = (".tgz", ".tar.gz")
_DESCRIPTION: Final = """\
Collect of the live cluster what `check` reads, and nothing else, into one archive to send to somebody.
Nothing is written to the cluster. Values of the environment, managed fields, Secrets and tokens are left out.
Look at it with: status-reporter check --from FILE.tgz"""


def main(argv: Sequence[str]) -> int:
    """Collect, and write the archive.

    Raises:
        UsageError: the cluster cannot be read, or the file cannot be written.

    """
    arguments = _parser().parse(argv)
    for warning in misspelt_variables():
        sys.stderr.write(f"{PROGRAM}: {warning}\n")
    settings = settings_from(arguments)
    path = _path(arguments.output, datetime.now(UTC))
    sys.stdout.write(_collect(settings, path, redact=arguments.redact))
    return 0


def _parser() -> Parser:
    parser = Parser("dump", _DESCRIPTION, EPILOG)
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
        help="replace the names of namespaces, objects, nodes, images and hosts, each by the same "
        "one everywhere; the findings stay the same",
    )
    add_setting_flags(parser, daemon=False)
    return parser


def _path(output: str | None, now: datetime) -> Path:
    path = Path(output or f"status-reporter-dump-{now:%Y%m%dT%H%M%SZ}.tgz")
    if not path.name.endswith(_SUFFIXES):
        raise UsageError(f"-o: {output!r} is not allowed; allowed: a name that ends with .tgz")
    if path.exists():
        raise UsageError(f"{path} is there already; name another file with -o, or remove it")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder")
    return path


def _collect(settings: ProgramSettings, path: Path, *, redact: bool) -> str:
    from reporter.cli.dump_contents import members_of, redaction_of
    from reporter.cli.dump_summary import summary
    from reporter.daemon import logs
    from reporter.kube.errors import KubeError
    from reporter.snapshot.outputs.archive import create, write_archive
    from reporter.snapshot.outputs.vocabulary import vocabulary

    logs.configure("error", settings.log_format)
    try:
        collection = asyncio.run(_read(settings))
    except KubeError as error:
        raise UsageError(str(error)) from None
    now = datetime.now(UTC)
    redaction = redaction_of(collection, vocabulary(_given(settings))) if redact else None
    members = members_of(collection, now, redaction)
    try:
        with create(path) as file:
            write_archive(file, members, folder=path.name.partition(".")[0], moment=now)
    except FileExistsError:
        raise UsageError(f"{path} is there already; name another file with -o") from None
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    return summary(collection, path)


def _given(settings: ProgramSettings) -> Iterator[str]:
    """Yield the texts of all settings: a rule looks for what they name."""
    for value in settings.model_dump().values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, str):
                yield each


async def _read(settings: ProgramSettings) -> "Collection":
    from reporter.kube.client import connect
    from reporter.kube.collecting import collect
    from reporter.kube.errors import ConnectionFailed, KubeError, NotJson, Unauthorized

    async with await connect(kubeconfig=settings.kubeconfig, context=settings.context) as client:
        try:
            await client.request("GET", "/version", verb="get", resource="version")
        except (ConnectionFailed, NotJson, Unauthorized) as error:
            raise KubeError(f"{client.server}: {error}") from None
        except KubeError:
            # It is there; the lists will show what it lets us read.
            pass
        return await collect(client, settings)
