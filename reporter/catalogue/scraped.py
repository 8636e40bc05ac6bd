"""Which pods of which stack serve metrics of vLLM, and where in the pod."""

from dataclasses import dataclass
from typing import Final

from reporter.model.objects import Labels
from reporter.model.stack import Stack
from reporter.model.subject import SubjectKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedPods:
    """The pods of one stack that are scraped.

    Attributes:
        stack: which.
        kind: what their subjects are.
        label: its value names the subject, in the pod's namespace.
        labels: what else they carry.
        container: the one that serves; only pods that have it are scraped.
        image: a part of the container's image name, where other engines serve under that name too.
        port: name of the container's port; its first port where there is none of that name.

    """

    stack: Stack
    kind: SubjectKind
    label: str
    labels: Labels
    container: str
    image: str = ""
    port: str = ""


SCRAPED: Final = (
    ScrapedPods(
        stack=Stack.OTTERSCALE,
        kind=SubjectKind.MODELSERVICE,
        label="llm-d.ai/model",
        labels={"llm-d.ai/inferenceServing": "true"},
        container="vllm",
        port="http",
    ),
    ScrapedPods(
        stack=Stack.KSERVE,
        kind=SubjectKind.INFERENCESERVICE,
        label="serving.kserve.io/inferenceservice",
        labels={"component": "predictor"},
        container="kserve-container",
        image="vllm",
    ),
)
"""Beside KAITO's, which `--scrape-selector` and `--scrape-port` tell."""
