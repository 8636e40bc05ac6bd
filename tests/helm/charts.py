"""helm, as the tests call it, and what it renders."""

import functools
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).parent
CHARTS = HERE.parents[1] / "helm"
REPORTER = CHARTS / "productionstack-status-reporter"
UMBRELLA = CHARTS / "productionstack"
RELEASE, NAMESPACE = "prod", "stack"

Document = dict[str, object]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm and return what it said, whether it succeeded or not."""
    command = [str(Path(sys.executable).with_name("helm")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@dataclass(frozen=True)
class Rendered:
    """The objects of a release."""

    objects: tuple[Document, ...]

    def __iter__(self):
        return iter(self.objects)

    def of(self, kind: str) -> list[Document]:
        """Return the objects of a kind."""
        return [each for each in self.objects if each["kind"] == kind]

    def one(self, kind: str, end: str = "") -> Document:
        """Return the only object of a kind whose name ends so."""
        (found,) = (each for each in self.of(kind) if name_of(each).endswith(end))
        return found

    @property
    def deployment(self) -> Document:
        return self.one("Deployment")

    @property
    def pod(self) -> Document:
        return self.deployment["spec"]["template"]["spec"]

    @property
    def container(self) -> Document:
        (container,) = self.pod["containers"]
        return container

    @property
    def flags(self) -> list[str]:
        """Return the command line of the daemon behind `run`."""
        command, *flags = self.container["args"]
        assert command == "run"
        return flags

    def identities(self) -> list[tuple[object, ...]]:
        """Return what tells objects from each other."""
        return [
            (each["apiVersion"], each["kind"], namespace_of(each), name_of(each)) for each in self
        ]


def name_of(document: Document) -> str:
    return document["metadata"]["name"]


def namespace_of(document: Document) -> str:
    return document["metadata"].get("namespace", "")


def render(
    values: Mapping[str, object] | None = None,
    *,
    chart: Path = REPORTER,
    release: str = RELEASE,
    namespace: str = NAMESPACE,
) -> Rendered:
    """Return what the chart renders with these values."""
    done = template(values, chart=chart, release=release, namespace=namespace)
    assert done.returncode == 0, done.stderr
    return Rendered(tuple(documents(done.stdout)))


def template(
    values: Mapping[str, object] | None = None,
    *,
    chart: Path = REPORTER,
    release: str = RELEASE,
    namespace: str = NAMESPACE,
) -> subprocess.CompletedProcess[str]:
    """Run `helm template` with these values, once for the same ones."""
    return _template(release, str(chart), "--namespace", namespace, *_set(values))


@functools.cache
def _template(*arguments: str) -> subprocess.CompletedProcess[str]:
    return helm("template", *arguments)


def lint(values: Mapping[str, object] | None = None, *, chart: Path = REPORTER):
    """Run `helm lint --strict` with these values."""
    return helm("lint", "--strict", str(chart), *_set(values))


def documents(text: str) -> Iterable[Document]:
    """Return the documents of a YAML stream; a key that stands twice is an error."""
    return [each for each in yaml.load_all(text, Loader=_StrictLoader) if each is not None]


def load(name: str) -> list[Document]:
    """Return the rows of a file of test data."""
    return yaml.safe_load((HERE / name).read_text())


def _set(values: Mapping[str, object] | None) -> list[str]:
    return [f"--set-json={key}={json.dumps(value)}" for key, value in (values or {}).items()]


class _StrictLoader(yaml.CSafeLoader):
    """Reads YAML as the API server does with strict decoding."""

    def construct_mapping(self, node, deep=False):  # noqa: FBT002 - as in PyYAML
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key stands twice: {node.start_mark}"
        return super().construct_mapping(node, deep=deep)
