"""A pod at fault, with the Events about it and how its containers ended; refused pods.

An exit code above 128 is 128 plus the signal that ended the process (Kubernetes, "Determine the
Reason for Pod Failure"; POSIX shells). The kubelet keeps the termination message in the pod's
status: the text that the container wrote to its `terminationMessagePath`, or the end of its log
with `terminationMessagePolicy: FallbackToLogsOnError`.

A pod that is refused at admission does not exist, so no pod's status names the cause. A ReplicaSet
and its Deployment have the condition `ReplicaFailure`; for a StatefulSet, a Job, a DaemonSet, a
LeaderWorkerSet and Kthena's groups, only Events name it (kubernetes
pkg/controller/controller_utils.go and statefulset; apiserver pkg/admission). Their controllers
retry within minutes, and each attempt repeats the message.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from reporter.catalogue.resources import NODES
from reporter.diagnosis import reach
from reporter.diagnosis.reach import NoPod
from reporter.diagnosis.texts import Context, TextRow, end_of, meaning
from reporter.model.evidence import ForeignEvent, LogCause
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import Container, ContainerStatus, KubeObject, Pod
from reporter.model.objects.pods import Terminated
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, clean_lines, cut
from reporter.snapshot.snapshot import Snapshot

NAME_BYTES = 253
CRASH_LOOP: Final = "CrashLoopBackOff"


def statuses(pod: Pod) -> Iterator[ContainerStatus]:
    """Yield the statuses of all containers of a pod, init containers first."""
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def last_end(status: ContainerStatus) -> Terminated | None:
    """Return how a container ended, now or before its last restart, or None."""
    return status.ended or status.ended_before


def has_run(pod: Pod) -> bool:
    """True if a container of the pod runs, or ended and was not restarted."""
    return any(each.running or each.ended for each in statuses(pod))


def is_error(ended: Terminated | None) -> bool:
    return ended is not None and (
        ended.exit_code != 0 or ended.reason in {"Error", "OOMKilled", "DeadlineExceeded"}
    )


def loops(status: ContainerStatus) -> bool:
    """True if the kubelet backs off before it restarts a container that ended too often."""
    return status.waiting is not None and status.waiting.reason == CRASH_LOOP


@dataclass(frozen=True, slots=True)
class Case:
    pod: Pod
    snapshot: Snapshot

    @property
    def node(self) -> str:
        return cut(clean(self.pod.spec.node_name or ""), NAME_BYTES)

    def spec(self, name: str) -> Container | None:
        """Return the container or init container of that name in the pod's spec."""
        spec = self.pod.spec
        every = (*(spec.containers or ()), *(spec.init_containers or ()))
        return next((each for each in every if each.name == name), None)

    def words(self, name: str) -> str:
        """Return the name of a container for messages, with its kind: `init container fetch`."""
        init = any(each.name == name for each in self.pod.status.init_container_statuses or ())
        spec = self.spec(name)
        kind = "sidecar" if spec and spec.restart_policy == "Always" else "init container"
        return f"{kind if init else 'container'} {cut(clean(name), NAME_BYTES)}"

    def lacks_limit(self, name: str) -> bool:
        """True if neither a container nor its pod as a whole has a memory limit."""
        spec, whole = self.spec(name), self.pod.spec.resources
        return spec is not None and not any(
            "memory" in (each.limits or {}) for each in (spec.resources, whole) if each is not None
        )

    def place(self, name: str = "") -> Context:
        """Return the values that texts about the pod, or one of its containers, may use."""
        spec = self.spec(name) if name else None
        node = self.snapshot[NODES].get("", self.pod.spec.node_name or "")
        processor = node.metadata.label("kubernetes.io/arch") if node else ""
        asked = (spec.security_context if spec else None, self.pod.spec.security_context)
        users = (each.run_as_user for each in asked if each is not None)
        limits = (spec.resources.limits if spec and spec.resources else None) or {}
        return Context(
            namespace=self.pod.namespace,
            image=spec.image if spec else "",
            node=self.node,
            container=cut(clean(name), NAME_BYTES),
            limit=cut(clean(f"{limits.get('memory', '')}"), 40),
            processor=cut(clean(processor or ""), 40),
            user=next((each for each in users if each is not None), None),
        )

    @property
    def events(self) -> tuple[ForeignEvent, ...]:
        """The Events of others about the pod, the newest first."""
        return self.snapshot.evidence.events_of("Pod", self.pod)

    def events_with(self, reason: str, container: str = "") -> Iterator[ForeignEvent]:
        """Yield the Events of a reason, newest first; only those about `container`, if given."""
        alone = sum(not each.ready for each in statuses(self.pod)) <= 1
        named = re.compile(rf"\b{re.escape(container)}\b")
        for each in self.events:
            of_it = f"{{{container}}}" in each.field_path or (
                not each.field_path and (alone or named.search(each.message) is not None)
            )
            if each.reason == reason and (not container or of_it):
                yield each

    def log(self, container: str) -> LogCause:
        """Return what a container's log shows; nothing, not even `read`, if it was not read."""
        found = self.snapshot.evidence.log_of(self.pod.namespace, self.pod.name, container)
        return found or LogCause(read=False)


_MEANING: Final = {
    125: "the container could not be run",
    126: "its command cannot be executed",
    127: "its command was not found",
    130: "interrupted",
    132: "illegal instruction: built for another processor",
    134: "it aborted itself",
    135: "bus error, often shared memory that is full",
    136: "arithmetic error",
    137: "killed by a probe, a stop past its grace, or for memory",
    139: "crashed with a segmentation fault",
    143: "asked to stop",
}
_WORDS_BYTES: Final = 240
_RUNNING: Final = re.compile(
    r"""(?x)
      (?:\d{4}[-/])?\d\d?[-/]\d\d?[T\ ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?
    | \b\d\d:\d\d:\d\d(?:[.,]\d+)?
    | \bpid[=:\ ]\ ?\d+
    """
)
"""Values that differ from crash to crash: times, process ids. Messages must be stable."""


def exit_words(code: int, reason: str | None = None) -> str:
    """Return an exit code with its meaning: `exit code 143: asked to stop`."""
    meaning = _MEANING.get(code, "")
    if reason == "OOMKilled":
        meaning = "killed, out of memory"
    return f"exit code {code}: {meaning}" if meaning else f"exit code {code}"


def last_words(message: str | None) -> str:
    """Return the last line of a termination message, clean, cut, without times and process ids."""
    lines = clean_lines(message or "")
    if not lines:
        return ""
    line = _RUNNING.sub("", lines[-1])
    return cut(" ".join(line.split()), _WORDS_BYTES)


def ending(ended: Terminated) -> str:
    """Return a suffix for the end of a container: its exit code and its last words."""
    words = last_words(ended.message)
    return f" ({exit_words(ended.exit_code, ended.reason)})" + (f": {words}" if words else "")


_CREATES: Final = frozenset({"FailedCreate", "FailedCreatePod", "FailedCreateWorkerStatefulSet"})
_SERVICE: Final = re.compile(
    r"https?://(?P<name>[a-z0-9-]{1,63})\.(?P<namespace>[a-z0-9-]{1,63})\.svc"
)

_QUOTA: Final = r"[^\n,]{1,120}(?:,[^\n,:]{1,120}=[^\n,:]{1,60})*"

REFUSES_ALL: Final = "webhook-down"
"""A webhook is unreachable: with failurePolicy Fail, all requests that it covers fail."""

REFUSALS: Final = (
    TextRow("quota", rf"exceeded quota: (?P<name>[^,\s]{{1,253}}), requested: (?P<asks>{_QUOTA}), "
        rf"used: (?P<used>{_QUOTA}), limited: (?P<limited>{_QUOTA})",
        "ResourceQuota {name} is used up: asked for {asks}, used {used}, limited {limited}",
        "Free some of it, or raise ResourceQuota {namespace}/{name}.", "ResourceQuota"),
    TextRow("quota", r"failed quota: (?P<name>[^:\s]{1,253}): must specify "
        r"(?P<what>[^\n\]]{1,200})",
        "ResourceQuota {name} wants each pod to say {what}",
        "Set {what} on its containers, or add a LimitRange with defaults.", "ResourceQuota"),
    TextRow("limit-range",
        r"(?P<what>(?:maximum|minimum) [\w./-]{1,80} usage per \w{1,20} is [^\n,]{1,60}"
        r"(?:, but [^\n,.\]]{1,60}|\.  ?No \w{1,10} is specified))",
        "a LimitRange of namespace {namespace} refuses it: {what}",
        "Change the container's requests and limits, or the LimitRange."),
    TextRow("pod-security", r'violates PodSecurity "(?P<level>[^"]{1,80})": '
        r'(?=[^\n]{0,260}"istio-init")(?P<what>[^\n]{1,260})',
        "Pod Security {level} of namespace {namespace} refuses it: {what}",
        "Install Istio's CNI plugin, with which pods need no istio-init; for the rest set "
        "securityContext as it asks, or change the namespace's pod-security label."),
    TextRow("pod-security", r'violates PodSecurity "(?P<level>[^"]{1,80})": (?P<what>[^\n]{1,260})',
        "Pod Security {level} of namespace {namespace} refuses it: {what}",
        "Set securityContext as it asks, or change the namespace's pod-security label."),
    TextRow("scc", r"any security context constraint: \[(?P<what>[^\]\n][^\n]{0,259})",
        "no security context constraint of OpenShift allows it: {what}",
        "Change its securityContext, or give its ServiceAccount an SCC that allows it."),
    TextRow("scc", r"unable to validate against any security context constraint",
        "no security context constraint of OpenShift allows it",
        "Change its securityContext, or give its ServiceAccount an SCC that allows it."),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}'
        r"(?:no endpoints available for|endpoints? \S{1,80} not found for) service",
        "webhook {webhook} refuses every pod: {service} has no endpoint",
        "Start what stands behind {service}.", "Service"),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}'
        r'service "[^"]{1,253}" not found',
        "webhook {webhook} refuses every pod: {service} does not exist",
        "Remove the webhook's configuration, or install what it belongs to.", "Service",
        missing=True),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}'
        r"no service port (?P<port>\S{1,20}) found for service",
        "webhook {webhook} refuses every pod: {service} has no port {port}",
        "Correct the port in the webhook's configuration, or in {service}.", "Service"),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}?'
        r"(?P<why>x509: certificate has expired[^\n]{0,120})",
        "webhook {webhook} refuses every pod: {service} fails ({why})",
        "Renew the certificate of {service}; compare the clocks if it is valid.", "Service"),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}?'
        r"(?P<why>x509: [^\n]{1,120})",
        "webhook {webhook} refuses every pod: {service} fails ({why})",
        "The API server does not trust {service}: compare its certificate with its name, and with "
        "caBundle in the webhook's configuration.", "Service"),
    TextRow(REFUSES_ALL, r'failed calling webhook "(?P<webhook>[^"]{1,253})"[^\n]{0,600}?'
        r"(?P<why>connection refused|context deadline exceeded|i/o timeout|EOF"
        r"|no such host|no route to host|bad certificate)",
        "webhook {webhook} refuses every pod: {service} fails ({why})",
        "Look at the pods behind {service}.", "Service"),
    TextRow("webhook-denies",
        r'admission webhook "(?P<webhook>[^"]{1,253})" denied the request: GKE Warden rejected the '
        r"request[^\n]{0,200}\nViolations details: [^\n]{0,200}?\[\"(?P<what>[^\"\n]{1,300})",
        "webhook {webhook} refuses it: {what}", "Do as it says, or change its policy."),
    TextRow("webhook-denies",
        r'admission webhook "(?P<webhook>[^"]{1,253})" denied the request: (?P<what>[^\n]{1,300})',
        "webhook {webhook} refuses it: {what}", "Do as it says, or change its policy."),
    TextRow("policy-denies",
        r"ValidatingAdmissionPolicy '(?P<policy>[^']{1,253})'[^\n]{0,300}?denied request: "
        r"(?P<what>[^\n]{1,300})",
        "ValidatingAdmissionPolicy {policy} refuses it: {what}",
        "Do as it says, or change the policy."),
    TextRow("service-account",
        r'(?:error looking up service account|service account) \S{1,253}: serviceaccount '
        r'"(?P<name>[^"]{1,253})" not found',
        "ServiceAccount {name} does not exist", "Create ServiceAccount {namespace}/{name}.",
        "ServiceAccount", missing=True),
    TextRow("priority-class", r"no PriorityClass with name (?P<name>\S{1,253}) was found",
        "PriorityClass {name} does not exist", "Create it, or remove priorityClassName."),
    TextRow("runtime-class", r'RuntimeClass(?:\.node\.k8s\.io)? "(?P<name>[^"]{1,253})" not found',
        "RuntimeClass {name} does not exist",
        "Create it (the GPU operator does for nvidia), or remove runtimeClassName."),
    TextRow("invalid", r" is invalid: (?P<what>\[?spec[^\n]{1,300})",
        "its pod template is invalid: {what}",
        "Correct the template."),
    TextRow("namespace-ends", r"because it is being terminated",
        "namespace {namespace} is being deleted",
        "Wait for it, or use another namespace."),
)  # fmt: skip


def refusal(text: str | None, namespace: str, snapshot: Snapshot) -> Diagnosis | None:
    """Return who refused a pod and why, from its controller's message; None if unknown."""
    service = _SERVICE.search(text or "")
    named = f"Service {service['namespace']}/{service['name']}" if service else "its service"
    found = meaning(REFUSALS, text, Context(namespace=namespace), service=named)
    if found is None or found.code != REFUSES_ALL or service is None:
        return found
    ref = ObjectRef("v1", "Service", service["namespace"], service["name"])
    if why := reach.shut_off(text or "", snapshot, NoPod.API_SERVER):
        cause, action = f"{found.cause}: {why}", "Let it through in the policy, by addresses."
        return replace(found, cause=cause, action=action, object=ref, shared=True)
    return replace(found, object=ref, shared=True)


ERRORS: Final = (
    TextRow("kind-missing",
        r'no matches for kind "(?P<what>[^"]{1,120})" in version "(?P<version>[^"]{1,200})"',
        "the cluster does not serve {what} of {version}",
        "Install the CRD of {what} in {version}, or a version of the controller that does without.",
        missing=True),
    TextRow("rights-missing", r'is forbidden: User "(?P<user>[^"]{1,300})" cannot '
        r'(?P<verb>\w{1,30}) resource "(?P<what>[^"]{1,200})"',
        "{user} may not {verb} {what}", "Add the rule to its role."),
)  # fmt: skip
"""API server errors that keep a controller from creating the objects of a model."""


def why_it_fails(text: str | None, namespace: str, snapshot: Snapshot) -> Diagnosis | None:
    """Return why the API server refuses a controller's request; None if unknown."""
    context = Context(namespace=namespace)
    found = meaning(ERRORS, text, context) or refusal(text, namespace, snapshot)
    if found is None or found.code != REFUSES_ALL:
        return found
    cause = found.cause.replace(" refuses every pod: ", " cannot be asked: ")
    return replace(found, cause=cause, shared=False)


def why_not_made(kind: str, owner: KubeObject | ObjectRef, snapshot: Snapshot) -> Diagnosis | None:
    """Return why a workload's pods are not created, from its controller's newest Event."""
    for each in snapshot.evidence.events_about(owner.namespace, kind, owner.name):
        if each.reason in _CREATES:
            found = refusal(each.message, owner.namespace, snapshot)
            return found or Diagnosis(
                code="not-made",
                cause=end_of(each.message, 300),
                brief=each.reason,
                sureness=Sureness.UNKNOWN,
            )
    return None
