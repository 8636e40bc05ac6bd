"""Masks credentials in a dump (environment, headers, volumes, arguments, texts) and replaces names.

Equal values get equal masks within one dump, because values are compared with each other: an
object's template with the one that it should have. The key of the masks exists only in the process,
so that nobody can guess values and check them.

With `--redact`, names are replaced, so that a dump can be sent to others: it shows the faults, but
not whose they are. References between objects are names, and many names contain others:
`<model>-inferencepool-epp`, `<gateway>-istio`, `<model>-0`. So a name is replaced everywhere, also
within longer names and messages:

- names of namespaces, nodes, Gateways and models as a whole, by `namespace1`, `node1`, `model1`;
- every other word of a name, image, label or host that the program does not know, by `x1`.

Words from the string constants of the program's modules (kinds, labels, suffixes of derived names,
reasons) stay, as they identify nobody. So do numbers. Thus every rule still finds its input.
Replacements are numbered in the sort order of the names, so that sorted lists keep their order.
"""

import ast
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import reporter
from reporter.model.credentials import CREDENTIAL_FLAG, is_credential_flag, names_credential
from reporter.model.text import redact
from reporter.snapshot.outputs.archive import Json
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import read_yaml

COMPARED: Final = frozenset({
    "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME",
    "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG",
    "VLLM_NIXL_SIDE_CHANNEL_PORT",
})  # fmt: skip
"""Variables that are compared with settings of OtterScale's operator and with ports; they contain
no credentials."""

_HARMLESS: Final = re.compile(r"[A-Za-z0-9_.,:/$()=-]{0,200}")
_USER_INFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
_SECRET_VALUE: Final = re.compile(
    rf"(?<!\S)({CREDENTIAL_FLAG})(=|\s+)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_PAIRS: Final = frozenset({"env", "httpHeaders"})
"""Lists of name/value pairs; only values of `COMPARED` names are not masked."""

_NAMED_SOURCES: Final = frozenset(
    {"configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"}
)
"""Volume sources that only name another object. Others are masked: a driver's options may be
credentials."""


@dataclass(frozen=True, slots=True)
class Masking:
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def masked(self, value: object, key: str = "") -> object:
        if isinstance(value, dict):
            return self._members(value)
        if isinstance(value, list):
            if key in _PAIRS:
                return [self._variable(each) for each in value]
            if key == "volumes":
                return [self._volume(each) for each in value]
            if key in {"args", "command"}:
                return self._arguments(value)
            return [self.masked(each) for each in value]
        return self._masked_text(value, key) if isinstance(value, str) else value

    def _members(self, value: dict[str, object]) -> dict[str, object]:
        kept = {name: self.masked(each, name) for name, each in value.items()}
        name, text = value.get("name"), value.get("value")
        if isinstance(name, str) and isinstance(text, str) and text and names_credential(name):
            kept["value"] = self._mask(text)
        return kept

    def _volume(self, volume: object) -> object:
        if not isinstance(volume, dict):
            return self.masked(volume)
        kept = self._members(volume)
        others = volume.keys() - _NAMED_SOURCES - {"name"}
        return kept | {source: self._hidden(volume[source]) for source in others}

    def _hidden(self, value: object) -> object:
        if isinstance(value, dict):
            return {name: self._hidden(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._hidden(each) for each in value]
        return self._mask(value) if isinstance(value, str) and value else value

    def _masked_text(self, value: str, key: str) -> str:
        if key == "mesh":
            return _mesh(value)
        return self._mask(value) if value and names_credential(key) else _text(value)

    def _mask(self, value: str) -> str:
        digest = hashlib.blake2b(value.encode("utf-8", "replace"), key=self._key, digest_size=4)
        return f"masked-{digest.hexdigest()}"

    def _variable(self, variable: object) -> object:
        if not isinstance(variable, dict):
            return self.masked(variable)
        kept = {name: self.masked(each, name) for name, each in variable.items()}
        value = variable.get("value")
        if isinstance(value, str) and value:
            harmless = _HARMLESS.fullmatch(_text(value)) and variable.get("name") in COMPARED
            kept["value"] = _text(value) if harmless else self._mask(value)
        return kept

    def _arguments(self, values: list[object]) -> list[object]:
        found: list[object] = []
        is_secret = False
        for value in values:
            if not isinstance(value, str):
                found.append(self.masked(value))
                continue
            found.append(self._mask(value) if is_secret else self._argument(value))
            is_secret = is_credential_flag(value)
        return found

    def _argument(self, value: str) -> str:
        def mask(match: re.Match[str]) -> str:
            return f"{match[1]}{match[2]}{self._mask(match[3])}"

        known = _SECRET_VALUE.sub(mask, value)
        kept = _text(known)
        # Different arguments must stay different.
        return kept if kept == known else f"{kept} {self._mask(known)}"


def _text(value: str) -> str:
    return redact(_USER_INFO.sub("", value))


def _mesh(value: str) -> str:
    """Reduce Istio's mesh configuration to the names of its providers, the only part read."""
    try:
        config = read_yaml(value)
    except Unreadable:
        return "{"
    if not isinstance(config, dict):
        return "" if config is None else "[]"
    providers = config.get("extensionProviders")
    if not isinstance(providers, list):
        return "{}" if not providers else "extensionProviders: 1"
    names = (each.get("name") for each in providers if isinstance(each, dict))
    lines = "".join(f"- name: {json.dumps(name)}\n" for name in names if isinstance(name, str))
    return f"extensionProviders:\n{lines}" if lines else "extensionProviders: []\n"


WORD: Final = re.compile(r"[A-Za-z0-9]+")
_NAME: Final = re.compile(r"[-.]?[A-Za-z0-9][-A-Za-z0-9./:_]*")
_FOLDERS: Final = (
    "catalogue", "diagnosis", "metrics", "model", "probes", "resolution", "stacks", "workload",
)  # fmt: skip
_FILES: Final = ("settings.py", "setting_types.py")
_KUBERNETES: Final = (
    "default kube-system kube-public kube-node-lease matchLabels matchExpressions app apps k8s io "
    "com sh dev org net svc cluster local nvidia amd gpu cpu memory ephemeral storage vllm http "
    "https grpc tcp metadata spec status name namespace kubernetes docker ghcr gcr quay registry "
    "mcr microsoft latest hostname topology region zone arch os linux amd64 arm64 instance "
    "agentpool component managed part version release revision template hash index generation "
    "controller timestamp patches terminated reference toleration quantities amount"
)
"""Common names of Kubernetes, registries and hardware."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names and words that are not replaced.

    `parts` are the words of `names` that are object-like names; other `names` are prose and paths.
    """

    names: frozenset[str]
    words: frozenset[str]
    parts: frozenset[str]


def vocabulary(settings: Iterable[str]) -> Vocabulary:
    names = _words_in() | frozenset(settings)
    made_of = (text for text in names if _NAME.fullmatch(text))
    return Vocabulary(names, _words(names), _words(made_of))


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word.lower() for text in texts for word in WORD.findall(text))


@cache
def _words_in() -> frozenset[str]:
    root = Path(reporter.__file__).parent
    paths = [path for folder in _FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    paths += [root / name for name in _FILES]
    found = {text for path in paths for text in _of_module(path)}
    for path in (root / "stacks").rglob("*.yaml"):  # kinds that a page of data describes
        text = path.read_text(encoding="utf-8").partition("cannot:")[0]
        found.update(re.findall(r"[\w./-]+", text))
    return frozenset(found | set(_KUBERNETES.split()))


def _of_module(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_bytes())
    prose = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


_KEPT: Final = frozenset({
    "apiVersion", "kind", "type", "status", "reason", "phase", "uid", "resourceVersion",
    "operator", "action", "effect", "protocol", "imagePullPolicy", "group", "observedGeneration",
})  # fmt: skip
"""Fields whose values are an API's words, not names."""

_OPEN: Final = frozenset({
    "labels", "matchLabels", "annotations", "nodeSelector", "selector", "limits", "requests",
    "data", "components", "allocatable", "capacity", "overhead", "capability", "allocated",
    "minResources", "resources",
})  # fmt: skip
"""Fields whose keys are chosen by users."""

_ADDRESS: Final = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)")
_COMPOUND: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-._/:@][A-Za-z0-9]++)++|(?<=[\"'])[A-Za-z0-9]++(?=[\"'])"
)
_QUANTITY: Final = re.compile(r"\d+[A-Za-z]{0,2}|\d+e\d+")


@dataclass(slots=True)
class Redaction:
    """Replaces the names of one dump; call `learn` for everything before replacing anything."""

    known: Vocabulary
    _roots: dict[str, set[str]] = field(default_factory=dict)
    _words: set[str] = field(default_factory=set)
    _addresses: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _replaced: dict[str, str] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None

    def learn_name(self, noun: str, name: str) -> None:
        """Learn a name that is replaced as a whole, by a noun and a number."""
        is_word = WORD.fullmatch(name) and name.lower() in self.known.parts
        if name and name not in self.known.names and not is_word:
            self._roots.setdefault(noun, set()).add(name)

    def learn(self, value: object) -> None:
        for text in _texts(value):
            self.learn_text(text)

    def learn_text(self, text: str) -> None:
        """Learn the words of a text: all words of a name, but of prose only name-like words."""
        if _TIME.fullmatch(text):
            return
        self._addresses.update(_ADDRESS.findall(text))
        words = WORD.findall(text)
        if re.search(r"\s", text):
            words = [word for part in _COMPOUND.findall(text) for word in WORD.findall(part)]
        self._words.update(
            word
            for word in words
            if not _QUANTITY.fullmatch(word) and word.lower() not in self.known.words
        )

    def redacted(self, value: object, key: str = "") -> object:
        if self._pattern is None:
            self._number()
        if isinstance(value, dict):
            keys: Callable[[str], str] = self.text if key in _OPEN else str
            return {keys(name): self.redacted(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.redacted(each, key) for each in value]
        if not isinstance(value, str) or key in _KEPT:
            return value
        if key == "podIP" and value:
            return self._names.get(value, "198.18.255.254")
        return self.text(value)

    def text(self, text: str) -> str:
        if self._pattern is None:
            self._number()
        if _TIME.fullmatch(text) or self._pattern is None:
            return text
        names, words = self._names, self._replaced
        return self._pattern.sub(
            lambda found: names.get(found[0]) or words.get(found[0]) or found[0], text
        )

    def _number(self) -> None:
        for noun, names in self._roots.items():
            for name, other in zip(sorted(names), _numbered(noun, len(names)), strict=True):
                self._names[name] = other
                # Names of Services and labels are derived from others by replacing the dots.
                self._names.setdefault(name.replace(".", "-"), other)
        for number, address in enumerate(sorted(self._addresses)):
            self._names[address] = f"198.18.{number // 250 % 256}.{number % 250 + 1}"
        words = sorted(self._words)
        self._replaced = dict(zip(words, _numbered("x", len(words)), strict=True))
        # The longest match wins, as one model's name may be a prefix of another's.
        whole = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        either = f"(?:{whole})|" if whole else ""
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{either}[A-Za-z0-9]+)(?![A-Za-z0-9])")


def _numbered(noun: str, count: int) -> Iterator[str]:
    width = len(str(count))
    return (f"{noun}{number:0{width}}" for number in range(1, count + 1))


def _texts(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            if key in _OPEN:
                yield name
            yield from _texts(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, key)
    elif isinstance(value, str) and key not in _KEPT:
        yield value


def learn_objects(redaction: Redaction, noun: str, objects: Iterable[Json]) -> None:
    for each in objects:
        metadata = each.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if isinstance(name, str):
            redaction.learn_name(noun, name)
