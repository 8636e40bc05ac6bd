"""Two things of one name have one meaning: each name that occurs twice has a cause here."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.unit.docs.pages import ROOT

SOURCES = sorted(path for each in ("reporter", "lab") for path in (ROOT / each).rglob("*.py"))

_SANDBOX = "the sandbox serves what the reporter asks for"
_STACKS = "each stack has one"
_SINKS = "each kind of write has one"
_DERIVED = "in `derived` it is computed, in `probes` judged"
_PROBES = "the probes of several kinds of subjects look at the same thing"

SAME_CLASSES = {
    "Resource": _SANDBOX,
}
"""Public classes; a private one is known in its module only."""

SAME_MODULES = {
    "credentials": "how the API server is asked, and what a text must not show",
    "conditions": _DERIVED + "; of custom components too",
    "decode": "objects of the API in `kube`, of a dump in `snapshot`",
    "discovery": _SANDBOX,
    "dump": "the command that writes one, and what reads it",
    "errors": "each package has its own at its edge",
    "evidence": "the values in `model`, what reads them in `daemon`",
    "facts": _STACKS,
    "groups": _DERIVED,
    "history": "the sink, and the command that shows it",
    "logs": "of containers: what they say, where dumps hold them; of the program itself in `daemon`",
    "main": "the entry of a command",
    "names": "of Kubernetes, of OtterScale's objects, of vLLM's metrics",
    "objects": _STACKS + "; " + _SANDBOX,
    "output": "the contract of the stacks, and what Kthena's stack makes of it",
    "plan": _SINKS,
    "pod": "why it does not run; what its status says alone in `workload`",
    "pods": _PROBES + "; the type in `model`",
    "reading": "each kind of input has one: a page, YAML, a cluster",
    "probes": _STACKS,
    "reasons": _STACKS + "; the shared ones in `catalogue`",
    "render": "the tables, for pages; the objects of a ModelService",
    "resources": _STACKS + "; the shared ones in `catalogue`; " + _SANDBOX,
    "revisions": _STACKS + "; " + _DERIVED,
    "sandbox": "the server, and the command that runs it",
    "scope": _PROBES,
    "server": "of the daemon's listeners, the sandbox and a simulated pod",
    "settings": _STACKS + "; the shared ones",
    "stack": "what the tables hold of one in `model`, the whole in `stacks`",
    "state": "of the daemon for its listeners; of the resolution from pass to pass",
    "status": "of a workload: derived, or judged; the command of that name",
    "storage": "claims and volumes of pods in `diagnosis`; what the sandbox keeps",
    "ways": "to a model, in `served`; which parts a request passes, in `catalogue`",
    "writer": _SINKS,
}


def _same(names):
    """Return the names that several files have; `names` are pairs of a name and its file."""
    files = defaultdict(set)
    for name, path in names:
        files[name].add(path)
    return {name: sorted(map(str, found)) for name, found in files.items() if len(found) > 1}


def _classes(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, path.relative_to(ROOT)


def test_classes_of_one_name_have_a_cause():
    """Whoever reads `Row` should not have to ask which one; rename one, or say why not."""
    found = _same(each for path in SOURCES for each in _classes(path))
    assert set(found) == set(SAME_CLASSES), found


def test_modules_of_one_name_have_a_cause():
    found = _same((path.stem, path.relative_to(ROOT)) for path in SOURCES if path.stem[0] != "_")
    assert set(found) == set(SAME_MODULES), found
