"""Write what one tree of this program says of given inputs, as JSON; run as a file, with that tree's code.

Only what is stable from commit to commit is used: the command line with its JSON, and the harness of the
scenarios and of the clusters of the tree at hand. What cannot be evaluated is a verdict too.
"""

import contextlib
import importlib
import io
import json
import sys
import traceback
from pathlib import Path

DUMPS = ("examples", "tests/incidents", "tests/unit/diagnosis")


def dumps(root: Path):
    """Yield each folder that is a dump: one with manifests directly in it."""
    for top in DUMPS:
        folders = sorted({each.parent for each in (root / top).rglob("*.yaml")})
        for folder in folders:
            files = folder.glob("*.yaml")
            if any("\napiVersion:" in f"\n{each.read_text()}" for each in files):
                yield f"{folder.relative_to(root)}", folder


def said_of(document) -> dict[str, str]:
    """Return a report in JSON as lines by what they are about."""
    lines = {}
    for each in document.get("findings", ()):
        about = each["involvedObject"]
        key = f"{each['reason']} {each['subject']} {about['kind']}/{about['name']}"
        primary = " primary" if each["primary"] else ""
        lines[f"finding {key}"] = f"{each['disposition']}{primary} by={each['by']}"
        lines[f"message {key}"] = each["message"]
        lines[f"impact {key}"] = json.dumps(each.get("impact"), sort_keys=True)
    for each in document.get("subjects", ()):
        lines[f"state {each['subject']}"] = each["state"]
    for each in document.get("ready", ()):
        lines[f"ready {each['subject']}"] = each["reason"]
    for each in document.get("events", ()):
        labels = each["metadata"]["labels"]
        place = "/".join(
            labels.get(f"status-reporter.io/subject-{part}", "")
            for part in ("kind", "namespace", "name")
        )
        involved = each["involvedObject"]
        key = f"event {each['reason']} {place} {involved['kind']}/{involved['name']}"
        lines[key] = f"{each['type']} {each['message']}"
    return lines


def of_dump(folder: Path) -> dict[str, str]:
    """Return what `check` says of a dump."""
    main = importlib.import_module("reporter.cli.main").main
    out, err = io.BytesIO(), io.StringIO()
    text = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(err):
        status = main(["check", "--from", str(folder), "-o", "json"])
    try:
        return said_of(json.loads(out.getvalue()))
    except ValueError:
        return {"not evaluated": f"exit {status}: {err.getvalue().strip()[-500:]}"}


def of_report(report, settings) -> dict[str, str]:
    """Return what a report of a pass says."""
    document = importlib.import_module("reporter.sinks.report_json").report_document
    return said_of(document(report, settings))


def of_scenario(case) -> dict[str, str]:
    """Return what is said at each step of a scenario."""
    harness = importlib.import_module("tests.scenarios.test_scenarios")
    run, lines = harness.Run(case), {}
    for number, step in enumerate(case["steps"]):
        run.go_to(harness.span(step.get("at", 0)))
        run.take(step)
        said = of_report(run.report, run.settings)
        lines |= {f"step {number} {key}": value for key, value in said.items()}
    return lines


def of_cluster(name, removed) -> dict[str, str]:
    """Return what is said of a cluster, whole or without one of its objects."""
    harness = importlib.import_module("tests.clusters.test_clusters")
    world = harness.world_of(name)
    if removed:
        harness.without(world, removed)
    return of_report(harness.look(world)[0], harness.SETTINGS)


def cases(root: Path):
    """Yield the name of each input and how to judge it."""
    yaml = importlib.import_module("yaml")
    for name, folder in dumps(root):
        yield f"dump {name}", lambda folder=folder: of_dump(folder)
    for path in sorted((root / "tests/scenarios").glob("*.yaml")):
        for case in yaml.safe_load(path.read_text())["cases"]:
            yield f"scenario {path.stem}/{case['id']}", lambda case=case: of_scenario(case)
    clusters = yaml.safe_load((root / "tests/clusters/clusters.yaml").read_text())
    for name, cluster in clusters.items():
        for removed in ("", *cluster["removed"]):
            title = f"cluster {name}" + (f" without {removed}" if removed else "")
            yield title, lambda name=name, removed=removed: of_cluster(name, removed)


def collected(root: Path, only: str) -> dict[str, dict[str, str]]:
    """Return what is said of each input below `root` whose name contains `only`."""
    verdicts = {}
    for name, judge in cases(root):
        if only not in name:
            continue
        try:
            verdicts[name] = judge()
        except Exception:  # noqa: BLE001 - an input that this tree cannot read is a verdict
            said = traceback.format_exc().splitlines()[-1]
            verdicts[name] = {"not evaluated": said}
    return verdicts


if __name__ == "__main__":
    tree, inputs, out, chosen = sys.argv[1:]
    sys.path[:] = [
        tree,
        *(each for each in sys.path if Path(each).resolve() != Path(__file__).parent),
    ]
    Path(out).write_text(json.dumps(collected(Path(inputs), chosen)))
