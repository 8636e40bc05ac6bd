"""The words that the program itself knows: they identify nobody, and its rules look for them.

They are all that stands in the texts of its modules: kinds, labels, suffixes of derived names,
reasons, words of messages. A table of them would be wrong as soon as somebody adds a rule.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import reporter

WORD: Final = re.compile(r"[A-Za-z0-9]+")
_NAME: Final = re.compile(r"[-.]?[A-Za-z0-9][-A-Za-z0-9./:_]*")
_FOLDERS: Final = (
    "catalogue",
    "diagnosis",
    "metrics",
    "model",
    "probes",
    "resolution",
    "stacks",
    "workload",
)
_FILES: Final = ("settings.py", "setting_types.py")
_KUBERNETES: Final = (
    "default kube-system kube-public kube-node-lease matchLabels matchExpressions app apps k8s io com sh "
    "dev org net svc cluster local nvidia amd gpu cpu memory ephemeral storage vllm http https grpc tcp "
    "metadata spec status name namespace kubernetes docker ghcr gcr quay registry mcr microsoft latest "
    "hostname topology region zone arch os linux amd64 arm64 instance agentpool component managed part "
    "version release revision template hash index generation controller"
)
"""What Kubernetes and its usual registries and hardware are called by."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What is kept when names are replaced.

    Attributes:
        names: whole names, such as `istio-system`.
        words: words in lower case.
        parts: those of them that names may be made of; the others are of prose and of paths.

    """

    names: frozenset[str]
    words: frozenset[str]
    parts: frozenset[str]


def vocabulary(settings: Iterable[str]) -> Vocabulary:
    """Return the words of the program and those of its settings, such as names of Deployments."""
    names = _texts() | frozenset(settings)
    made_of = (text for text in names if _NAME.fullmatch(text))
    return Vocabulary(names, _words(names), _words(made_of))


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word.lower() for text in texts for word in WORD.findall(text))


@cache
def _texts() -> frozenset[str]:
    root = Path(reporter.__file__).parent
    paths = [path for folder in _FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    paths += [root / name for name in _FILES]
    found = {text for path in paths for text in _of_module(path)}
    return frozenset(found | set(_KUBERNETES.split()))


def _of_module(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_bytes())
    prose = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value
