"""The final stage as a process sees it: its own root, read-only, uid 65532, process 1."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from image.check.build import Built
from image.check.dockerfile import Dockerfile

READ_ONLY: Final = ("/usr/lib", "/usr/lib64", "/etc/ssl")
"""What stands for Debian in the image: its libraries, certificates and nothing to run."""

LIBRARY_FOLDERS: Final = (
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
)
"""In this order, so that the libpython of this Python is found before one of the machine's own."""

LINKS: Final = {"lib": "usr/lib", "lib64": "usr/lib64"}

_ENTER: Final = """\
set -e
mount --bind "$ROOT" "$ROOT"
for path in $BOUND; do mount --bind -o ro "$path" "$ROOT$path"; done
mount --bind -o ro "$MOUNTED" "$ROOT/mnt"
mount --bind /dev/null "$ROOT/dev/null"
mount --bind /dev/urandom "$ROOT/dev/urandom"
mount -t proc -o ro proc "$ROOT/proc"
ldconfig -r "$ROOT"
mount -o remount,ro,bind "$ROOT"
exec env --ignore-environment "$@"
"""


@dataclass(frozen=True)
class Container:
    """A root folder put together like the final stage.

    Attributes:
        root: of the file system.
        mounted: a folder of this machine that is seen at `/mnt`, as a ConfigMap would be.
    """

    root: Path
    mounted: Path

    @classmethod
    def assemble(cls, built: Built, folder: Path) -> Self:
        """Lay what was built over each other, as the final stage copies it."""
        container = cls(folder / "root", folder / "mounted")
        shutil.copytree(built.folder / "rootfs", container.root, symlinks=True)
        shutil.copytree(built.installed, container.root / "usr/local", dirs_exist_ok=True)
        container.mounted.mkdir()
        for name in ("proc", "dev", "mnt", "etc"):
            (container.root / name).mkdir()
        for name, target in LINKS.items():
            (container.root / name).symlink_to(target)
        (container.root / "etc/ld.so.conf").write_text("\n".join(LIBRARY_FOLDERS), encoding="ascii")
        for place in (*map(Path, READ_ONLY), Path("/dev/null"), Path("/dev/urandom")):
            _stand_in(container.root / place.relative_to("/"), place.is_dir())
        return container

    def start(self, *arguments: str, entrypoint: Sequence[str] = ()) -> "Process":
        """Start the entry point, or another program, as process 1."""
        final = Dockerfile.read().final
        uid = final.last("USER")
        bound = [path for path in READ_ONLY if Path(path).exists()]
        command = (
            *(f"{name}={value}" for name, value in final.variables("ENV").items()),
            "/usr/sbin/chroot", "--groups=", f"--userspec={uid}", str(self.root),
            *(entrypoint or final.words("ENTRYPOINT")), *arguments,
        )  # fmt: skip
        return Process(
            subprocess.Popen(  # noqa: S603  # our own words and the Dockerfile's
                [
                    "/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child",
                    "/bin/sh", "-c", _ENTER, "sh", *command,
                ],
                env={
                    "PATH": os.environ["PATH"],
                    "ROOT": str(self.root),
                    "BOUND": " ".join(bound),
                    "MOUNTED": str(self.mounted),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )  # fmt: skip

    def run(self, *arguments: str, entrypoint: Sequence[str] = ()) -> tuple[int, str]:
        """Start it, wait for it, and return its exit status and what it wrote."""
        return self.start(*arguments, entrypoint=entrypoint).wait()

    def python(self, code: str) -> tuple[int, str]:
        """Run a few lines with the Python of the image."""
        return self.run("-c", code, entrypoint=("/usr/local/bin/python3",))


@dataclass(frozen=True)
class Process:
    """A running container."""

    outside: "subprocess.Popen[str]"
    """`unshare`, whose only child is process 1 inside."""

    def signal(self, number: int) -> None:
        """Send a signal to process 1, as an engine does."""
        pid = self.outside.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        os.kill(int(children), number)

    def wait(self, seconds: float = 60) -> tuple[int, str]:
        """Wait for the end, and return the exit status and all output.

        Raises:
            subprocess.TimeoutExpired: it did not end; it is killed.

        """
        try:
            output, _ = self.outside.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return self.outside.returncode, output

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        with suppress(ProcessLookupError):
            self.outside.kill()


def _stand_in(path: Path, is_folder: bool) -> None:  # noqa: FBT001  # the only thing it asks
    if is_folder:
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
