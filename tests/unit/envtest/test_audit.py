"""Reading the API server's audit log."""

import json

import pytest

from e2e.envtest.audit import requests

ALLOWED = {"authorization.k8s.io/decision": "allow"}
USER = "system:serviceaccount:one:reporter"


def line(stage="ResponseComplete", verb="list", code=200, **more):
    return {
        "stage": stage,
        "verb": verb,
        "requestURI": "/api/v1/pods",
        "requestReceivedTimestamp": "2026-11-20T10:00:00.000000Z",
        "user": {
            "username": USER,
            "extra": {"authentication.kubernetes.io/pod-name": ["replica-a"]},
        },
        "objectRef": {"resource": "pods", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": code},
        "annotations": ALLOWED,
        **more,
    }


def written(tmp_path, *lines):
    log = tmp_path / "audit.log"
    log.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return log


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        ([line(verb="watch", stage="ResponseStarted"), line(verb="watch")], [200]),
        ([line(verb="watch", code=403)], [403]),
        ([line(stage="ResponseStarted", verb="get"), line(verb="get")], [200]),
        ([line(verb="get", stage="Panic", code=500)], [500]),
    ],
    ids=["watch", "refused watch", "long request", "panic"],
)
def test_each_request_counts_once(tmp_path, lines, codes):
    assert [each.code for each in requests(written(tmp_path, *lines))] == codes


def test_request_says_who_did_what(tmp_path):
    lease = {
        "resource": "leases",
        "apiGroup": "coordination.k8s.io",
        "namespace": "kube-system",
        "name": "it",
    }
    log = written(tmp_path, line(verb="update", code=201, objectRef=lease))
    (request,) = requests(log)
    assert (request.pod, request.verb, request.resource) == (
        "replica-a",
        "update",
        "leases.coordination.k8s.io",
    )
    assert (request.namespace, request.name) == ("kube-system", "it")
    assert request.allowed
    assert request.writes


def test_subresource_is_part_of_the_resource(tmp_path):
    status = {"resource": "pods", "subresource": "proxy", "namespace": "n", "name": "p"}
    (request,) = requests(written(tmp_path, line(objectRef=status)))
    assert request.resource == "pods/proxy"


def test_request_of_nobody_known_is_not_allowed(tmp_path):
    (request,) = requests(written(tmp_path, line(code=401, annotations={})))
    assert not request.allowed


def test_others_earlier_ones_and_a_line_being_written_are_left_out(tmp_path):
    log = written(tmp_path, line(code=200), line(code=201))
    start = log.stat().st_size
    with log.open("a") as more:
        for each in (line(code=202), line(code=203, user={"username": "admin"})):
            more.write(json.dumps(each) + "\n")
        more.write('{"stage":')
    assert [each.code for each in requests(log, USER, since=start)] == [202]
