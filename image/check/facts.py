"""What must be true of the image, one function for each; it returns what it saw."""

import hashlib
import json
import struct
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from image.check.build import COMMIT, Built
from image.check.container import Container
from image.check.measure import digest, fingerprints
from image.tree import site_packages
from reporter import __version__

BUILD_TOOLS: Final = ("distutils", "ensurepip", "hatchling", "pip", "setuptools", "venv", "wheel")
ELF_MACHINES: Final = {"amd64": 62, "arm64": 183}
"""Numbers of processors in the header of an ELF file."""

_UNCHECKED_HASH: Final = 1


class FactError(Exception):
    """Something that must be true is not; says what was seen."""


def require(holds: bool, saw: str) -> None:  # noqa: FBT001  # an assertion that stays with -O
    """Raise a `FactError` unless it holds."""
    if not holds:
        raise FactError(saw)


def is_reproducible(first: Built, second: Built) -> str:
    """The wheel, the stripped Python and all that is installed are the same bytes, modes and times."""
    one, other = _trees(first), _trees(second)
    for name, tree in one.items():
        paths = sorted(tree.keys() | other[name].keys())
        differing = [path for path in paths if tree.get(path) != other[name].get(path)]
        require(not differing, f"{name} differs: {', '.join(differing[:5])}")
    return f"sha256 {digest(one)[:16]} twice"


def _trees(built: Built) -> dict[str, dict[str, str]]:
    return {
        "wheel": {built.wheel.name: hashlib.sha256(built.wheel.read_bytes()).hexdigest()},
        "python": fingerprints(built.python),
        "installed": fingerprints(built.installed),
    }


def has_whole_packages(built: Built) -> str:
    """Each distribution has every file of its wheel as it is there, and lists what is there."""
    site = site_packages(built.installed)
    wheels = [*(built.folder / "wheels/runtime").glob("*.whl"), built.wheel]
    files = 0
    for wheel in wheels:
        with ZipFile(wheel) as packed:
            names = [name for name in packed.namelist() if not name.endswith(("/", "/RECORD"))]
            changed = [name for name in names if _content(site / name) != packed.read(name)]
        require(not changed, f"{wheel.name}: not as in the wheel: {', '.join(changed[:5])}")
        files += len(names)
    for found in distributions(path=[str(site)]):
        missing = [str(path) for path in found.files or () if not Path(path.locate()).exists()]
        require(not missing, f"{found.name} lists what is not there: {', '.join(missing[:5])}")
    return f"{len(wheels)} distributions, {files} files as in their wheels"


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def runs_its_own_python(container: Container) -> str:
    """Interpreter and library are those that were copied, not others that the machine has."""
    status, output = container.python("import sys; print(sys.prefix, sys.version)")
    require(status == 0 and output.strip() == f"/usr/local {sys.version}", output)
    return output.split()[1]


def is_for_its_processor(built: Built) -> str:
    """Every compiled module that was installed is for the processor it was built for."""
    modules = sorted(built.installed.rglob("*.so"))
    wrong = [module.name for module in modules if _elf_machine(module) != ELF_MACHINES[built.arch]]
    require(bool(modules) and not wrong, f"for another processor: {wrong}")
    return f"{len(modules)} compiled modules for {built.arch}"


def _elf_machine(path: Path) -> int:
    with path.open("rb") as file:
        header = file.read(20)
    machine: int = struct.unpack_from("<H", header, 18)[0]
    return machine


def has_same_packages(one: Built, other: Built) -> str:
    """Both processors get the same libraries in the same versions."""
    first, second = _versions(one), _versions(other)
    require(first == second, f"differ: {set(first.items()) ^ set(second.items())}")
    return f"{len(first)} distributions for {one.arch} and {other.arch}"


def _versions(built: Built) -> dict[str, str]:
    site = str(site_packages(built.installed))
    return {found.name: found.version for found in distributions(path=[site])}


def has_no_build_tools(container: Container) -> str:
    """The Python of the image can import none of them, and none of their programs is there."""
    probe = f"import importlib.util as u; print([n for n in {BUILD_TOOLS} if u.find_spec(n)])"
    status, output = container.python(probe)
    require(status == 0 and output.strip() == "[]", output)
    programs = sorted(path.name for path in (container.root / "usr/local/bin").iterdir())
    ours = ["kubectl-status_reporter", "kubectl_complete-status_reporter", "status-reporter"]
    expected = sorted([*ours, *(name for name in programs if name.startswith("python"))])
    require(programs == expected, f"/usr/local/bin has {programs}")
    return f"/usr/local/bin has {', '.join(programs)}"


def is_compiled(container: Container) -> str:
    """Each module has bytecode, which does not depend on the time of its source."""
    library = container.root / "usr/local/lib"
    modules = sorted(library.rglob("*.py"))
    for module in modules:
        compiled = (
            module.parent / "__pycache__" / f"{module.stem}.{sys.implementation.cache_tag}.pyc"
        )
        require(compiled.is_file(), f"{module} is not compiled")
        flags = struct.unpack_from("<I", compiled.read_bytes(), 4)[0]
        require(flags == _UNCHECKED_HASH, f"{compiled} depends on the time of its source")
    return f"{len(modules)} modules"


def is_unprivileged(container: Container) -> str:
    """It is uid and gid 65532 with no other group and no capability, and can write nowhere."""
    probe = """\
import os
try:
    open("/written", "w")
except OSError as error:
    print(error.strerror)
capabilities = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")]
print(os.getpid(), os.getuid(), os.getgid(), os.getgroups(), int(capabilities[0], 16))
"""
    status, output = container.python(probe)
    expected = ["Read-only file system", "1 65532 65532 [] 0"]
    require(status == 0 and output.splitlines() == expected, output)
    return "process 1, 65532:65532, no capabilities, read-only file system"


def says_its_version(container: Container) -> str:
    """`--version` names the version of the sources and the commit of the build argument."""
    status, output = container.run("--version")
    require((status, output) == (0, f"status-reporter {__version__} (commit {COMMIT})\n"), output)
    return output.strip()


def says_its_help(container: Container) -> str:
    """`run --help-all` lists the flags."""
    status, output = container.run("run", "--help-all")
    require(status == 0 and "--startup-grace-seconds" in output, output)
    return f"{len(output.splitlines())} lines"


def judges(container: Container, dump: str, expected: int) -> str:
    """`check` of a dump that is mounted ends with the status that the dump deserves."""
    status, output = container.run("check", "-o", "json", "--from", f"/mnt/{dump}")
    require(status == expected, f"exit status {status}: {output}")
    findings = [
        found for found in json.loads(output)["findings"] if found["disposition"] == "firing"
    ]
    require(len(findings) >= expected, output)
    return f"exit status {status}, {len(findings)} firing"
