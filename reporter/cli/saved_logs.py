"""Logs that are in a dump, as evidence: only those that may say why a pod does not run are read."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from reporter.catalogue.resources import PODS
from reporter.diagnosis.logs import read_log
from reporter.diagnosis.signatures import Signature
from reporter.diagnosis.wanted_evidence import together, wanted_logs
from reporter.model.evidence import LogCause
from reporter.snapshot.documents import LogFile
from reporter.snapshot.snapshot import Snapshot


def with_logs(
    snapshot: Snapshot, logs: Iterable[LogFile], signatures: Sequence[Signature]
) -> Snapshot:
    """Return a snapshot with what the logs of a dump say."""
    saved: dict[tuple[str, str, str], dict[bool, bytes]] = defaultdict(dict)
    for each in logs:
        saved[each.log[:3]][each.log.previous] = each.raw
    if not saved:
        return snapshot
    said: dict[tuple[str, str, str], LogCause] = {}
    for pod in snapshot[PODS]:
        for wanted in wanted_logs(pod):
            key = (pod.namespace, pod.name, wanted.container)
            runs = saved.get(key, {})
            # Of a container that waits, the log of its last run is the present one for kubectl.
            texts = [runs[each] for each in wanted.runs if each in runs] or list(runs.values())
            if texts:
                said[key] = together(
                    read_log(each.decode("utf-8", "replace"), signatures).cause for each in texts
                )
    return replace(snapshot, evidence=replace(snapshot.evidence, logs=said))
