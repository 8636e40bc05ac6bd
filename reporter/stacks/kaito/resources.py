"""What is read for KAITO alone."""

from dataclasses import replace
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.kaito import objects

STACK: Final = "kaito"
"""Its name in `--stacks`."""

INFERENCESET_KIND: Final = SubjectKind("inferenceset")

INFERENCESETS: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="inferencesets",
    kind="InferenceSet", namespaced=True, custom=True,
    type=objects.InferenceSet, purpose="the deployments of models, and their scaling settings",
    stack=STACK, subject_kind=INFERENCESET_KIND,
)  # fmt: skip
WORKSPACES: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="workspaces", kind="Workspace",
    namespaced=True, custom=True,
    type=objects.Workspace, purpose="node provisioning and inference conditions",
    stack=STACK,
)  # fmt: skip
RAGENGINES: Final = Resource(
    group="kaito.sh", versions=("v1beta1", "v1alpha1"), plural="ragengines", kind="RAGEngine",
    namespaced=True, custom=True,
    type=KubeObject, purpose="RAGEngines, which are counted and not judged",
    stack=STACK, seldom=True, unjudged=True,
)  # fmt: skip
"""Of a chart of its own (kaito-project/kaito, config/crd/bases/kaito.sh_ragengines.yaml)."""
FORMER_POOLS: Final = replace(
    r.FORMER_POOLS,
    purpose="whether the pool behind a route is resolved, of its former group",
    stack=STACK,
    seldom=True,
)

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    INFERENCESETS,
    WORKSPACES,
    RAGENGINES,
    FORMER_POOLS,
)
"""In the order of the ClusterRole."""

MADE_WITH: Final = "inferenceset.kaito.sh/created-by"
"""Label of an InferenceSet's Workspaces and of their pods; its value is the InferenceSet's name."""
