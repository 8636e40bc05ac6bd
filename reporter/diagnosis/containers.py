"""Why a container does not start, or ended: its image, its configuration, its end, its log.

What the container's own state says comes first, then Events about it, then its log by the table of
signatures: an exit code says least. Of a text from a runtime the end is quoted, of a log only what a
signature extracts. 137 is SIGKILL, which has many senders: a probe is told from memory by the Event
`Killing` of the kubelet, or by how long the container ran.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Final

from reporter.diagnosis.case import Case
from reporter.diagnosis.ending import ending
from reporter.diagnosis.logs import WRAPPERS, read_log
from reporter.diagnosis.probes import killed_by, said_killed
from reporter.diagnosis.signatures import built_in
from reporter.diagnosis.texts import IMAGES, STARTS, end_of, meaning
from reporter.model.evidence import LogCause
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.objects import ContainerStatus, Terminated
from reporter.model.text import clean, cut

OF_IMAGES: Final = frozenset(
    {
        "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "InvalidImageName",
        "ErrImageNeverPull", "ImageInspectError", "SignatureValidationFailed",
    }
)  # fmt: skip
_OF_START: Final = frozenset(
    {
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
        "RunInitContainerError", "PostStartHookError",
    }
)  # fmt: skip
_SEES_NO_GPU: Final = "gpu-none"
_NOT_STARTED: Final = "StartError"
_BY_SIGNAL: Final = frozenset({137, 143})
_UNREAD: Final = frozenset(
    {"OOMKilled", _NOT_STARTED, "ContainerStatusUnknown", "DeadlineExceeded"}
)
"""How a container ended where its log says no more."""


def of_container(case: Case, status: ContainerStatus) -> Diagnosis | None:
    """Return why a container that is not ready does not start, or ended; None where nothing tells."""
    waiting = status.state.waiting if status.state else None
    reason = (waiting.reason if waiting else None) or ""
    if waiting is not None and reason in OF_IMAGES:
        return _image(case, status, f"{reason}: {waiting.message or ''}")
    if waiting is not None and reason in _OF_START:
        return _start(case, status.name, reason, text=waiting.message)
    ended = last_end(status)
    if ended is None or not is_error(ended):
        return _quiet_end(case, status) if ended is not None else None
    if ended.reason == _NOT_STARTED:
        return _start(case, status.name, _NOT_STARTED, text=ended.message)
    if ended.reason == "OOMKilled":
        return _out_of_memory(case, status, ended)
    by_probe = ended.exit_code in _BY_SIGNAL and ended.reason != "ContainerStatusUnknown"
    killed = killed_by(case, status, ended) if by_probe else None
    return killed or _log(case, status, ended) or said_killed(case, status, ended)


def last_end(status: ContainerStatus) -> Terminated | None:
    """Return how a container ended, now or the last time; None of one that never did."""
    now = status.state.terminated if status.state else None
    return now or (status.last_state.terminated if status.last_state else None)


def is_error(ended: Terminated) -> bool:
    """Return whether a container did not end well."""
    return ended.exit_code != 0 or ended.reason in {"OOMKilled", "DeadlineExceeded"}


def log_may_tell(case: Case, status: ContainerStatus) -> bool:
    """Return whether only the log of a container can say why it ended, and was not read."""
    ended = last_end(status)
    if ended is None or ended.reason in _UNREAD or not is_error(ended):
        return False
    if ended.message and not any(each in ended.message for each in WRAPPERS):
        return False
    log = case.log(status.name)
    return log is None or not log.read


def _image(case: Case, status: ContainerStatus, text: str) -> Diagnosis | None:
    place = case.place(status.name)
    found = meaning(IMAGES, text, place) or meaning(
        IMAGES, _longest(case, "Failed", status.name), place
    )
    if found is None:
        return None
    secret = _longest(case, "FailedToRetrieveImagePullSecret", "")
    more = f"; {end_of(secret)}" if secret and found.code == "image-access" else ""
    return replace(found, cause=f"{case.words(status.name)}: {found.cause}{more}")


def _start(case: Case, container: str, reason: str, *, text: str | None) -> Diagnosis | None:
    name, place = case.words(container), case.place(container)
    said = text or _longest(case, "Failed", container)
    found = meaning(STARTS, said, place)
    if found is not None:
        return replace(found, cause=f"{name} cannot start: {found.cause} ({reason})")
    end = end_of(said) if said else ""
    if not end:
        return None
    return Diagnosis(
        code="start",
        cause=f"{name} cannot start ({reason}): {end}",
        brief=reason,
        sureness=Sureness.UNKNOWN,
    )


def _out_of_memory(case: Case, status: ContainerStatus, ended: Terminated) -> Diagnosis:
    limit, name = case.place(status.name).limit, case.words(status.name)
    why = f"exceeds its memory limit of {limit}" if limit else "is killed for memory"
    return Diagnosis(
        code="memory",
        cause=f"{name} {why}: OOMKilled{ending(ended)}",
        brief=f"OOMKilled, limit {limit}" if limit else "OOMKilled",
        action=f"Raise the memory limit of {name} (main memory, not the GPU's)."
        if limit
        else f"Set a memory request and limit on {name}, and look at the memory of its node.",
    )


def _log(case: Case, status: ContainerStatus, ended: Terminated) -> Diagnosis | None:
    """Return what the log says of a container that ended with an error."""
    log = case.log(status.name)
    if log is None or not log.sentence:
        log = _by_last_words(ended.message or "")
    if not log.sentence:
        return None
    code = f"exit code {ended.exit_code}"
    return _by_log(case, status.name, log, what=f"crashes ({code})")


@lru_cache(maxsize=256)
def _by_last_words(message: str) -> LogCause:
    """Return what a termination message says, which may be the end of a log."""
    return read_log(message, built_in()).cause if message else LogCause()


def _quiet_end(case: Case, status: ContainerStatus) -> Diagnosis | None:
    """Return why a container that should run ended with success: some engines do so after an error."""
    log = case.log(status.name)
    loops = status.state is not None and (
        status.state.waiting is not None and status.state.waiting.reason == "CrashLoopBackOff"
    )
    if log is not None and log.sentence and loops:
        return _by_log(case, status.name, log, what="ends (exit code 0)")
    if not loops:
        return None
    return Diagnosis(
        code="ends",
        cause=f"{case.words(status.name)} ends with exit code 0 again and again, but should run",
        brief="ends with exit code 0",
        action="Look at its command: it does not stay in the foreground.",
        sureness=Sureness.UNKNOWN,
    )


def _by_log(case: Case, name: str, log: LogCause, *, what: str) -> Diagnosis:
    said = log.sentence.rstrip(".")
    if log.signature == _SEES_NO_GPU:
        said += _given_one(case)
    return Diagnosis(
        code=log.kind or "log",
        cause=f"{case.words(name)} {what}; probably: {said}",
        brief=said,
        action=log.action,
        sureness=Sureness.LIKELY,
        signature=log.signature,
    )


def _given_one(case: Case) -> str:
    """Return what else must be so where a container sees no GPU, although it was given one.

    The device plugin gives it one; the NVIDIA runtime makes it visible. A pod gets that runtime by its
    class, or where it is the node's default (NVIDIA/k8s-device-plugin, README).
    """
    devices = case.pod.spec.devices
    gpus = next(
        (f"{count} {name}" for name, count in devices if name.startswith("nvidia.com/")), ""
    )
    if not gpus or case.pod.spec.runtime_class_name:
        return ""
    return (
        f", although the pod is given {cut(clean(gpus), 80)}: it has no runtimeClassName, "
        "and nvidia may not be the default runtime of its node"
    )


def _longest(case: Case, reason: str, container: str) -> str:
    """Return the longest of the newest messages of a reason.

    Repeats, such as "Error: ErrImagePull", say less than the text that they follow.
    """
    said = (each.message for each in case.said(reason, container))
    return max(islice(said, 10), key=len, default="")
