"""What is read for LLMInferenceServices alone."""

from dataclasses import replace
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.llmisvc import objects

STACK: Final = "llmisvc"
"""Its name in `--stacks`: the short name of the kind, and of its controller."""

LLM_KIND: Final = SubjectKind("llminferenceservice")

# The version that is stored comes first: the other one is converted by the controller's webhook, and
# cannot be read while that is down.
_VERSIONS: Final = ("v1alpha2", "v1alpha1")

LLMS: Final = Resource(
    group="serving.kserve.io", versions=_VERSIONS, plural="llminferenceservices",
    kind="LLMInferenceService", namespaced=True, custom=True,
    type=objects.LLMInferenceService, purpose="LLMInferenceServices and their conditions",
    stack=STACK, subject_kind=LLM_KIND,
)  # fmt: skip
CONFIGS: Final = Resource(
    group="serving.kserve.io", versions=_VERSIONS, plural="llminferenceserviceconfigs",
    kind="LLMInferenceServiceConfig", namespaced=True, custom=True,
    type=objects.LLMInferenceServiceConfig, purpose="whether the configs that they name exist",
    stack=STACK,
)  # fmt: skip
LEADERWORKERSETS: Final = Resource(
    group="leaderworkerset.x-k8s.io", versions=("v1",), plural="leaderworkersets",
    kind="LeaderWorkerSet", namespaced=True, custom=True,
    type=objects.LeaderWorkerSet, purpose="replicas that are groups of pods",
    label_selector="app.kubernetes.io/part-of=llminferenceservice", stack=STACK,
)  # fmt: skip
FORMER_POOLS: Final = replace(
    r.FORMER_POOLS,
    purpose="whether a Gateway accepted the pool under its former group",
    label_selector="app.kubernetes.io/part-of=llminferenceservice",
    stack=STACK,
)

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (LLMS, CONFIGS, LEADERWORKERSETS, FORMER_POOLS)
"""In the order of the ClusterRole."""
