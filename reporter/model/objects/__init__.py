"""The API objects we read, with just the fields we read.

Pages and watch frames are decoded straight into these structs. Field names are the API's in snake
case; lists that the API may write as `null` are optional. An object that does not fit is malformed
and skipped, so each limit here is one that no working object meets.
"""

from reporter.model.objects.base import (
    MUTE,
    MUTE_UNTIL,
    Annotations,
    Condition,
    Conditioned,
    KubeObject,
    Labels,
    LabelSelector,
    ManagerEntry,
    Metadata,
    OwnerReference,
    Part,
    SelectorRequirement,
)
from reporter.model.objects.core import (
    ConfigMap,
    DaemonSet,
    Event,
    LeaderWorkerSet,
    Lease,
    Namespace,
    Node,
    Reference,
    Service,
    StatefulSet,
)
from reporter.model.objects.demands import (
    ClusterPolicy,
    ClusterQueue,
    CsiNode,
    KueueWorkload,
    LocalQueue,
    NodeClaim,
    NodePool,
    NodeSelector,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PodGroup,
    StorageClass,
    Taint,
    Toleration,
    VolcanoQueue,
    VolumeAttachment,
    amount,
    amounts,
    is_device,
)
from reporter.model.objects.gateway import (
    ApiKey,
    AskedService,
    AuthorizationPolicy,
    CiliumNetworkPolicy,
    DestinationRule,
    EnvoyFilter,
    FormerPool,
    Gateway,
    GatewayClass,
    HttpRoute,
    InferencePool,
    ListenerStatus,
    ParentStatus,
    PodAutoscaler,
    RouteReference,
    ScaledObject,
    without_patches,
)
from reporter.model.objects.pods import (
    Container,
    ContainerStatus,
    Deployment,
    Pod,
    PodTemplate,
    Probe,
    TemplateContainer,
    Terminated,
    Waiting,
)
