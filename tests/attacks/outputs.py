"""Characters that nobody sees, or that write on a terminal, in names, messages and names of files."""

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import yaml

from reporter.cli.main import main
from reporter.model.text import has_unseen
from reporter.yaml_reader.reading import read_yaml
from tests.attacks.attack import Outcome, attack, attacks

FORMATS = ("json", "yaml", "text", "events", "junit")
SIGNS = {
    "a next line (C1)": "\u0085",
    "a control sequence introducer (C1)": "\u009b31m",
    "an operating system command": "\x1b]0;x\x07",
    "a screen that is wiped": "\x1b[2J\x1b[H",
    "a carriage return": "\rOK\b\b",
    "ends of lines of Unicode": "\u2028\u2029",
    "writing from right to left": "\u202e\u2066",
    "no width": "\u200b\u2060\ufeff",
    "a soft hyphen": "\u00ad",
    "tags": "\U000e0041",
    "half of a pair": "\ud800",
    "a delete": "\x7f",
}


def _dump(sign):
    name = f"a{sign}b"
    waits = {"reason": f"CrashLoopBackOff{sign}", "message": f"back-off{sign}"}
    metadata = {"name": name, "namespace": "kaito-system", "labels": {"app": name}, "uid": name}
    return [
        {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "kaito-workspace", "namespace": "kaito-system"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}},
            "status": {
                "conditions": [{"type": "Available", "status": "False", "message": f"x{sign}y", "reason": f"R{sign}"}],
            },
        },
        {
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "status": {"containerStatuses": [{"name": name, "restartCount": 9, "state": {"waiting": waits}}]},
        },
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kaito-system"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": 5},
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"conditions": sign}},
    ]  # fmt: skip


def _said(*arguments):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        main(["check", "--now", "2026-11-20T12:00:00Z", *map(str, arguments)])
    return out.getvalue(), err.getvalue()


@attacks(SIGNS)
def _(folder, sign):
    path = os.fsdecode(os.fsencode(folder) + f"/d{sign}.json".encode("utf-8", "surrogatepass"))
    with open(path, "w") as file:  # noqa: PTH123  # a name that is no text
        json.dump(_dump(sign), file)
    raw, read = [], {}
    for name in FORMATS:
        out, err = _said(folder, "-o", name)
        read[name] = out
        if has_unseen(out + err) or "\x1b" in out + err or "\r" in out + err or "\x07" in out + err:
            raw.append(name)
    same = json.loads(read["json"]) == read_yaml(read["yaml"])
    return Outcome(
        held=not raw and same, figure=f"raw in {raw or 'no format'}, YAML is JSON: {same}"
    )


@attack("names of files that do not exist, and of contexts")
def _(folder):
    config = folder / "config"
    contexts = [
        {"name": f"c{sign}", "context": {"cluster": "x", "user": "x"}} for sign in SIGNS.values()
    ]
    config.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "contexts": contexts}))
    said = [_said(folder / f"x{sign}.yaml") for sign in SIGNS.values()]
    said += [_said("--kubeconfig", config, "--context", f"y{sign}") for sign in SIGNS.values()]
    raw = [
        text for each in said for text in each if has_unseen(text) or "\x1b" in text or "\r" in text
    ]
    return Outcome(held=not raw, figure=f"{len(said)} refusals, raw: {raw[:2]}")
