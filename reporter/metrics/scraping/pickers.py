"""Which endpoint pickers are scraped, where, what each may pick from, and what can go wrong with a
scrape.

No exception of aiohttp, ssl or the operating system leaves this package: `mapped` is the boundary.
Details hold no addresses, and nothing that a pod wrote.
"""

import errno
import os
import ssl
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from reporter.catalogue.resources import PODS, SERVICES
from reporter.kube.errors import Forbidden, KubeError, Unauthorized
from reporter.metrics.looks.target import Failure, Picked, PodName, Target
from reporter.model.objects import Container, FormerPool, InferencePool, LabelSelector, Pod
from reporter.model.stack import ScrapedPickers
from reporter.model.subject import Subject
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import picker_pods

PORT: Final = 9090
"""`--metrics-port` unless it is set, over plain HTTP unless told otherwise (Gateway API Inference
Extension v1.5, pkg/epp/server/options.go)."""

_PORT_NAMES: Final = frozenset({"metrics", "http-metrics"})


@dataclass(frozen=True, slots=True)
class PickerPod:
    pod: Pod
    subject: Subject
    port: int
    picked: Picked


def find_pickers(
    snapshot: Snapshot, settings: EvaluationSettings, engines: Sequence[Target], *, live: bool
) -> Iterator[PickerPod]:
    """Yield the pods of the endpoint pickers of subjects that exist; `engines` are the model pods.

    In a live cluster nothing is scraped while pools are unknown: what was found stays as it is. A
    dump may lack a kind that its cluster does not have.
    """
    ready = {each.pod: each.ready_since for each in engines if each.ready_since is not None}
    for row in picker_rows(settings):
        if live and not all(map(snapshot.known, (SERVICES, *row.pools))):
            continue
        pods = tuple(_pods(snapshot, settings, row))
        pools = _pools_of_pickers(snapshot, row) if pods else {}
        for subject, pod in pods:
            picked = _picked(pools.get((pod.namespace, pod.name), ()), snapshot, ready)
            yield PickerPod(pod, subject, _port(pod.spec.containers or ()), picked)


def _pods(
    snapshot: Snapshot, settings: EvaluationSettings, row: ScrapedPickers
) -> Iterator[tuple[Subject, Pod]]:
    for resource in settings.catalogue.of_subject(row.kind):
        for each in snapshot[resource]:
            subject = Subject(row.kind, each.namespace, each.name)
            for pod in picker_pods(snapshot, row, each.namespace, name=each.name):
                yield subject, pod


def picker_rows(settings: EvaluationSettings) -> tuple[ScrapedPickers, ...]:
    return tuple(
        stack.pickers
        for stack in settings.known_stacks
        if stack.pickers and settings.stack(stack.name) is not StackMode.OFF
    )


def _pools_of_pickers(
    snapshot: Snapshot, row: ScrapedPickers
) -> Mapping[PodName, Sequence[InferencePool]]:
    """Return the pools of each picker's pod.

    A pool names the Service of its picker, in its own namespace (Gateway API Inference Extension,
    api/v1/inferencepool_types.go). From there the way leads to pods by an index; the other way
    round each picker would be held to every pool.
    """
    found: dict[PodName, list[InferencePool]] = defaultdict(list)
    every = (each for resource in row.pools for each in snapshot[resource])
    for each in every:
        pool = each.pool if isinstance(each, FormerPool) else each
        if not isinstance(pool, InferencePool):
            continue
        reference = pool.spec.endpoint_picker_ref
        if reference is None or pool.deleting:
            continue
        service = snapshot[SERVICES].get(pool.namespace, reference.name)
        if service is None or not service.spec.selector:
            continue
        selector = LabelSelector(match_labels=service.spec.selector)
        for pod in snapshot[PODS].selected(pool.namespace, selector):
            found[pod.namespace, pod.name].append(pool)
    return found


def _picked(
    pools: Iterable[InferencePool], snapshot: Snapshot, ready: Mapping[PodName, datetime]
) -> Picked:
    names = {
        (pod.namespace, pod.name)
        for pool in pools
        if pool.spec.selector is not None
        for pod in snapshot[PODS].selected(pool.namespace, pool.spec.selector)
    }
    return Picked(tuple(sorted(ready[each] for each in names if each in ready)))


def _port(containers: Iterable[Container]) -> int:
    ports = (port for container in containers for port in container.ports or ())
    return next((each.container_port for each in ports if each.name in _PORT_NAMES), PORT)


# ruff: noqa: N818 - "scrape failed" says it


class ScrapeFailed(Exception):
    def __init__(self, failure: Failure, detail: str = "") -> None:
        super().__init__(failure, detail)
        self.failure = failure
        self.detail = detail


@contextmanager
def mapped() -> Iterator[None]:
    """Turn what the libraries raise into `ScrapeFailed`; cancellation passes."""
    try:
        yield
    except ScrapeFailed:
        raise
    except Exception as error:  # noqa: BLE001 - what a pod can make a library raise has no end
        raise _translated(error) from None


_KINDS: Final[tuple[tuple[tuple[type[Exception], ...], Failure, str], ...]] = (
    ((aiohttp.ConnectionTimeoutError,), Failure.TIMEOUT, "no connection"),
    ((TimeoutError,), Failure.TIMEOUT, "no complete answer"),
    (
        (aiohttp.ClientSSLError, ssl.SSLError, ssl.CertificateError),
        Failure.UNREACHABLE,
        "TLS failed",
    ),
    ((aiohttp.ServerDisconnectedError,), Failure.RESET, "no answer"),
    ((aiohttp.ClientPayloadError, EOFError), Failure.TRUNCATED, ""),
    ((aiohttp.TooManyRedirects,), Failure.STATUS, "redirects are not followed"),
    ((aiohttp.ClientResponseError, HttpProcessingError), Failure.UNREADABLE, "not HTTP"),
    ((aiohttp.InvalidURL,), Failure.UNREACHABLE, "not an address"),
    ((Forbidden,), Failure.FORBIDDEN, "no permission to get pods/proxy"),
    ((Unauthorized,), Failure.FORBIDDEN, "the API server refused the credentials"),
    ((KubeError,), Failure.UNREACHABLE, "no answer from the API server"),
)
"""The first row that fits counts, so subclasses stand before their bases."""

_ERRNO: Final = {
    errno.ECONNREFUSED: Failure.REFUSED,
    errno.ECONNRESET: Failure.RESET,
    errno.ECONNABORTED: Failure.RESET,
    errno.EPIPE: Failure.RESET,
    errno.ETIMEDOUT: Failure.TIMEOUT,
}


def _translated(error: Exception) -> ScrapeFailed:
    for kinds, failure, detail in _KINDS:
        if isinstance(error, kinds):
            return ScrapeFailed(failure, detail)
    if not isinstance(error, OSError):
        return ScrapeFailed(Failure.UNREACHABLE, f"unexpected {type(error).__name__}")
    # By number: the text of the exception names the address.
    if isinstance(error, ConnectionResetError | BrokenPipeError | ConnectionAbortedError):
        return ScrapeFailed(Failure.RESET)
    known = _ERRNO.get(error.errno or 0)
    if known is not None:
        return ScrapeFailed(known)
    # Beyond the numbers of the system are those of the resolver, which are negative.
    text = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else ""
    return ScrapeFailed(Failure.UNREACHABLE, text)
