"""Why pods of a workload could not be made: who refused them at admission, and for what.

No pod exists, so nothing of a pod says so. A ReplicaSet and its Deployment have the condition
`ReplicaFailure`; of a StatefulSet, a Job, a DaemonSet, a LeaderWorkerSet and of Kthena's groups
only Events tell (kubernetes pkg/controller/controller_utils.go and statefulset; apiserver
pkg/admission). Their controllers try again in minutes, and each attempt says the same.
"""

import re
from dataclasses import replace
from typing import Final

from reporter.diagnosis.texts import Context, TextRow, end_of, meaning
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import KubeObject
from reporter.model.subject import ObjectRef
from reporter.snapshot.snapshot import Snapshot

_CREATES: Final = frozenset({"FailedCreate", "FailedCreatePod", "FailedCreateWorkerStatefulSet"})
_SERVICE: Final = re.compile(
    r"https?://(?P<name>[a-z0-9-]{1,63})\.(?P<namespace>[a-z0-9-]{1,63})\.svc"
)

_QUOTA: Final = r"[^\n,]{1,120}(?:,[^\n,:]{1,120}=[^\n,:]{1,60})*"

REFUSES_ALL: Final = "webhook-down"
"""A webhook that cannot be asked: with failurePolicy Fail no pod is made that it would be asked about."""

REFUSALS: Final = (
    TextRow("quota", rf"exceeded quota: (?P<name>[^,\s]{{1,253}}), requested: (?P<asks>{_QUOTA}), "
        rf"used: (?P<used>{_QUOTA}), limited: (?P<limited>{_QUOTA})",
        "ResourceQuota {name} is used up: asked for {asks}, used {used}, limited {limited}",
        "Free some of it, or raise ResourceQuota {namespace}/{name}.", "ResourceQuota"),
    TextRow("quota", r"failed quota: (?P<name>[^:\s]{1,253}): must specify (?P<what>[^\n\]]{1,200})",
        "ResourceQuota {name} wants each pod to say {what}",
        "Set {what} on its containers, or add a LimitRange with defaults.", "ResourceQuota"),
    TextRow("limit-range", r"(?P<what>(?:maximum|minimum) [\w./-]{1,80} usage per \w{1,20} is [^\n,]{1,60}"
        r"(?:, but [^\n,.\]]{1,60}|\.  ?No \w{1,10} is specified))",
        "a LimitRange of namespace {namespace} refuses it: {what}",
        "Change the container's requests and limits, or the LimitRange."),
    TextRow("pod-security", r'violates PodSecurity "(?P<level>[^"]{1,80})": (?P<what>[^\n]{1,260})',
        "Pod Security {level} of namespace {namespace} refuses it: {what}",
        "Set securityContext as it asks, or change the namespace's pod-security label."),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}'
        r"(?:no endpoints available for|endpoints? \S{1,80} not found for) service",
        "webhook {webhook} refuses every pod: {service} has no endpoint",
        "Start what stands behind {service}.", "Service"),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}'
        r'service "[^"]{1,253}" not found',
        "webhook {webhook} refuses every pod: {service} does not exist",
        "Remove the webhook's configuration, or install what it belongs to.", "Service", missing=True),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}'
        r"no service port (?P<port>\S{1,20}) found for service",
        "webhook {webhook} refuses every pod: {service} has no port {port}",
        "Correct the port in the webhook's configuration, or in {service}.", "Service"),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}?'
        r"(?P<why>connection refused|context deadline exceeded|x509: [^\n]{1,120}|i/o timeout|EOF)",
        "webhook {webhook} refuses every pod: {service} fails ({why})",
        "Look at what stands behind {service}.", "Service"),
    TextRow("webhook-denies", r'admission webhook "(?P<webhook>[^"]{1,253})" denied the request: (?P<what>[^\n]{1,300})',
        "webhook {webhook} refuses it: {what}", "Do as it says, or change its policy."),
    TextRow("policy-denies", r"ValidatingAdmissionPolicy '(?P<policy>[^']{1,253})'[^\n]{0,300}?denied request: (?P<what>[^\n]{1,300})",
        "ValidatingAdmissionPolicy {policy} refuses it: {what}", "Do as it says, or change the policy."),
    TextRow("service-account", r'(?:error looking up service account|service account) \S{1,253}: serviceaccount "(?P<name>[^"]{1,253})" not found',
        "ServiceAccount {name} does not exist", "Create ServiceAccount {namespace}/{name}.",
        "ServiceAccount", missing=True),
    TextRow("priority-class", r"no PriorityClass with name (?P<name>\S{1,253}) was found",
        "PriorityClass {name} does not exist", "Create it, or remove priorityClassName."),
    TextRow("runtime-class", r'RuntimeClass(?:\.node\.k8s\.io)? "(?P<name>[^"]{1,253})" not found',
        "RuntimeClass {name} does not exist",
        "Create it (the GPU operator does for nvidia), or remove runtimeClassName."),
    TextRow("invalid", r" is invalid: (?P<what>\[?spec[^\n]{1,300})", "its pod template is invalid: {what}",
        "Correct the template."),
    TextRow("namespace-ends", r"because it is being terminated", "namespace {namespace} is being deleted",
        "Wait for it, or use another namespace."),
)  # fmt: skip


def refusal(text: str | None, namespace: str) -> Diagnosis | None:
    """Return who refused a pod and for what, by what its controller says; None where it is not known."""
    found = meaning(REFUSALS, text, Context(namespace=namespace), service=_service(text or ""))
    if found is None or found.code != REFUSES_ALL:
        return found
    service = _SERVICE.search(text or "")
    if service is None:
        return found
    ref = ObjectRef("v1", "Service", service["namespace"], service["name"])
    return replace(found, object=ref, shared=True)


def _service(text: str) -> str:
    found = _SERVICE.search(text)
    return f"Service {found['namespace']}/{found['name']}" if found else "its service"


def why_not_made(kind: str, owner: KubeObject | ObjectRef, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a workload's pods are not made, by the newest Event of its controller about it."""
    for each in snapshot.evidence.events_about(owner.namespace, kind, owner.name):
        if each.reason in _CREATES:
            found = refusal(each.message, owner.namespace)
            return found or Diagnosis(
                code="not-made",
                cause=end_of(each.message, 300),
                brief=each.reason,
                sureness=Sureness.UNKNOWN,
            )
    return None
