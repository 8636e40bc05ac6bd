"""Controllers that users run, the rows of `programs.yaml`, and how each is built.

Each comes from the Go module proxy as its authors published it, with its charts and its
CustomResourceDefinitions, and is built once per machine.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from e2e.envtest.binaries import built, cache
from e2e.envtest.commands import EnvtestError, run

_HERE: Final = Path(__file__).parent


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A controller.

    Attributes:
        name: of its process, and of its Deployment.
        module: that it is built from, `path@version`.
        package: of the module, the folder of its `main`.
        namespace: that it is installed in.
        charts: folders of the module's Helm charts, with the values of each.
        crds: a folder of the module with CustomResourceDefinitions.
        arguments: of the process; `{webhook}` and `{health}` are its ports, `{folder}` its own,
            `{host}` where the API server reaches it, `{beside}` the port of one that it asks.
        ready: the path that answers when it is.
        objects: in YAML, with the same words as arguments, what else is installed.
        own: a folder of ours with the package, which is built among the module's sources.
        files: the files in its own folder, by name.
        environment: variables of the process.
        story: the file of the suite about it; empty if it only helps others.
    """

    name: str
    module: str
    package: str
    namespace: str = ""
    charts: Mapping[str, dict[str, object]] = {}
    crds: str = ""
    arguments: tuple[str, ...] = ()
    ready: str = "/readyz"
    objects: str = ""
    own: str = ""
    files: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    story: str = ""

    @property
    def version(self) -> str:
        return self.module.partition("@")[2]

    def source(self) -> Path:
        """Return the folder of the module's source, fetched when it is not there."""
        told = run(["go", "mod", "download", "-json", self.module], cwd=Path.home())
        found: dict[str, Any] = json.loads(told)
        return Path(found["Dir"])

    def built(self) -> Path:
        """Return the program, building it if it is missing."""
        module = self.module.replace("/", "-").replace("@", "-")
        program = cache() / "controllers" / module / f"{self.name}{self._edition()}"
        if not program.exists():
            program.parent.mkdir(parents=True, exist_ok=True)
            self._build(program)
        return program

    def _edition(self) -> str:
        """Return a key for what is built from other sources of ours."""
        if not self.own:
            return ""
        said = b"".join(each.read_bytes() for each in sorted((_HERE / self.own).iterdir()))
        return f"-{hashlib.sha256(said).hexdigest()[:12]}"

    def _build(self, program: Path) -> None:
        began = time.monotonic()
        print(f"building {self.name} {self.version}; once per machine", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=program.parent) as made:
            # The cache of modules is read-only, and a workspace includes what was not published.
            source = shutil.copytree(self.source(), Path(made) / "source")
            for folder in (source, *(each for each in source.rglob("*") if each.is_dir())):
                folder.chmod(0o755)
            if self.own:
                shutil.copytree(_HERE / self.own, source / self.package)
            run(
                ["go", "build", "-o", f"{made}/built", self.package],
                cwd=source,
                env={**os.environ, "GOWORK": "off", "GOFLAGS": "-buildvcs=false"},
            )
            (Path(made) / "built").rename(program)
        print(f"built {self.name} in {time.monotonic() - began:.0f} s", file=sys.stderr)


PROGRAMS: Final = {
    each.name: each
    for each in msgspec.convert(
        yaml.safe_load((_HERE / "programs.yaml").read_text()), list[Program]
    )
}

CONTROLLER_MANAGER: Final = "kube-controller-manager"
"""Of the Kubernetes that the end-to-end tests pin; it makes pods, collects garbage, and scales."""


def main() -> None:
    """Build what is missing, and print where each is."""
    try:
        for program in PROGRAMS.values():
            print(f"{program.module.replace('@', ' ')}: {program.built()}")
        print(f"{CONTROLLER_MANAGER}: {built(CONTROLLER_MANAGER)}")
    except EnvtestError as error:
        sys.exit(f"controllers: {error}")


if __name__ == "__main__":
    main()
