"""Why a container does not start, or ended: its image, its configuration, its exit, its log.

The container's own state comes first, then Events about it, then its log, matched against the
signatures; the exit code says least. Messages quote the end of a runtime's text, but from a log
only what a signature extracts. 137 is SIGKILL, which has many senders: the kubelet's Event
`Killing`, or how long the container ran, distinguishes a failed probe from a lack of memory.

If a container runs and is not ready, the cause to name is the probe's path and port and the answer
to it, which is in the Event `Unhealthy`. A refused connection may just mean loading: an engine
listens once its model is loaded (vLLM binds its port before, and listens after). So it is a fault
only after the start; until then the cause is "loading".

A liveness probe without a start-up probe does not wait for loading: the kubelet ends the container
after initialDelaySeconds + periodSeconds x failureThreshold, again and again, before a large model
is loaded, and the exit code is 137 as for lack of memory (Kubernetes, "Liveness, Readiness, and
Startup Probes").
"""

import re
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Final, NamedTuple

from reporter.diagnosis.case import Case, ending, is_error, last_end, loops, statuses
from reporter.diagnosis.facts import facts_of, same_port
from reporter.diagnosis.fit import shown, some
from reporter.diagnosis.logs import WRAPPERS, read_log
from reporter.diagnosis.signatures import built_in
from reporter.diagnosis.texts import IMAGES, STARTS, end_of, meaning
from reporter.model.evidence import ForeignEvent, LogCause
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import Container, ContainerStatus, Probe, Terminated
from reporter.model.objects.demands import amount
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut, remembered

OF_IMAGES: Final = frozenset({
    "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "InvalidImageName",
    "ErrImageNeverPull", "ImageInspectError", "SignatureValidationFailed",
})  # fmt: skip
OF_START: Final = frozenset({
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
    "RunInitContainerError", "PostStartHookError",
})  # fmt: skip
_ITS_NODE: Final = re.compile(r"\bthe node\b")
"""How signatures call the node of a container, as a log does not name it."""

_NOT_STARTED: Final = "StartError"
_ILLEGAL: Final = 132
_UNREAD: Final = frozenset(
    {"OOMKilled", _NOT_STARTED, "ContainerStatusUnknown", "DeadlineExceeded"}
)
"""Termination reasons for which the log adds nothing."""


def of_container(case: Case, status: ContainerStatus) -> Diagnosis | None:
    """Return why a container that is not ready does not start, or ended; None if unknown."""
    waiting = status.waiting
    reason = (waiting.reason if waiting else None) or ""
    if waiting is not None and reason in OF_IMAGES:
        return _image(case, status, f"{reason}: {waiting.message or ''}")
    if waiting is not None and reason in OF_START:
        return _start(case, status.name, reason, text=waiting.message)
    ended = last_end(status)
    if ended is None or not is_error(ended):
        return _quiet_end(case, status, ended) if ended is not None else None
    if ended.reason == _NOT_STARTED:
        return _start(case, status.name, _NOT_STARTED, text=ended.message)
    if ended.reason == "OOMKilled":
        return _out_of_memory(case, status, ended)
    by_signal = ended.exit_code in {137, 143} and ended.reason != "ContainerStatusUnknown"
    hook = _by_hook(case, status, ended) if by_signal else None
    killed = hook or (_killed_by(case, status, ended) if by_signal else None)
    found = killed or _log(case, status, ended) or _killed_by(case, status, ended, by_time=False)
    return found or (_by_instruction(case, status) if ended.exit_code == _ILLEGAL else None)


def of_its_log(case: Case, status: ContainerStatus) -> str:
    """Return a note for the message if only a container's log can say why it ended."""
    ended = last_end(status)
    if ended is None or ended.reason in _UNREAD or not is_error(ended):
        return ""
    if ended.message and not any(each in ended.message for each in WRAPPERS):
        return ""
    log = case.log(status.name)
    if not log.read:
        return " (its log may say why)"
    return "" if log.signature else " (its log names no known cause)"


def _image(case: Case, status: ContainerStatus, text: str) -> Diagnosis | None:
    place = case.place(status.name)
    longest = _longest(case, "Failed", status.name)
    found = meaning(IMAGES, text, place) or meaning(IMAGES, longest, place)
    if found is None:
        return None
    more = _secrets(case) if found.code == "image-access" else ""
    diagnosis = replace(found, cause=f"{case.words(status.name)}: {found.cause}{more}")
    if found.object is not None or not place.image:
        return diagnosis
    # An image is not a Kubernetes object; this groups the models that share it.
    image = ObjectRef("", "Image", case.pod.namespace, cut(clean(place.image), 200))
    return replace(diagnosis, object=image, shared=True)


def _secrets(case: Case) -> str:
    """Return which Secrets the pod pulls with; nodes may have credentials of their own."""
    if secret := _longest(case, "FailedToRetrieveImagePullSecret", ""):
        return f"; {end_of(secret)}"
    names = [each.name for each in case.pod.spec.image_pull_secrets or ()]
    return f"; the pod pulls with {some(names)}" if names else ""


def _start(case: Case, container: str, reason: str, *, text: str | None) -> Diagnosis | None:
    name, place = case.words(container), case.place(container)
    message = text or _longest(case, "Failed", container)
    found = meaning(STARTS, message, place)
    if found is not None:
        return replace(found, cause=f"{name} cannot start: {found.cause} ({reason})")
    end = end_of(message) if message else ""
    if not end:
        return None
    cause = f"{name} cannot start ({reason}): {end}"
    return Diagnosis("start", cause, reason, sureness=Sureness.UNKNOWN)


def _out_of_memory(case: Case, status: ContainerStatus, ended: Terminated) -> Diagnosis:
    limit, name = case.place(status.name).limit, case.words(status.name)
    brief = "OOMKilled"
    if limit:
        brief, what = f"OOMKilled, limit {limit}", f"exceeds its memory limit of {limit}"
        action = f"Raise the memory limit of {name} (main memory, not the GPU's)."
        if asked := _asked_of_memory(case.spec(status.name)):
            what += f", and its {asked} alone may take as much"
            flag = asked.partition(" ")[0]
            action = f"Lower {flag}, or raise the memory limit of {name} above it."
    else:
        what = "is killed for memory"
        action = f"Set a memory request and limit on {name}, and look at the memory of its node."
        if (victim := _victim(case, ended)) and case.lacks_limit(status.name):
            what = (
                f"has no memory limit, and node {case.node} ran out of memory (the kernel ended "
                f"{victim})"
            )
    return Diagnosis("memory", f"{name} {what}: OOMKilled{ending(ended)}", brief, action)


_MIB, _GB, _GIB = 2**20, 10**9, 2**30
_OF_MEMORY: Final = {"--cache-ram": _MIB, "--cpu-offload-gb": _GIB, "--hicache-size": _GB}
"""Flags for how much main memory an engine uses for prompts, weights or keys, and their units."""


def _asked_of_memory(spec: Container | None) -> str:
    """Return a flag that lets an engine use all memory of its limit, and its readable value."""
    limits = (spec.resources.limits if spec and spec.resources else None) or {}
    limit = amount(limits.get("memory"))
    for name, value in dict(spec.flags if spec else ()).items():
        size = amount(value) * _OF_MEMORY[name] if name in _OF_MEMORY and value.isdecimal() else 0
        if limit and size >= limit:
            return f"{name} ({shown('memory', size)})"
    return ""


_VICTIM: Final = re.compile(r"victim process: (?P<name>[^\s,]{1,40})")


def _victim(case: Case, ended: Terminated) -> str:
    """Return the process that the kernel ended for memory, by an Event of the node at that time."""
    for each in case.snapshot.evidence.events_about("", "Node", case.node):
        found = _VICTIM.search(each.message) if each.reason == "SystemOOM" else None
        if found is not None and _is_about(each, ended):
            return cut(clean(found["name"]), 40)
    return ""


def _log(case: Case, status: ContainerStatus, ended: Terminated) -> Diagnosis | None:
    log = case.log(status.name)
    if not log.sentence or _is_beside(log, ended.message or ""):
        log = _by_last_words(ended.message or "")
    if not log.sentence:
        return None
    return _by_log(case, status.name, log, what=f"crashes (exit code {ended.exit_code})")


def _is_beside(log: LogCause, message: str) -> bool:
    """Return whether a hint or symptom in a log is not why a container ended.

    A server that has answered requests was set up well, so that what it refused was a request. A
    termination message of one line is the program's own, not the end of its log.
    """
    lines = message.strip().splitlines()
    own = len(lines) == 1 and not any(each in message for each in WRAPPERS)
    return (log.hint and own) or (log.symptom and log.serves and log.kind == "config")


@remembered(256, characters=16_384)
def _by_last_words(message: str) -> LogCause:
    return read_log(message, built_in()).cause if message else LogCause()


def _by_instruction(case: Case, status: ContainerStatus) -> Diagnosis:
    """Return the likely cause of SIGILL; a process that it ends writes nothing."""
    place = case.place(status.name).values
    lacks = f"the processor of node {place['node']}{place['processor']} lacks an instruction"
    cause = (
        f"{case.words(status.name)} is ended by an illegal instruction (exit code {_ILLEGAL}): "
        f"probably {lacks} that image {place['image']} needs"
    )
    action = "Use an image without AVX512 or AMX, or nodes with them."
    return Diagnosis("image", cause, lacks, action, sureness=Sureness.LIKELY)


def _quiet_end(case: Case, status: ContainerStatus, ended: Terminated) -> Diagnosis | None:
    """Return why a container that should run exits with 0, as some engines do on errors."""
    if not loops(status):
        return None
    log = case.log(status.name)
    if log.sentence:
        return _by_log(case, status.name, log, what="ends (exit code 0)")
    if hook := _by_hook(case, status, ended):
        return hook
    brief = "ends with exit code 0"
    often = " again and again" if status.restart_count else ""
    cause = f"{case.words(status.name)} {brief}{often}, but should run"
    action = "Check its command: it does not stay in the foreground."
    return Diagnosis("ends", cause, brief, action, sureness=Sureness.UNKNOWN)


def _by_log(case: Case, name: str, log: LogCause, *, what: str) -> Diagnosis:
    facts = tuple(islice(facts_of(case, name, log), 2))
    said = log.sentence.rstrip(".") + "".join(each.clause for each in facts)
    acts = _ITS_NODE.sub(f"node {case.node}", log.action) if case.node else log.action
    kept = () if any(each.instead for each in facts) else (acts,)
    action = " ".join(filter(None, (*(each.action for each in facts), *kept)))
    how, sure = (":", Sureness.UNKNOWN) if log.hint else ("; probably:", Sureness.LIKELY)
    code, cause = log.kind or "log", f"{case.words(name)} {what}{how} {said}"
    return Diagnosis(code, cause, said, action, sureness=sure, signature=log.signature)


def _longest(case: Case, reason: str, container: str) -> str:
    """Return the longest of the ten newest messages of a reason.

    Follow-ups such as "Error: ErrImagePull" say less than the message that they follow.
    """
    messages = (each.message for each in case.events_with(reason, container))
    return max(islice(messages, 10), key=len, default="")


_KILLING: Final = re.compile(r"failed (?P<probe>liveness|startup) probe", re.IGNORECASE)
_UNHEALTHY: Final = re.compile(
    r"(?P<probe>Liveness|Readiness|Startup) probe (?:failed|errored)[^:]{0,60}: "
)
_SLACK: Final = 45
"""Seconds that a container may run past its budget until a probe ends it: its stop takes time."""


_SAME_END: Final = timedelta(minutes=5)
"""The most time between an Event and the exit that it is about: grace period and clock skew."""


class _Answer(NamedTuple):
    code: str
    pattern: re.Pattern[str]
    text: str
    action: str


_ANSWERS: Final = tuple(
    _Answer(code, re.compile(pattern, re.IGNORECASE), text, action)
    for code, pattern, text, action in (
        ("probe-path", r"statuscode: 404", "answers 404: it has no such path",
         "Correct the probe's path."),
        ("probe-access", r"statuscode: (40[13])",
            "answers {0}: it needs a key, or a proxy is in front of it",
         "Probe a path that needs no key."),
        ("probe-unready", r"statuscode: (5\d\d)", "answers {0}", "Its log says what it waits for."),
        ("probe-answer", r"statuscode: (\d{3})", "answers {0}",
            "Correct the probe, or what it asks."),
        ("probe-tool",
            (r"\b(?:ba|da|a)?sh: (?:line )?(?:\d{1,6}: )?([\w./-]{1,80}): (?:command )?not found"
             r'|exec: \\?"([^"\\]{1,120})\\?": executable file not found'),
            "fails, as the image has no {0}{1}",
         "Install it in the image, or probe by HTTP."),
        ("probe-service", r'responded with \\?"SERVICE_UNKNOWN',
            "answers that it has no such service",
         "Correct grpc.service of the probe, or use an image that has it."),
        ("probe-unready", r'responded with \\?"NOT_SERVING', "answers NOT_SERVING",
         "Its log says what it waits for."),
        ("probe-scheme", r"HTTP response to HTTPS client|malformed HTTP response|tls: first record",
         "does not speak the scheme that it is asked by", "Correct the probe's scheme."),
        ("probe-refused", r"connection refused", "is refused: nothing listens there",
         "Correct the probe's port, or what the container listens on."),
        ("probe-reset", r"connection reset by peer|\": EOF",
         "resets the connection: a mesh that wants mTLS does so, or a server that ends",
         "Let the sidecar rewrite the probe or leave its port out; else look at its log."),
        ("probe-slow", (r"context deadline exceeded|Client\.Timeout|command timed out|timeout: "
            r"failed to connect"),
         "does not answer within {timeout} s", "Raise timeoutSeconds, or look at its load."),
        ("probe-network", r"i/o timeout|no route to host", "cannot be reached from its node",
         "Look at network policies and the CNI."),
    )
)  # fmt: skip


def asks(probe: Probe | None) -> str:
    """Return the target of a probe: `GET :8000/health`, `tcp :8000`, `its command`; or nothing."""
    if probe is None:
        return ""
    if probe.http_get is not None:
        path = probe.http_get.path or "/"
        return cut(clean(f"GET :{probe.http_get.port}{path}"), 120)
    for name, target in (("tcp", probe.tcp_socket), ("grpc", probe.grpc)):
        if target is not None:
            return cut(clean(f"{name} :{target.port} {target.service}".rstrip()), 120)
    return "its command"


def numbers(probe: Probe) -> str:
    """Return how long a probe waits before the kubelet acts: `30 s + 3 x 10 s = 60 s`."""
    delay, period = probe.initial_delay_seconds or 0, probe.period_seconds or 10
    tries = f"{probe.failure_threshold or 3} x {period} s"
    whole = f" = {probe.budget_seconds} s" if delay else ""
    return f"{f'{delay} s + ' if delay else ''}{tries}{whole}"


def _killed_by(
    case: Case, status: ContainerStatus, ended: Terminated, *, by_time: bool = True
) -> Diagnosis | None:
    """Return the probe that ended a container, by the kubelet's Event or by how long it ran.

    A container that handles SIGTERM may exit with any code. Without `by_time`, only an Event of
    about the same time counts, as any failure may have such a code.
    """
    spec = case.spec(status.name)
    if spec is None or not (by_time or ended.finished_at):
        return None
    if found := _killing_probe(case, status.name, ended):
        return _killed(case, spec, found, sureness=Sureness.CERTAIN)
    asked = (("startup", spec.startup_probe), ("liveness", spec.liveness_probe))
    # The liveness probe does not run before the start-up probe has succeeded.
    kind, probe = next((each for each in asked if each[1] is not None), ("", None))
    if by_time and probe is not None and _ran_as_long(ended, probe):
        return _killed(case, spec, kind, sureness=Sureness.LIKELY)
    return None


def _killing_probe(case: Case, container: str, ended: Terminated) -> str:
    """Return the probe for which the kubelet says that it ended a container, or nothing.

    An Event lasts an hour: one from another time is about another exit.
    """
    for each in case.events_with("Killing", container):
        found = _KILLING.search(each.message)
        if found is not None and _is_about(each, ended):
            return found["probe"].lower()
    return ""


def _is_about(event: ForeignEvent, ended: Terminated) -> bool:
    apart = ended.finished_at - event.last if ended.finished_at and event.last else timedelta(0)
    return abs(apart) <= _SAME_END


def _by_hook(case: Case, status: ContainerStatus, ended: Terminated) -> Diagnosis | None:
    """Return a diagnosis if an Event says that a failed postStart hook ended the container.

    Newer kubelets omit the hook's output (pkg/kubelet/kuberuntime, startContainer).
    """
    for each in case.events_with("FailedPostStartHook", status.name):
        if _is_about(each, ended):
            plain = each.message.strip() == "PostStartHook failed"
            output = "" if plain else f": {end_of(each.message)}"
            cause = f"{case.words(status.name)} is ended because its postStart hook fails{output}"
            action = "Run the hook's command in the container: its output is in no log."
            return Diagnosis("hook", cause, "postStart hook fails", action)
    return None


def _ran_as_long(ended: Terminated, probe: Probe) -> bool:
    if ended.started_at is None or ended.finished_at is None:
        return False
    # In seconds: the budget of a probe may overflow a timedelta.
    ran = (ended.finished_at - ended.started_at).total_seconds()
    budget, period = probe.budget_seconds, probe.period_seconds or 10
    return budget - period <= ran <= budget + period + _SLACK


_NO_HTTP: Final = "probe-scheme"
_OF_PROBE: Final = frozenset({"probe-path", "probe-access", _NO_HTTP, "probe-tool"})
"""Codes of answers that are the fault of the probe."""


def _killed(case: Case, spec: Container, kind: str, *, sureness: Sureness) -> Diagnosis:
    probe = spec.startup_probe if kind == "startup" else spec.liveness_probe
    name = cut(clean(spec.name), 80)
    asked = asks(probe)
    after = f" after {numbers(probe)}" if probe else ""
    answer = _answer(case, spec, kind)
    likely = "probably " if sureness is Sureness.LIKELY else ""
    by = f"container {name} is {likely}ended by its"
    if answer is not None and answer.code in _OF_PROBE:
        cause = f"{by} {kind} probe{after}: {asked} {answer.text}"
        return Diagnosis(answer.code, cause, "ended by a probe", answer.action, sureness=sureness)
    if kind == "startup":
        cause = f"{by} start-up probe{after}, before it answers {asked}"
        action = (
            "Raise failureThreshold or periodSeconds of the startupProbe, if it loads that long."
        )
    elif spec.startup_probe is None and not case.log(spec.name).serves:
        cause = (
            f"{by} liveness probe ({asked}){after}, while it still loads: it has no startupProbe"
        )
        action = "Add a startupProbe that allows for the time that loading takes."
    else:
        cause = f"{by} liveness probe ({asked}){after}" + (f": it {answer.text}" if answer else "")
        action = (
            "Its log says why it stopped answering; a probe that is too strict has a short "
            "timeoutSeconds."
        )
    return Diagnosis("probe-kill", cause, f"ended by its {kind} probe", action, sureness=sureness)


def _answer(case: Case, spec: Container, kind: str) -> _Answer | None:
    """Return the answer to a probe from the newest Event about it, with its text filled in."""
    probe = {"startup": spec.startup_probe, "liveness": spec.liveness_probe}.get(
        kind, spec.readiness_probe
    )
    timeout = (probe.timeout_seconds if probe else None) or 1
    for each in case.events_with("Unhealthy", spec.name):
        failed = _UNHEALTHY.search(each.message)
        if failed is None or failed["probe"].lower() != kind:
            continue
        for answer in _ANSWERS:
            found = answer.pattern.search(each.message)
            if found is not None:
                return answer._replace(text=answer.text.format(*found.groups(""), timeout=timeout))
        return None
    return None


def unready(case: Case) -> Diagnosis | None:
    """Return which container runs and is not ready, its probe, and the answer to it.

    None if neither a probe nor a log explains it.
    """
    running = [each for each in statuses(case.pod) if each.running and not each.ready]
    others = any(each.ready for each in case.pod.status.container_statuses or ())
    found = (
        _never_ends(case, each.name) or _or_by_log(case, each, _unready(case, each, beside=others))
        for each in running
    )
    return next((each for each in found if each is not None), None)


_VAGUE: Final = frozenset({"loading", "probe", "probe-unready", "probe-slow"})
"""Codes of diagnoses that only say that a container does not answer, not why."""


def _or_by_log(case: Case, status: ContainerStatus, found: Diagnosis | None) -> Diagnosis | None:
    """Return the certain cause from a container's log if its probe names none, else `found`."""
    log = case.log(status.name)
    if not log.certain or log.loads or (found and found.code not in _VAGUE):
        return found
    return _by_log(case, status.name, log, what="runs and is not ready")


def _unready(case: Case, status: ContainerStatus, *, beside: bool) -> Diagnosis | None:
    spec = case.spec(status.name)
    starts = spec is not None and spec.startup_probe is not None and status.started is not True
    probe = (spec.startup_probe if starts else spec.readiness_probe) if spec else None
    if spec is None or probe is None:
        return None
    name, asked = f"container {cut(clean(status.name), 80)}", asks(probe)
    words = "start-up" if starts else "readiness"
    answer = _answer(case, spec, "startup" if starts else "readiness")
    log = case.log(status.name)
    ports = [each.container_port for each in spec.ports or ()]
    elsewhere = ports and probe.port is not None and probe.port not in ports
    refused = answer is not None and answer.code == "probe-refused" and not elsewhere
    if refused and (at := _elsewhere(log.listens, probe.port)):
        cause = f"{name} listens on {at[0]}, and its {words} probe asks {asked}, which is refused"
        brief = f"listens on {at[0]}"
        return Diagnosis("probe-port", cause, brief, at[1], sureness=Sureness.LIKELY)
    # While KAITO's engine loads, it answers every request with 404.
    loads = starts and (answer is None or (answer.code == "probe-path" and log.loads))
    if loads or (refused and (starts or not beside or log.loads)):
        return _loading(name, probe if starts else None, asked, log=log)
    if answer is None and not beside:
        return None
    if answer is None:
        cause = f"{name} runs and is not ready: its {words} probe ({asked}) has not succeeded"
        action = f"Look at the Events of the pod: they have the answer to {asked}."
        return Diagnosis("probe", cause, f"{name} not ready", action, sureness=Sureness.UNKNOWN)
    declared = f"; its ports are {', '.join(map(str, ports[:5]))}" if elsewhere else ""
    shared = same_port(case, spec.name, f"{probe.port}") if answer.code == _NO_HTTP else None
    answers = f"{answer.text}{shared.clause if shared else declared}"
    cause = f"{name} runs and is not ready: its {words} probe asks {asked}, which {answers}"
    brief = f"{name}: {asked} {answer.text}"
    sure = Sureness.UNKNOWN if answer.code == "probe-unready" else Sureness.CERTAIN
    action = shared.action if shared and shared.instead else answer.action
    return Diagnosis(answer.code, cause, brief, action, sureness=sure)


def _never_ends(case: Case, container: str) -> Diagnosis | None:
    """Return a diagnosis if an init container that runs declares a port, as only a server does."""
    spec = next((e for e in case.pod.spec.init_containers or () if e.name == container), None)
    if spec is None or spec.restart_policy == "Always" or not spec.ports:
        return None
    name, port = case.words(spec.name), spec.ports[0].container_port
    cause = (
        f"{name} still runs, and the next container starts only once it has ended: "
        f"it declares port {port}, so it is probably a server"
    )
    action = "Set restartPolicy: Always on it, which makes it a sidecar (Kubernetes 1.29)."
    brief = f"{name} does not end"
    return Diagnosis("init-serves", cause, brief, action, sureness=Sureness.LIKELY)


def _elsewhere(listens: str, port: int | None) -> tuple[str, str] | None:
    """Return where a server listens instead of on the probe's port, and the action, or None."""
    host, _, own = listens.rpartition(":")
    if not listens or port is None:
        return None
    if host in {"127.0.0.1", "localhost", "[::1]", "::1"}:
        only = f"{listens} only, which no probe reaches"
        return only, "Let it listen on 0.0.0.0 (--host 0.0.0.0)."
    right = "Correct the port of the probe, or the one that the server listens on."
    return (listens, right) if own != str(port) else None


def _loading(name: str, starts: Probe | None, asked: str, *, log: LogCause) -> Diagnosis:
    """Return the diagnosis that a container loads, or may, from its start-up probe and its log."""
    shown = "its log shows that it loads" if log.loads else ""
    stalls = ""
    if log.fetches:
        shown = f"the last step in its log is to load {log.fetches}, whose download belongs to it"
        stalls = (
            " If it does not go on, the download stalls: check egress, or set HF_HUB_DISABLE_XET=1."
        )
    if starts is not None:
        cause = f"{name} still loads: its start-up probe ({asked}) allows {numbers(starts)}"
        cause += f", and {shown}" if shown else ""
        action = f"Wait; its log says how far it is.{stalls}"
    elif shown:
        cause = f"{name} still loads: {shown}, and {asked} is refused meanwhile"
        action = f"Wait; a startupProbe would say how long it may take.{stalls}"
    else:
        cause = f"{name} still loads, or does not listen where it is probed: {asked} is refused"
        action = "Its log says how far it is, and which port it listens on."
    return Diagnosis("loading", cause, "still loads", action, sureness=Sureness.UNKNOWN)
