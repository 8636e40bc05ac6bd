"""Which engine can raise which of the reasons about serving: the table in `docs/runtime.md`.

The sources are the metric names of the releases: vLLM (vllm/v1/metrics/loggers.py, and its Rust front
end, which has families of its own) and SGLang (python/sglang/srt/observability/metrics_collector.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reporter.catalogue import runtime as t

YES: Final = "yes"
NO: Final = "no"

_FROM_0_5_10: Final = "0.5.10 and later"


@dataclass(frozen=True, slots=True)
class Engines:
    """Whether an engine's page has what a reason needs: yes, no, or under which condition.

    Attributes:
        vllm: the Python front end of vLLM.
        rust: its Rust front end.
        sglang: with `--enable-metrics`; without it there is no page.

    """

    vllm: str = YES
    rust: str = YES
    sglang: str = YES


ENGINES: Final[Mapping[str, Engines]] = {
    t.SCRAPE_FAILING: Engines(),
    t.METRICS_MISSING: Engines(),
    t.ENGINE_UNHEALTHY: Engines("no release up to 0.33, only builds that have the gauge", NO, NO),
    t.ENGINE_STALLED: Engines(sglang=_FROM_0_5_10),
    t.ENGINE_RESTARTING: Engines(),
    t.OUTPUT_CORRUPTED: Engines("with `VLLM_COMPUTE_NANS_IN_LOGITS=1`", NO, NO),
    t.KV_TRANSFER: Engines(
        "with NIXL, 3FS or Mooncake's store; Mooncake and UMBP in 0.33 and later",
        "Mooncake in 0.33 and later",
        _FROM_0_5_10,
    ),
    t.SCHEDULER_STUCK: Engines("where it tells why requests wait", "as at left", NO),
    t.KV_CACHE: Engines(),
    t.BACKLOG: Engines(),
    t.PREEMPTION: Engines(sglang=_FROM_0_5_10),
    t.ERROR_RATE: Engines(sglang="HTTP answers only, 0.5.10 and later"),
    t.REJECTED: Engines("0.32 and later, or behind KAITO's rate limit", "behind KAITO's", NO),
    t.LATENCY: Engines(),
}
