"""Our Events on record, and the objects that they are mirrored on."""

from datetime import timedelta

from reporter.catalogue.reasons import HARNESS_GATEWAY_PROGRAMMING
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.sinks.events.plan import finding_event, ready_event
from reporter.sinks.mirror.plan import plan_mirrors
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, MODEL_EPP, MODEL_READY
from tests.unit.probes.building import NOW, at, document, namespace, snapshot_of
from tests.unit.sinks.events.test_plan import finding, stored
from tests.unit.sinks.events.test_plan import ready as ready_subject

SPACE = ObjectRef("v1", "Namespace", "", "chat", "uid-chat")
MODEL = Subject(INFERENCESET_KIND, "chat", "llama")
HARNESS = Subject.of_namespace("chat")
EPP = ObjectRef("apps/v1", "Deployment", "chat", "llama-epp", "uid-llama-epp")
GATEWAY = ObjectRef("gateway.networking.k8s.io/v1", "Gateway", "chat", "gateway", "uid-gateway")
LLAMA = document("InferenceSet", "llama", "chat")
OBJECTS = (namespace("chat"), LLAMA, document("Gateway", "gateway", "chat"))


def fired(
    subject=MODEL,
    *,
    related=EPP,
    message="the endpoint picker is down",
    state="firing",
    ago=5.0,
    first=120.0,
    count=1,
    reason=None,
):
    """The record of a Warning that was first written so many seconds before noon, and last later."""
    reason = reason or {MODEL: MODEL_EPP, HARNESS: HARNESS_GATEWAY_PROGRAMMING}.get(
        subject, "clusterBBRNotReady"
    )
    told = finding(
        reason=reason, subject=subject, involved=SPACE, related=related, message=message,
        since=NOW - timedelta(minutes=9),
    )  # fmt: skip
    body = finding_event(told, NOW - timedelta(seconds=first), "pod")
    last = NOW - timedelta(seconds=ago)
    return stored({**body, "lastTimestamp": f"{last:%FT%TZ}"}, state=state, count=count)


def ready(*, ago=5.0, subject=MODEL, reason=MODEL_READY):
    """The record of a recovery."""
    told = ready_subject(reason=reason, subject=subject, involved=SPACE, related=SPACE)
    return stored(ready_event(told, NOW - timedelta(seconds=ago), "pod"), state="over")


def planned(*records, applied=None, snapshot=None, after=0.0):
    """The plan so many seconds after noon."""
    snapshot = snapshot or snapshot_of(*OBJECTS)
    return plan_mirrors(
        records,
        applied or {},
        snapshot,
        catalogue=BUILT_IN,
        now=at(after),
        resync=timedelta(seconds=60),
    )


def made(plan):
    """What is remembered after all writes of a plan."""
    return {each.mirror.name: each.applied for each in plan.writes}


__all__ = [
    "CLUSTER", "EPP", "GATEWAY", "HARNESS", "LLAMA", "MODEL", "OBJECTS", "fired", "made", "planned", "ready",
]  # fmt: skip
