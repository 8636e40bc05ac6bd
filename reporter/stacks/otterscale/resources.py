"""What is read for OtterScale alone."""

from typing import Final

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.subject import SubjectKind
from reporter.stacks.otterscale import objects

STACK: Final = "otterscale"
"""Its name in `--stacks`."""

MODELSERVICE_KIND: Final = SubjectKind("modelservice")

MODELSERVICES: Final = Resource(
    group="model.otterscale.io", versions=("v1alpha1",), plural="modelservices",
    kind="ModelService", namespaced=True, custom=True,
    type=objects.ModelService, purpose="ModelServices, and what should exist for them",
    stack=STACK, subject_kind=MODELSERVICE_KIND,
)  # fmt: skip
DESTINATIONRULES: Final = Resource(
    group="networking.istio.io", versions=("v1", "v1beta1"), plural="destinationrules",
    kind="DestinationRule", namespaced=True, custom=True,
    type=objects.DestinationRule, purpose="the rule for an endpoint picker's TLS",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
)  # fmt: skip
PODMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="podmonitors", kind="PodMonitor",
    namespaced=True, custom=True,
    type=objects.PodMonitor, purpose="whether the monitors of a ModelService exist",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
)  # fmt: skip
SERVICEMONITORS: Final = Resource(
    group="monitoring.coreos.com", versions=("v1",), plural="servicemonitors",
    kind="ServiceMonitor", namespaced=True, custom=True,
    type=objects.ServiceMonitor, purpose="whether the monitor of an endpoint picker exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
)  # fmt: skip
SERVICEACCOUNTS: Final = Resource(
    group="", versions=("v1",), plural="serviceaccounts", kind="ServiceAccount", namespaced=True,
    type=objects.ServiceAccount, purpose="whether the ServiceAccount of an endpoint picker exists",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
    wide=True,
)  # fmt: skip
PLUGINS_CONFIGMAPS: Final = Resource(
    group="", versions=("v1",), plural="configmaps", kind="ConfigMap", namespaced=True,
    type=objects.PluginsConfigMap, purpose="the configuration of an endpoint picker",
    label_selector="app.kubernetes.io/managed-by=model-operator", stack=STACK,
    wide=True,
)  # fmt: skip

RESOURCES: Final[tuple[Resource[KubeObject], ...]] = (
    MODELSERVICES,
    DESTINATIONRULES,
    PODMONITORS,
    SERVICEMONITORS,
    SERVICEACCOUNTS,
    PLUGINS_CONFIGMAPS,
)
"""In the order of the ClusterRole."""
