"""The endpoint pickers of LLMInferenceServices (kserve/kserve, pkg/controller/v1alpha2/llmisvc/scheduler.go)."""

from typing import Final

from reporter.catalogue.resources import INFERENCEPOOLS
from reporter.model.stack import ScrapedPickers
from reporter.stacks.llmisvc.resources import FORMER_POOLS, LLM_KIND

PICKERS: Final = ScrapedPickers(
    kind=LLM_KIND,
    label="app.kubernetes.io/name",
    labels={
        "app.kubernetes.io/part-of": "llminferenceservice",
        "app.kubernetes.io/component": "llminferenceservice-router-scheduler",
    },
    pools=(INFERENCEPOOLS, FORMER_POOLS),
)
