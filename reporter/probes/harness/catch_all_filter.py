"""Whether the filter that answers requests for unknown models is in effect.

Istio fills the status of an EnvoyFilter only with its analysis on, so a selector that matches
nothing is the usual signal.
"""

import re
from collections.abc import Iterator
from typing import Final

from reporter.catalogue.reasons import HARNESS_CATCH_ALL
from reporter.catalogue.resources import ENVOYFILTERS
from reporter.model.finding import Finding
from reporter.model.objects import EnvoyFilter, Labels, LabelSelector
from reporter.model.text import clean, cut
from reporter.probes.harness.finding import harness_finding
from reporter.probes.scope import NamespaceScope
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.routing import data_plane_pods, workload_gateways

CATCH_ALL_FILTER: Final = "model-not-found-direct"

_CODE: Final = re.compile(r"ist\d{4}", re.IGNORECASE)
"""The code of an analysis message, which we find in the address of its documentation only."""

_LABELS_BYTES: Final = 200


def probe_catch_all_filter(scope: NamespaceScope) -> Iterator[Finding]:
    """Yield a finding if Istio reports an error of the filter or it selects no Gateway pod."""
    envoy_filter = scope.snapshot[ENVOYFILTERS].get(scope.namespace.name, CATCH_ALL_FILTER)
    if envoy_filter is None or envoy_filter.deleting:
        return
    if _has_error(envoy_filter):
        text, cause, severity = f"was rejected by Istio{_codes(envoy_filter)}", "rejected", 20
    elif _misses_gateway(scope.snapshot, envoy_filter):
        labels = _label_text(_selector(envoy_filter).match_labels)
        text = f"selects no pod of the Gateway: its workloadSelector is {labels}"
        cause, severity = "selector matches no Gateway pod", 10
    else:
        return
    yield harness_finding(
        HARNESS_CATCH_ALL,
        scope.namespace,
        ENVOYFILTERS.ref(envoy_filter),
        text=text,
        cause=cause,
        severity=severity,
        created=envoy_filter.created,
    )


def _has_error(envoy_filter: EnvoyFilter) -> bool:
    return any(each.level == "ERROR" for each in envoy_filter.status.validation_messages or ())


def _codes(envoy_filter: EnvoyFilter) -> str:
    codes = {
        code[0].upper()
        for each in envoy_filter.status.validation_messages or ()
        if each.level == "ERROR" and (code := _CODE.search(each.documentation_url or ""))
    }
    return f" ({', '.join(sorted(codes))})" if codes else ""


def _selector(envoy_filter: EnvoyFilter) -> LabelSelector:
    """Return what the filter selects; without a selector it is all pods of its namespace."""
    selector = envoy_filter.spec.workload_selector
    return LabelSelector(match_labels=selector.labels if selector else None)


def _misses_gateway(snapshot: Snapshot, envoy_filter: EnvoyFilter) -> bool:
    """Tell whether there are Gateway pods and none of them is selected."""
    pods = [
        pod
        for gateway in workload_gateways(snapshot, envoy_filter.namespace)
        for pod in data_plane_pods(snapshot, gateway)
    ]
    selector = _selector(envoy_filter)
    return bool(pods) and not any(selector.matches(pod.metadata.labels) for pod in pods)


def _label_text(labels: Labels | None) -> str:
    text = ", ".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))
    return cut(clean(text), _LABELS_BYTES)
