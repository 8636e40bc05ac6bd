"""The build context: what `.dockerignore` lets an engine see, copied to a clean folder."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DOCKERIGNORE: Final = Path(".dockerignore")


@dataclass(frozen=True)
class Allowed:
    """`.dockerignore` in the form of ours: nothing, but these, without those.

    Attributes:
        paths: files and folders that are seen.
        without: paths, and names as `**/NAME`, that are not.
    """

    paths: tuple[str, ...]
    without: tuple[str, ...]

    @classmethod
    def read(cls, path: Path = DOCKERIGNORE) -> "Allowed":
        """Read a file.

        Raises:
            ValueError: it does not begin by ignoring everything.

        """
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        rules = [line for line in lines if line and not line.startswith("#")]
        if rules[:1] != ["*"]:
            raise ValueError(f"{path} must begin with *, so that nothing slips into the image")
        allowed = tuple(rule[1:] for rule in rules if rule.startswith("!"))
        return cls(allowed, tuple(rule for rule in rules[1:] if not rule.startswith("!")))

    def copy(self, to: Path) -> None:
        """Copy what is seen from the current folder."""
        for name in self.paths:
            source = Path(name)
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, to / name, ignore=self._ignored)
            else:
                shutil.copy2(source, to / name)

    def _ignored(self, folder: str, names: list[str]) -> set[str]:
        return {
            name
            for name in names
            if str(Path(folder, name)) in self.without or f"**/{name}" in self.without
        }
