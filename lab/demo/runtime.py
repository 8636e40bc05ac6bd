"""The story of faults that model pods' pages show: a slow download, and a full KV cache."""

from typing import Final

from lab.demo.story import CHAT, HEALTHY, SEARCH, Expected, Scene, Step, Story, StoryPace
from lab.simulation.phases import Phase
from reporter.catalogue import runtime as t
from reporter.catalogue.runtime import of_kind
from reporter.stacks.kaito.reasons import INFERENCESET_KIND

_MISTRAL: Final = "mistral-7b"
_PHI: Final = "phi-4-mini"

_KV_CACHE: Final = of_kind(t.KV_CACHE, INFERENCESET_KIND)
_DOWNLOAD_SLOW: Final = of_kind(t.DOWNLOAD_SLOW, INFERENCESET_KIND)
_SLOW: Final = Expected(_DOWNLOAD_SLOW, f"inferenceset/{SEARCH}/{_MISTRAL}", "at 5.0 MB/s")
_FULL: Final = Expected(_KV_CACHE, f"inferenceset/{CHAT}/{_PHI}", "while requests wait for room")


def _flags(pace: StoryPace) -> tuple[str, ...]:
    return (
        "--scrape-interval-seconds=1",
        f"--weight-download-window-seconds={pace.window}",
        f"--runtime-window={_KV_CACHE}={pace.window}",
    )


def _slow_download(scene: Scene) -> None:
    scene.pods.of(SEARCH, _MISTRAL).become(Phase.DOWNLOADING, speed=5e6)
    scene.cluster.replace_pod(SEARCH, _MISTRAL)


def _fast_download(scene: Scene) -> None:
    scene.pods.of(SEARCH, _MISTRAL).become(Phase.DOWNLOADING, speed=300e6)


def _served(scene: Scene) -> None:
    scene.pods.of(SEARCH, _MISTRAL).become(Phase.SERVING)
    scene.cluster.pod_ready(SEARCH, _MISTRAL)


def _many_requests(scene: Scene) -> None:
    scene.pods.of(CHAT, _PHI).become(Phase.SATURATED)


def _fewer_requests(scene: Scene) -> None:
    scene.pods.of(CHAT, _PHI).become(Phase.SERVING)


_STEPS: Final = (
    HEALTHY,
    Step(
        "A pod of mistral-7b is replaced, and the new one downloads its weights at 5 MB/s.",
        _slow_download,
        (_SLOW,),
    ),
    Step("The registry is quick again: 300 MB/s.", _fast_download, over=(_SLOW,)),
    Step("The pod is Ready and serves.", _served),
    Step(
        "phi-4-mini gets more requests than its KV cache holds: they wait for room.",
        _many_requests,
        (_FULL,),
    ),
    Step("Half of the clients go.", _fewer_requests, over=(_FULL,)),
)

RUNTIME: Final = Story(_flags, _STEPS, scrapes=True)
