"""Meanings of messages from the kubelet, container runtimes and registries: tables of fragments.

Messages differ between versions, so rows match the stable part. Messages are quoted from their end,
where the cause is: each layer prepends its own words. The texts are from Kubernetes (pkg/kubelet:
images, kuberuntime, lifecycle, eviction, volume), containerd (internal/cri/server,
core/remotes/docker), runc and libnvidia-container.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from reporter.diagnosis.fit import shown
from reporter.model.finding import Diagnosis, Sureness
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut

_TEXT: Final = 4_096
_QUOTED_BYTES: Final = 160
_VALUE_BYTES: Final = 200
_BRIEF_BYTES: Final = 80
_CORE: Final = ("Node", "Secret", "ConfigMap", "ResourceQuota", "ServiceAccount")


class Wording(NamedTuple):
    """Templates of a `Diagnosis`, with values in braces. `brief` defaults to the cause, cut."""

    code: str
    cause: str
    brief: str = ""
    action: str = ""
    sureness: Sureness = Sureness.CERTAIN
    missing: bool = False

    def of(
        self, about: ObjectRef | None = None, *, shared: bool = True, **values: str
    ) -> Diagnosis:
        """Return the diagnosis with these values, which are cleaned.

        `about` is the object to mend; `shared` says that it may cause faults of other models too.
        """
        found = {key: clean(value) for key, value in values.items()}
        cause = self.cause.format_map(found)
        return Diagnosis(
            code=self.code,
            cause=cause,
            brief=self.brief.format_map(found) or cut(cause, _BRIEF_BYTES),
            object=about,
            action=self.action.format_map(found),
            sureness=self.sureness,
            shared=shared and about is not None,
            missing=self.missing,
        )


class TextRow(NamedTuple):
    """The meaning of a text fragment; `pattern` ignores case.

    Values of `cause` and `action` are the named groups, those of `Context`, and `end`. `about` is
    the kind of the object to mend, whose name is the value `name` or `node`; it is empty for the
    workload itself.
    """

    code: str
    pattern: str
    cause: str
    action: str
    about: str = ""
    sureness: Sureness = Sureness.CERTAIN
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """The origin of a text; its rows may use these values."""

    namespace: str = ""
    image: str = ""
    node: str = ""
    container: str = ""
    limit: str = ""
    processor: str = ""
    user: int | None = None

    @property
    def values(self) -> dict[str, str]:
        """The values that a row may use, cleaned for a message."""
        return {
            "namespace": self.namespace,
            "image": cut(clean(self.image), _VALUE_BYTES) or "its image",
            "node": self.node or "its node",
            "container": self.container,
            "limit": f" of {self.limit}" if self.limit else "",
            "processor": f" ({self.processor})" if self.processor else "",
            "reach": f" that its user {self.user} can reach" if self.user else "",
            "mounted": "a volume",
        }


IMAGES: Final = (
    TextRow("image-platform", r"no match for platform|no matching manifest for",
        "image {image} is not built for the architecture of node {node}{processor}",
        "Use an image for that architecture, or other nodes."),
    TextRow("image-rate", r"toomanyrequests|\b429\b|pull rate limit",
        "the registry of image {image} refuses more pulls for now (rate limit)",
        "Pull with an account (imagePullSecrets), or from a mirror."),
    TextRow("image-proxy", r"proxy authentication required",
        "the proxy of node {node} requires a login to pull image {image}",
        "Give the container runtime of node {node} the proxy's user and password.", "Node"),
    TextRow("image-access",
        r"pull access denied|insufficient_scope|401 unauthorized|403 forbidden|no basic auth"
        r"|unable to retrieve auth token|invalid username/password|authentication required"
        r"|failed to fetch (?:oauth|anonymous) token|authorization failed|: denied\b|unauthorized: "
        r"|access to the resource is denied",
        "the registry refuses image {image}: credentials are missing or wrong, or it has no such "
        "name",
        "Set imagePullSecrets with access to that image, or correct its name."),
    TextRow("image-tag", r"manifest unknown|name unknown|manifest for \S{1,300} not found"
        r"|failed to resolve reference[^\n]{0,600}: not found|repository \S{1,300} not found",
        "image {image} does not exist: its registry has no such name or tag",
        "Correct the image's name or tag."),
    TextRow("image-disk", r"no space left on device",
        "node {node} has no disk space left for image {image}",
        "Free disk on node {node}, or give it a larger one.", "Node"),
    TextRow("image-plain", r"server gave HTTP response to HTTPS client",
        "the registry of image {image} serves HTTP, and node {node} uses HTTPS",
        "Give the registry a certificate, or let the container runtime of node {node} use HTTP.",
        "Node"),
    TextRow("image-broken", r"unexpected EOF|failed size validation|unexpected commit digest",
        "the download of image {image} is interrupted on node {node}",
        "Look at network, proxy and mirror of node {node}.", "Node"),
    TextRow("image-server",
        r"(?:unexpected status[^\n]{0,300}|HTTP status): (?P<why>5\d\d[\w ]{0,40})",
        "the registry of image {image} fails ({why})",
        "Try again later, or pull from a mirror."),
    TextRow("image-format",
        r"media type [^\n]{1,200} is no longer supported|unsupported (?:media|manifest) type",
        "image {image} has a format that the container runtime of node {node} cannot read",
        "Push the image again in OCI or Docker v2 format."),
    TextRow("image-short", r"short[- ]name (?:resolution|mode)",
        "image {image} has no registry in its name, and node {node} has no default one",
        "Put the registry in front of the name."),
    TextRow("image-ca", r"x509: ",
        "node {node} does not trust the certificate of the registry of image {image}",
        "Give the node the registry's CA, or renew the registry's certificate.", "Node"),
    TextRow("image-network", r"(?P<why>no such host|i/o timeout|connection refused|no route to host"
        r"|network is unreachable|context deadline exceeded|tls handshake timeout)",
        "node {node} does not reach the registry of image {image} ({why})",
        "Check DNS, proxy and egress of node {node}.", "Node"),
    TextRow("image-name", r"invalidimagename|couldn't parse image|invalid reference format",
        "{image} is not a valid image name", "Correct the image's name."),
    TextRow("image-never", r"errimageneverpull|imagepullpolicy[^\n]{0,40}never",
        "image {image} is not on node {node}, and imagePullPolicy is Never",
        "Load the image onto the node, or set another imagePullPolicy."),
)  # fmt: skip

_OBJECTS: Final = (
    TextRow("object-missing",
        r'(?P<kind>secret) "(?P<name>[^"]{0,240}(?:-cert|-certs|-tls)(?:-[^"]{0,60})?)" not found',
        "{kind} {name} does not exist",
        "Create {kind} {namespace}/{name}, or check why cert-manager does not, if a Certificate "
        "names it.", "kind", missing=True),
    TextRow("object-missing", r'(?P<kind>secret|configmap) "(?P<name>[^"]{1,253})" not found',
        "{kind} {name} does not exist", "Create {kind} {namespace}/{name}.", "kind", missing=True),
    TextRow("key-missing", r"couldn't find key (?P<key>\S{1,253}) in (?P<kind>secret|configmap) "
        r"[^/\s]{1,63}/(?P<name>[a-z0-9.-]{1,253})",
        "{kind} {name} has no key {key}", "Add key {key} to {kind} {namespace}/{name}.", "kind"),
    TextRow("key-missing",
        r'for volume "(?P<volume>[^"]{1,253})"[^\n]{0,20}references non-existent '
        r"(?:secret|config) key: (?P<key>\S{1,253})",
        "the source of volume {volume} has no key {key}",
        "Add the key, or correct the volume's items."),
)  # fmt: skip

_NO_RUNTIME: Final = TextRow("runtime-missing",
    r"OCI runtime create failed[^\n]{0,600}fork/exec (?P<program>/\S{1,200}): no such file",
    "the container runtime on node {node} is configured to run {program}, which does not exist",
    "Install it on node {node} (NVIDIA: the container toolkit), or remove it from the runtime's "
    "configuration.", "Node")  # fmt: skip

STARTS: Final = (
    TextRow("program-missing",
        r'exec: "(?P<program>[^"]{1,200})": (?:executable file not found|stat '
        r"[^:\n]{1,200}: no such file|no such file)",
        "image {image} has no program {program}{reach}",
        "Correct the command, or use an image that has it."),
    TextRow("program-permission", r'exec: "(?P<program>[^"]{1,200})": permission denied',
        "program {program} of image {image} may not be executed",
        "Make it executable in the image, or correct the command."),
    TextRow("architecture", r"exec format error",
        "image {image} is built for another architecture than that of node {node}{processor}",
        "Use an image for that architecture, or other nodes."),
    _NO_RUNTIME,
    TextRow("cuda-driver",
        r"unsatisfied condition: (?P<requires>cuda\s?[<>=]{1,2}\s?[\d.]{1,12}\d)",
        "the NVIDIA driver on node {node} is too old for image {image}, which requires {requires}",
        "Update the driver on node {node}, or use an image for an older CUDA.", "Node"),
    TextRow("gpu-driver", r"nvml error: driver/library version mismatch",
        "the NVIDIA libraries on node {node} have another version than the driver that its "
        "kernel has loaded (driver/library version mismatch)",
        "Reboot node {node}, or reload its driver: it was updated while in use.", "Node"),
    TextRow("gpu-driver", r"nvidia-container-cli: initialization error: (?:load library failed: )?"
        r"(?P<what>libnvidia-ml\.so\.1|driver (?:rpc )?error|driver not loaded|nvml "
        r"error|[^:\n]{1,80})",
        "node {node} has no working NVIDIA driver ({what})",
        "Install or repair the NVIDIA driver on node {node}.", "Node"),
    TextRow("gpu-lost", r"device error: [^:\n]{0,120}: unknown device",
        "node {node} no longer has the GPU that was assigned to the pod",
        "Look at the GPUs of node {node}, and restart its device plugin.", "Node"),
    TextRow("cdi", r"unresolvable CDI devices (?P<device>[^\s:]{1,120})",
        "the container runtime on node {node} does not know CDI device {device}: its specification "
        "is "
        "missing or stale",
        "Restart the NVIDIA container toolkit on node {node}.", "Node"),
    TextRow("gpu-runtime", r"(?P<what>nvidia-container-(?:cli|runtime)[^\n]{0,40}: [^:\n]{1,120}"
        r"|CDI device injection failed|failed to inject CDI devices)",
        "the NVIDIA container runtime on node {node} fails: {end}",
        "Look at the NVIDIA container toolkit on node {node}.", "Node"),
    TextRow("start-memory", r"OOM-killed \(memory limit too low|container init was OOM-killed",
        "container {container} is killed for memory before it starts: its limit{limit} is too low",
        "Raise the memory limit."),
    TextRow("run-as-root", r"runAsNonRoot and image (?:will run as root|has non-numeric user)",
        "image {image} runs as root, which runAsNonRoot forbids",
        "Set securityContext.runAsUser, or use an image with a numeric user."),
    TextRow("subpath", r"failed to (?:prepare|create) subPath[^\n]{0,400}",
        "a subPath of a volume cannot be mounted: {end}",
        "Correct the subPath, or create the folder."),
    TextRow("runtime-slow",
        r"failed to reserve (?:container|sandbox) name|\Acontext deadline exceeded\Z",
        "the container runtime on node {node} is slow: an earlier attempt to create it still runs",
        "Look at disk and load of node {node}.", "Node", Sureness.LIKELY),
    *_OBJECTS,
)  # fmt: skip

MOUNTS: Final = (
    *_OBJECTS,
    TextRow("host-path", r"hostPath type check failed: (?P<path>\S{1,300}) is not "
        r"(?P<what>[^\n]{1,60})",
        "node {node} has no {path} for a hostPath volume (it is not {what})",
        "Create it on the node, or correct the volume.", "Node"),
    TextRow("csi-driver",
        r"driver name (?P<driver>\S{1,200}) not found in the list of registered CSI drivers",
        "node {node} does not run CSI driver {driver}",
        "Let the driver's DaemonSet run on node {node}.", "Node"),
    TextRow("csi-silent",
        r"dial unix /\S{0,200}/(?P<driver>[^/\s]{1,200})/csi\.sock: connect: "
        r"(?:connection refused|no such file)",
        "CSI driver {driver} on node {node} does not answer",
        "Look at the driver's pod on node {node}.", "Node"),
    TextRow("sidecar-missing", r"failed to (?:find|inject) the sidecar container in(?:to the)? Pod "
        r"spec",
        "{mounted} needs the GCS FUSE sidecar, and the pod has none: the driver's webhook adds it "
        "to pods with the annotation gke-gcsfuse/volumes",
        'Set the annotation gke-gcsfuse/volumes: "true" in the pod template; where it is set, look '
        "at the webhook, and recreate the pod."),
    TextRow("volume-owner", r"Setting volume ownership for \S{1,400}(?:, processed "
        r"(?P<files>\d{1,12}) files| is taking longer)",
        "the kubelet on node {node} first gives each file of a volume to the pod's fsGroup{done}",
        "Wait; with fsGroupChangePolicy: OnRootMismatch this happens only once."),
    TextRow("claim-missing", r'persistentvolumeclaims? "(?P<name>[^"]{1,253})" not found',
        "its claim {name} does not exist",
        "Create the claim, or name one that exists.", missing=True),
    TextRow("mount-forbidden", r"User: (?P<role>arn:\S{1,200}) is not authorized to perform: "
        r"(?P<right>[\w:*-]{1,80})",
        "{mounted} cannot be mounted on node {node}: {role} lacks the permission {right}",
        "Grant that role the permission, or let the driver use the identity that has it."),
    TextRow("mount-forbidden",
        r"(?P<role>[\w.@-]{1,200}) does not have (?P<right>[\w.]{1,80}) access",
        "{mounted} cannot be mounted on node {node}: {role} lacks the permission {right}",
        "Grant that account the permission, or let the driver use the identity that has it."),
    TextRow("mount-forbidden", r"Permission '(?P<right>[\w.]{1,120})' denied on resource",
        "{mounted} cannot be mounted on node {node}: its identity lacks the permission {right}",
        "Bind the pod's ServiceAccount to the identity that it names (Workload Identity), or grant "
        "it the permission."),
    TextRow("mount-refused", r"(?P<what>mount error\(13\)(?:: Permission denied)?|access denied by "
        r"server)",
        "the server of {mounted} refuses node {node}: {what}",
        "Check the key or identity, and the server's export and network rules."),
    TextRow("nfs", r"mount failed: exit status 32|mount\.nfs: (?P<why>[^\n]{1,120})",
        "{mounted} cannot be mounted on node {node}: {end}",
        "Check the server, its export and the network to it."),
    TextRow("mount-slow", r'for volume "[^\n]{1,600}(?:DeadlineExceeded|context canceled)',
        "{mounted} is not mounted on node {node}: each attempt has 2 min, and its driver "
        "takes longer ({end})",
        "Look at the log of the driver's pod on node {node}.", sureness=Sureness.LIKELY),
    TextRow("runtime-handler", r'no runtime for "(?P<handler>[^"]{1,80})" is configured'
        r"|failed to find runtime handler (?P<other>\S{1,80})"
        r'|RuntimeHandler "(?P<third>[^"]{1,80})" not supported',
        "the container runtime on node {node} has no runtime {handler}{other}{third}",
        "Let the toolkit of that runtime configure node {node} (NVIDIA: the container toolkit).",
        "Node"),
    _NO_RUNTIME,
    TextRow("addresses", r"no IP addresses available|failed to assign an IP address|no available "
        r"IP",
        "the network has no more addresses for pods on node {node}",
        "Enlarge the subnet or the pod range, or use other nodes.", "Node"),
    TextRow("runtime-slow", r"failed to reserve sandbox name",
        "the container runtime on node {node} is slow: an earlier attempt to create it still runs",
        "Look at disk and load of node {node}.", "Node", Sureness.LIKELY),
    TextRow("network-device", r'error adding container to network "(?P<network>[^"]{1,253})": '
        r"SRIOV-CNI [^\n]{1,200}VF pci addr is required",
        "network {network} needs a device (VF pci addr is required), and the pod has none",
        "Request the resource that the NetworkAttachmentDefinition names."),
    TextRow("network-missing",
        r"cannot find a network-attachment-definition \((?P<name>[^)]{1,253})\) in namespace "
        r"\((?P<space>[^)]{1,63})\)",
        "NetworkAttachmentDefinition {space}/{name} does not exist",
        "Create it, or correct the annotation k8s.v1.cni.cncf.io/networks.", missing=True),
    TextRow("network-added", r'error adding container to network "(?P<network>[^"]{1,253})": '
        r"(?P<why>[^\n]{1,300})",
        "network {network} cannot be added to the pod on node {node}: {why}",
        "Look at that network's configuration and devices on node {node}.", "Node"),
    TextRow("network", r"failed to set ?up network for sandbox|cni plugin not initialized|network "
        r"is not ready",
        "the network plugin (CNI) on node {node} does not work: {end}",
        "Look at the pod of the CNI on node {node}.", "Node"),
)  # fmt: skip

NODE_REFUSALS: Final = (
    TextRow("devices-refused",
        r"requested number of devices unavailable for (?P<what>[\w./-]{0,119}\w)"
        r"(?:\. Requested: (?P<asks>\d+), Available: (?P<has>\d+))?",
        "node {node} has fewer {what} than the scheduler saw: a device failed, or its device "
        "plugin "
        "was restarted",
        "Look at the device plugin and the devices of node {node}; the pod can be deleted.",
        "Node"),
    TextRow("devices-refused",
        r"no healthy devices present; cannot allocate unhealthy devices (?P<what>[\w./-]{1,120})",
        "node {node} has no healthy {what} left",
        "Look at the device plugin and the devices of node {node}; the pod can be deleted.",
        "Node"),
    TextRow("devices-refused", r"cannot allocate unregistered device (?P<what>[\w./-]{1,120})",
        "node {node} offers no {what} any more: its device plugin has not registered",
        "Look at the device plugin on node {node}.", "Node"),
    TextRow("devices-refused",
        r"Allocate failed due to (?:device plugin \w{1,60} rpc failed[^\n]{0,120}desc = )?"
        r"(?P<what>[^\n]{1,240}?)(?:, which is unexpected|\Z|\n)",
        "the device plugin on node {node} cannot give devices to it: {what}",
        "Look at the devices and the device plugin of node {node}; the pod can be deleted.",
        "Node"),
    TextRow("node-full", r"didn't have enough resources?: (?P<what>[\w./-]{1,120}), requested: "
        r"(?P<asks>\d+), "
        r"used: (?P<used>\d+), capacity: (?P<has>\d+)",
        "node {node} has {has} {what}, of which {used} are used: {asks} more do not fit",
        "Delete the pod; do not set nodeName by hand.", "Node"),
    TextRow("numa", r"cannot be allocated with topology locality",
        "node {node} cannot provide these resources on one NUMA node, as its topology policy asks",
        "Ask for less, or change topologyManagerPolicy of node {node}.", "Node"),
    TextRow("node-memory", r"node was low on resource: (?P<what>memory)(?:[^\n]{0,400}?Container "
        r"(?P<who>[\w-]{1,63}) was using (?P<used>\w{1,20}), request is (?P<asks>\w{1,20}))?",
        "node {node} ran low on {what}{usage}",
        "Request as much memory as it uses, so that it is scheduled where there is room.", "Node"),
    TextRow("node-disk", r"node was low on resource: "
        r"(?P<what>[\w-]{1,60})(?:[^\n]{0,400}?Container "
        r"(?P<who>[\w-]{1,63}) was using (?P<used>\w{1,20}), request is (?P<asks>\w{1,20}))?",
        "node {node} ran low on {what}{usage}",
        "Write the model to a volume, or ask for enough {what}.", "Node"),
    TextRow("node-pressure", r"The node had condition: \[(?P<what>[^\]\n]{1,80})",
        "node {node} takes no pods for now: it has {what}",
        "Free what node {node} lacks; the pod can be deleted.", "Node"),
    TextRow("node-shutdown", r"imminent node shutdown|node is shutting down",
        "node {node} was shut down",
        "Check why node {node} was shut down; a cloud reclaims spot nodes.", "Node"),
    TextRow("host-port", r"didn't have free ports for the requested pod ports|Predicate NodePorts",
        "the host ports that it asks for are taken on node {node}",
        "Remove hostPort or hostNetwork, or free the ports of node {node}.", "Node"),
    TextRow("own-disk", r'Usage of EmptyDir volume "(?P<volume>[^"]{1,253})" exceeds the limit '
        r'"?(?P<size>[\w.]{1,20})',
        "emptyDir volume {volume} is full: its sizeLimit is {size}",
        "Raise sizeLimit, or use a claim."),
    TextRow("own-disk", r"exceed(?:s|ed) (?:its|the) (?:local ephemeral storage|(?:total )?limit)"
        r"[^\n]{0,80}?(?P<limit_said>\d[\w.]{0,20})?",
        "it wrote more than its ephemeral-storage limit: {end}",
        "Write the model to a volume, or raise the ephemeral-storage limit."),
    TextRow("label-changed",
        r"Predicate NodeAffinity failed|node\(s\) didn't match Pod's node affinity",
        "the labels of node {node} no longer match the pod",
        "Restore the labels, or delete the pod.", "Node"),
)  # fmt: skip

_COMPILED: Final[dict[str, re.Pattern[str]]] = {}


def end_of(text: str, limit: int = _QUOTED_BYTES) -> str:
    """Return the last parts, separated by `: `, of a foreign text; the cause is at its end."""
    cleaned = _without_nothing(clean(text[-_TEXT:]))
    parts = re.split(r"(?<=: )", cleaned)
    kept = parts.pop()
    while parts and len((parts[-1] + kept).encode()) <= limit:
        kept = parts.pop() + kept
    return cut(kept.strip(), limit)


def _without_nothing(text: str) -> str:
    """Return a text without trailing full stops and gRPC's `: unknown`."""
    shorter = text.rstrip(" .")
    while shorter.endswith(": unknown"):
        shorter = shorter.removesuffix(": unknown").rstrip(" .")
    return shorter


def meaning(
    rows: Iterable[TextRow], text: str | None, place: Context, **more: str
) -> Diagnosis | None:
    """Return the diagnosis of the first row that matches a text; `more` are extra values."""
    text = text or ""
    if len(text) > _TEXT:
        text = f"{text[: _TEXT // 2]}\n{text[-_TEXT // 2 :]}"
    for row in rows if text else ():
        pattern = _COMPILED.get(row.pattern)
        if pattern is None:
            pattern = _COMPILED[row.pattern] = re.compile(row.pattern, re.IGNORECASE)
        found = pattern.search(text)
        if found is not None:
            groups = {**found.groupdict(""), **more, "end": end_of(text)}
            return _diagnosis(row, groups, place)
    return None


def _diagnosis(row: TextRow, groups: Mapping[str, str], place: Context) -> Diagnosis:
    found = {key: cut(clean(value), _VALUE_BYTES) for key, value in groups.items()}
    if "kind" in found:
        found["kind"] = "ConfigMap" if found["kind"].lower() == "configmap" else "Secret"
    if "files" in found:
        found["done"] = f" ({found['files']} so far)" if found["files"] else ""
    if row.code == "node-full":
        # The kubelet counts processors in thousandths.
        unit = 1000 if found["what"] == "cpu" else 1
        amounts = ("asks", "used", "has")
        found |= {key: shown(found["what"], float(found[key]) / unit) for key in amounts}
    if "who" in found:
        used = f": container {found['who']} used {found['used']} and asked for {found['asks']}"
        found["usage"] = used if found["who"] else ""
    values = {**place.values, **found}
    kind = found.get("kind", "") if row.about == "kind" else row.about
    name = place.node if kind == "Node" else found.get("name", "")
    namespace = "" if kind == "Node" else place.namespace
    return Diagnosis(
        code=row.code,
        cause=row.cause.format_map(values),
        brief=row.code.replace("-", " "),
        object=ObjectRef("v1", kind, namespace, name) if kind in _CORE and name else None,
        action=row.action.format_map(values),
        sureness=row.sureness,
        shared=bool(kind),
        missing=row.missing,
    )
