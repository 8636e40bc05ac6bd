"""Names are replaced in a dump so that it can be sent to somebody: the faults stay, who has them goes.

References between objects are names, and many names are made of others: `<model>-inferencepool-epp`,
`<gateway>-istio`, `<model>-0`. So a name is replaced wherever it stands, also inside of longer
names and of messages:

- names of namespaces, nodes, Gateways and models as a whole, by `namespace1`, `node1`, `model1`;
- every other word of a name, image, label or host that the program does not know, by `x1`.

The words that the program knows (`vocabulary.py`) stay, and numbers do, so that every rule finds what it
looks for. Replacements are numbered in the order of the names, so that lists keep theirs.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from reporter.snapshot.outputs.pruning import Json
from reporter.snapshot.outputs.vocabulary import WORD, Vocabulary

_KEPT: Final = frozenset(
    {
        "apiVersion", "kind", "type", "status", "reason", "phase", "uid", "resourceVersion",
        "operator", "action", "effect", "protocol", "imagePullPolicy", "group", "observedGeneration",
    }
)  # fmt: skip
"""Fields whose values are words of an API and no names."""

_OPEN: Final = frozenset(
    {
        "labels", "matchLabels", "annotations", "nodeSelector", "selector", "limits", "requests",
        "data", "components", "allocatable", "capacity", "overhead", "capability", "allocated",
        "minResources", "resources",
    }
)  # fmt: skip
"""Fields whose keys are chosen by users."""

_ADDRESS: Final = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_ADDRESS_FIELDS: Final = frozenset({"podIP"})
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)")
_COMPOUND: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-._/:@][A-Za-z0-9]++)++|(?<=[\"'])[A-Za-z0-9]++(?=[\"'])"
)
_QUANTITY: Final = re.compile(r"\d+[A-Za-z]{0,2}|\d+e\d+")


@dataclass(slots=True)
class Redaction:
    """Replaces the names of one dump; `learn` everything before anything is replaced.

    Attributes:
        known: what is kept.

    """

    known: Vocabulary
    _roots: dict[str, set[str]] = field(default_factory=dict)
    _words: set[str] = field(default_factory=set)
    _addresses: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _replaced: dict[str, str] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None

    def learn_name(self, noun: str, name: str) -> None:
        """Learn a name that is replaced as a whole by a noun and a number."""
        is_word = WORD.fullmatch(name) and name.lower() in self.known.parts
        if name and name not in self.known.names and not is_word:
            self._roots.setdefault(noun, set()).add(name)

    def learn(self, value: object) -> None:
        """Learn the words of a value."""
        for text in _texts(value):
            self.learn_text(text)

    def learn_text(self, text: str) -> None:
        """Learn the words of a text: all of a name, and of prose those that look like names."""
        if _TIME.fullmatch(text):
            return
        self._addresses.update(_ADDRESS.findall(text))
        words = WORD.findall(text)
        if re.search(r"\s", text):
            words = [word for part in _COMPOUND.findall(text) for word in WORD.findall(part)]
        self._words.update(word for word in words if self._is_replaced(word))

    def _is_replaced(self, word: str) -> bool:
        return not _QUANTITY.fullmatch(word) and word.lower() not in self.known.words

    def redacted(self, value: object, key: str = "") -> object:
        """Return a value with other names; `key` is the field that it stands in."""
        if self._pattern is None:
            self._number()
        if isinstance(value, dict):
            keys: Callable[[str], str] = self.text if key in _OPEN else str
            return {keys(name): self.redacted(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.redacted(each, key) for each in value]
        if not isinstance(value, str) or key in _KEPT:
            return value
        if key in _ADDRESS_FIELDS and value:
            return self._names.get(value, "198.18.255.254")
        return self.text(value)

    def text(self, text: str) -> str:
        """Return a text with other names."""
        if self._pattern is None:
            self._number()
        if _TIME.fullmatch(text) or self._pattern is None:
            return text
        return self._pattern.sub(self._name_or_word, text)

    def _name_or_word(self, match: re.Match[str]) -> str:
        found = match[0]
        return self._names.get(found) or self._replaced.get(found) or found

    def _number(self) -> None:
        for noun, names in self._roots.items():
            for name, other in zip(sorted(names), _numbered(noun, len(names)), strict=True):
                self._names[name] = other
                # Names of Services and labels are made of others by leaving out the dots.
                self._names.setdefault(name.replace(".", "-"), other)
        for number, address in enumerate(sorted(self._addresses)):
            self._names[address] = f"198.18.{number // 250 % 256}.{number % 250 + 1}"
        words = sorted(self._words)
        self._replaced = dict(zip(words, _numbered("x", len(words)), strict=True))
        # The longest of several names counts, as a model may be called by the start of another.
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
    """Learn the names of the objects of a kind as a whole."""
    for each in objects:
        metadata = each.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if isinstance(name, str):
            redaction.learn_name(noun, name)
