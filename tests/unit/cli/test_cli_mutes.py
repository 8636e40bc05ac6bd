"""`check` honours mutes: of a dump just as of a cluster."""

import json
from dataclasses import replace

from reporter.cli.judged import in_namespace
from reporter.model.report import Disposition, Mute, MuteFault
from reporter.model.subject import CLUSTER, ObjectRef
from tests.unit.sinks.events.test_plan import finding, report

KAITO = "clusterKaitoControllerNotReady"
NOW = ("--now", "2026-11-20T12:00:00Z")


def dump(tmp_path, **annotations):
    """A component that is down."""
    path = tmp_path / "dump.json"
    deployment = {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "kaito-workspace", "namespace": "kaito-system", "resourceVersion": "999999999",
            "annotations": {f"status-reporter.io/{key}": text for key, text in annotations.items()},
        },
        "spec": {"replicas": 0}, "status": {"replicas": 0},
    }  # fmt: skip
    path.write_text(json.dumps(deployment))
    return path


def test_what_is_muted_does_not_make_the_exit_status_1(run, tmp_path):
    assert run("check", "--from", dump(tmp_path), *NOW)[0] == 1
    status, out, _ = run("check", "--from", dump(tmp_path, mute=KAITO), *NOW)
    assert status == 0
    assert "muted on Deployment kaito-system/kaito-workspace" in out
    assert run("check", "--from", dump(tmp_path, mute=KAITO), *NOW, "-o", "events")[1] == ""


def test_the_time_of_the_dump_ends_a_mute(run, tmp_path):
    until = {"mute": KAITO, "mute-until": "2026-11-20T12:00:01Z"}
    assert run("check", "--from", dump(tmp_path, **until), *NOW)[0] == 0
    until["mute-until"] = "2026-11-20T12:00:00Z"
    status, out, _ = run("check", "--from", dump(tmp_path, **until), *NOW, "-o", "json")
    assert status == 1
    (fault,) = json.loads(out)["muteFaults"]
    assert fault["text"] == "the mute ended at 2026-11-20T12:00:00Z and mutes nothing any more"


def test_one_namespace_has_its_mutes_and_those_of_the_cluster():
    here, other, cluster, elsewhere = (
        Mute(ObjectRef("v1", kind, namespace, name), (KAITO,))
        for kind, namespace, name in (
            ("Namespace", "", "chat"),
            ("Namespace", "", "other"),
            ("Deployment", "kaito-system", "kaito-workspace"),
            ("Pod", "other", "p"),
        )
    )
    faults = tuple(MuteFault(each.object, "wrong") for each in (here, other))
    of_cluster = finding(Disposition.MUTED, subject=CLUSTER, mutes=(cluster,))
    whole = replace(report(of_cluster), mutes=(here, other, cluster, elsewhere), mute_faults=faults)
    part = in_namespace(whole, "chat")
    assert part.mutes == (here, cluster)
    assert part.mute_faults == faults[:1]
