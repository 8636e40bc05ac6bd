"""What shows that a cluster needs KServe, and Knative Serving below it."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.model.stack import Need, need
from reporter.stacks.kserve.derived.mode import Mode, named_mode
from reporter.stacks.kserve.resources import INFERENCESERVICES, KNATIVE_SERVICES

_MADE_FOR: Final = "serving.kserve.io/inferenceservice"

OF_KSERVE: Final[tuple[Need, ...]] = (
    need(
        INFERENCESERVICES,
        "InferenceServices",
        evidence="the KServe controller makes what each runs on, and writes its status "
        "(kserve/kserve, pkg/controller/v1beta1/inferenceservice)",
    ),
)
LEFT_OF_KSERVE: Final[tuple[Need, ...]] = (
    need(
        r.PODS,
        f"Pods with the label {_MADE_FOR}",
        evidence="they serve the InferenceService that the label names "
        "(kserve/kserve, pkg/constants)",
        shows=lambda pod, _: pod.metadata.label(_MADE_FOR) is not None,
    ),
)
OF_KNATIVE: Final[tuple[Need, ...]] = (
    need(
        INFERENCESERVICES,
        "InferenceServices whose deployment mode is Knative, by status or annotation",
        evidence="each of their components is a Knative Service (kserve.github.io, Knative mode)",
        shows=lambda service, _: named_mode(service) is Mode.KNATIVE,
        detail=lambda _: " in Knative mode",
    ),
    need(
        KNATIVE_SERVICES,
        "Knative Services of InferenceServices",
        evidence="the Knative controller makes their revisions and routes "
        "(knative.dev, Knative Serving architecture)",
    ),
)
