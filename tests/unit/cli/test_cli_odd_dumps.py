"""Dumps as people make them: what `check` concludes from what is missing, and what it prints."""

import json

import pytest
import yaml

from tests.tables import rows

NOW = "2026-11-20T12:00:00Z"
MODEL = "inferenceset/team/m"
PICKER = "m-inferencepool-epp"
MISSING_PICKER = (
    "inferencesetEPPNotReady",
    f"InferenceSet team/m: endpoint picker is missing (Deployment {PICKER})",
)


def obj(api_version, kind, name, *, namespace="team", labels=None, **rest):
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    metadata |= {"labels": labels} if labels else {}
    metadata |= rest.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def deployment(name, **rest):
    fields = {
        "spec": {"replicas": 1},
        "status": {
            "replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1,
            "conditions": [{"type": "Available", "status": "True"}],
        },
    }  # fmt: skip
    return obj("apps/v1", "Deployment", name, **{**fields, **rest})


def revised(version):
    return {"metadata": {"resourceVersion": version}}


def listed(*objects):
    return {"apiVersion": "v1", "items": [*objects], "kind": "List", "metadata": {}}


SET = obj(
    "kaito.sh/v1beta1", "InferenceSet", "m",
    labels={"kaito.sh/owned-by": "modeldeployment"}, spec={"replicas": 1},
)  # fmt: skip
OTHER = deployment("other")
NO_PODS = {"apiVersion": "v1", "kind": "PodList", "items": []}
NO_WORKSPACES = {"apiVersion": "kaito.sh/v1beta1", "kind": "WorkspaceList", "items": []}
MALFORMED = {"spec": 5}
HARNESS = {"productionstack.kaito.sh/managed-by": "modelharness"}
TEAM = obj("v1", "Namespace", "team", namespace="", labels=HARNESS)
BASE = {"base.yaml": yaml.safe_dump_all([NO_PODS, NO_WORKSPACES, TEAM])}


def text(*documents):
    return "".join(f"---\n{yaml.safe_dump(each)}" for each in documents)


@pytest.fixture
def check(run, tmp_path):
    """Return status, report and text of a dump that is written to files."""

    def check(content, *options):
        files = content if isinstance(content, dict) else {**BASE, "dump.yaml": content}
        folder = tmp_path / "dump"
        folder.mkdir(exist_ok=True)
        for name, each in files.items():
            (folder / name).write_text(each)
        argv = ("check", "--from", folder, "--now", NOW, *options)
        status, out, err = run(*argv, "-o", "json")
        return status, json.loads(out) if out else {}, run(*argv)[1] or err

    return check


def told(report):
    """What is said of the model, in short."""
    return {
        (each["reason"], each["message"])
        for each in report["findings"]
        if each["subject"] == MODEL and each["reason"] == "inferencesetEPPNotReady"
    }


@rows(
    ("documents", "is_told"),
    {
        "a neighbour is there": ([SET, OTHER], True),
        "nobody looked": ([SET], False),
        "a neighbour is malformed": ([SET, deployment("other", **MALFORMED)], True),
        "it is malformed itself": ([SET, deployment(PICKER, **MALFORMED)], False),
        "one without a name is in its namespace": ([SET, OTHER, deployment("", **MALFORMED)], False),
        "one without a name is elsewhere": ([SET, OTHER, {**deployment(""), "metadata": {"namespace": "elsewhere"}}], True),
        "one without a name and a namespace": ([SET, OTHER, {**deployment(""), "metadata": 5}], False),
        "it is there without a namespace": ([SET, OTHER, obj("apps/v1", "Deployment", PICKER, namespace="")], False),
        "another is there without a namespace": ([SET, OTHER, obj("apps/v1", "Deployment", "some", namespace="")], True),
        "another is in an unknown version": (
            [SET, OTHER, {**OTHER, "apiVersion": "apps/v1beta9", "metadata": {"name": "x"}}],
            True,
        ),
        "a neighbour is there twice": ([SET, deployment("other", **revised("7")), deployment("other", **revised("8"))], True),
    },
)  # fmt: skip
def test_a_missing_object_is_told_if_nothing_may_be_it(check, documents, is_told):
    """A malformed object is unknown itself; one without a name makes its kind unknown."""
    _, report, _ = check(text(*documents))
    assert told(report) == ({MISSING_PICKER} if is_told else set())


def test_a_skipped_object_stands_with_its_cause_and_what_it_makes_unknown(check):
    _, report, said = check(text(SET, OTHER, {**deployment(""), "metadata": {"namespace": "team"}}))
    skipped = {
        "resource": "deployments.apps", "namespace": "team", "name": "",
        "cause": "metadata.name is missing",
    }  # fmt: skip
    assert report["skipped"] == [skipped]
    cause = "an object of namespace team has no readable name"
    assert {"resource": "deployments.apps", "cause": cause} in report["unknown"]
    assert "Skipped (1):\n    deployments.apps team: metadata.name is missing" in said
    assert f"    deployments.apps: {cause}\n" in said


def test_errors_that_kubectl_wrote_into_the_file(check):
    """`2>&1` in a loop: they cost no document, and what was refused is unknown."""
    error = (
        'Error from server (Forbidden): deployments.apps is forbidden: User "u" cannot list resource'
        ' "deployments" in API group "apps" in the namespace "team"\n'
    )
    nothing = "No resources found in team namespace.\n"
    content = [yaml.safe_dump(listed(each)) for each in (SET, OTHER)]
    _, report, _ = check(nothing + content[0] + nothing + content[1])
    assert told(report) == {MISSING_PICKER}
    assert len(report["skipped"]) == 2
    _, report, said = check(error + content[0] + content[1])
    assert told(report) == set()
    assert {"resource": "deployments.apps", "cause": "forbidden"} in report["unknown"]
    assert "line 1: kubectl says: Error from server (Forbidden)" in " ".join(said.split())


def test_a_finding_without_an_age_does_not_claim_one(check):
    """A dump has no past; only `--observed-for` says how long it was so."""
    resting = {**SET, "spec": {"replicas": 0}}
    _, report, said = check(text(resting, OTHER))
    (finding,) = [each for each in report["findings"] if each["reason"] == MISSING_PICKER[0]]
    assert (finding["ageKnown"], finding["since"]) == (False, None)
    assert f"inferencesetEPPNotReady  {MODEL}  age unknown\n" in said
    _, report, said = check(text(resting, OTHER), "--observed-for", "300")
    (finding,) = [each for each in report["findings"] if each["reason"] == MISSING_PICKER[0]]
    assert finding["ageKnown"] is True
    assert f"inferencesetEPPNotReady  {MODEL}  for 5m\n" in said


def test_a_finding_without_an_age_is_no_older_than_its_object(check):
    down = deployment(PICKER, status={"replicas": 1})
    down["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    _, report, said = check(text(SET, down))
    (finding,) = [each for each in report["findings"] if each["related"]["kind"] == "Deployment"]
    assert (finding["ageKnown"], finding["notBefore"]) == (False, "2026-01-01T00:00:00Z")
    assert "  at most 323d  " in said


def test_nothing_fires_does_not_stand_alone_above_subjects_without_a_verdict(check):
    broken = obj("kaito.sh/v1beta1", "InferenceSet", "broken", spec=5)
    status, _, said = check(text({**SET, "spec": {"replicas": 0}}, deployment(PICKER), broken))
    assert status == 2
    assert said.startswith(f"Nothing fires, but 4 subjects have no verdict at {NOW} (--now).\n")
    assert "No verdict (4):\n    cluster\n    inferenceset/team/broken\n" in said


def test_where_nothing_can_be_judged_what_was_skipped_is_printed(check):
    """With its causes, and the commands that help; none makes refused kinds absent."""
    status, _, said = check({"a.yaml": text(TEAM), "b.yaml": "a: [", "c.json": "{"})
    assert status == 2
    assert "b.yaml: line" in said
    assert "c.json: line" in said
    assert "status-reporter check --from dump\n" in said
    assert "--complete" not in said
    status, _, said = check({"a.yaml": "x: [", "b.yaml": "a: [", "c.json": "{"})
    assert status == 2
    assert "a.yaml: line" in said
    assert "c.json: line" in said


def test_models_that_nobody_judges_are_named(check):
    """A model in a namespace that is left out is not healthy just because nothing is reported."""
    other = obj("v1", "Namespace", "elsewhere", namespace="")
    stray = {**SET, "metadata": {**SET["metadata"], "namespace": "elsewhere"}}
    left_out = "--model-namespaces=kubernetes.io/metadata.name!=elsewhere"
    other["metadata"]["labels"] = {"kubernetes.io/metadata.name": "elsewhere"}
    _, report, _ = check(text(listed(TEAM, other), SET, stray), left_out)
    (note,) = (each for each in report["notLookedAt"] if each.startswith("Not judged"))
    assert note == (
        "Not judged: InferenceSet elsewhere/m; only those in namespaces that --model-namespaces "
        "selects are."
    )


def test_kinds_that_nothing_judges_are_named(check):
    """RAGEngines are of KAITO too, and no reason is about them; a dump without them misses none."""
    engines = [obj("kaito.sh/v1beta1", "RAGEngine", name, namespace="rag") for name in ("b", "a")]
    _, report, _ = check(text(listed(TEAM), SET, *engines))
    (note,) = (each for each in report["notLookedAt"] if "RAGEngine" in each)
    assert note == "Not judged: RAGEngine rag/a and 1 more; nothing judges RAGEngines."
    assert "RAGEngine" not in str(check(text(listed(TEAM), SET))[1])
