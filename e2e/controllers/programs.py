"""Controllers that users run: which ones, at which release, and how each is built.

Each comes from the Go module proxy as its authors published it, with its charts and its
CustomResourceDefinitions, and is built once per machine.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from e2e.envtest.binaries import built, cache
from e2e.envtest.commands import EnvtestError


@dataclass(frozen=True)
class Module:
    path: str
    version: str

    def source(self) -> Path:
        """Return the folder of its source, fetched when it is not there.

        Raises:
            EnvtestError: the proxy does not have it.
        """
        named = f"{self.path}@{self.version}"
        done = subprocess.run(
            ["go", "mod", "download", "-json", named],
            cwd=Path.home(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout or "{}")
        if done.returncode:
            raise EnvtestError(f"{named} cannot be fetched: {found.get('Error') or done.stderr}")
        return Path(found["Dir"])


@dataclass(frozen=True)
class Program:
    """A controller.

    Attributes:
        name: of its process, and of its Deployment.
        module: that it is built from.
        package: of the module, the folder of its `main`.
        namespace: that it is installed in.
        charts: folders of the module's Helm charts, with the values of each.
        crds: a folder of the module with CustomResourceDefinitions.
        arguments: of the process; `{webhook}` and `{health}` are its ports, `{folder}` its own,
            `{host}` where the API server reaches it, `{beside}` the port of one that it asks.
        ready: the path that answers when it is.
        objects: in YAML, with the same words as arguments, what else is installed.
        own: a folder of ours with the package, which is built among the module's sources.
        files: the files in its own folder, by name.
        environment: variables of the process.
        story: the file of the suite about it; empty if it only helps others.
    """

    name: str
    module: Module
    package: str
    namespace: str = ""
    charts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    crds: str = ""
    arguments: tuple[str, ...] = ()
    ready: str = "/readyz"
    objects: str = ""
    own: Path | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    story: str = ""

    def built(self) -> Path:
        """Return the program, building it if it is missing.

        Raises:
            EnvtestError: it cannot be fetched, or the build failed.
        """
        folder = (
            cache() / "controllers" / f"{self.module.path.replace('/', '-')}-{self.module.version}"
        )
        program = folder / f"{self.name}{self._edition()}"
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._build(program)
        return program

    def _edition(self) -> str:
        """Return a key for what is built from other sources of ours."""
        if self.own is None:
            return ""
        said = b"".join(each.read_bytes() for each in sorted(self.own.iterdir()))
        return f"-{hashlib.sha256(said).hexdigest()[:12]}"

    def _build(self, program: Path) -> None:
        began = time.monotonic()
        print(f"building {self.name} {self.module.version}; once per machine", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=program.parent) as made:
            # The cache of modules is read-only, and a workspace includes what was not published.
            source = shutil.copytree(self.module.source(), Path(made) / "source")
            for folder in (source, *(each for each in source.rglob("*") if each.is_dir())):
                folder.chmod(0o755)
            if self.own is not None:
                shutil.copytree(self.own, source / self.package)
            done = subprocess.run(
                ["go", "build", "-o", f"{made}/built", self.package],
                cwd=source, capture_output=True, text=True, check=False,
                env={**os.environ, "GOWORK": "off", "GOFLAGS": "-buildvcs=false"},
            )  # fmt: skip
            if done.returncode:
                raise EnvtestError(f"{self.name} cannot be built:\n{done.stderr[-3000:]}")
            (Path(made) / "built").rename(program)
        print(f"built {self.name} in {time.monotonic() - began:.0f} s", file=sys.stderr)


_KSERVE: Final = Module("github.com/kserve/kserve", "v0.20.0")
_LWS: Final = Module("sigs.k8s.io/lws", "v0.9.0")
_PICKER: Final = Module("sigs.k8s.io/gateway-api-inference-extension", "v1.5.0")

KSERVE: Final = Program(
    "kserve-controller-manager",
    _KSERVE,
    "./cmd/manager",
    namespace="kserve",
    charts={
        "charts/kserve-crd": {},
        "charts/kserve-resources": {"kserve": {"controller": {"deploymentMode": "Standard"}}},
    },
    arguments=(
        "--metrics-addr=0",
        "--webhook-port={webhook}",
        "--health-probe-addr=127.0.0.1:{health}",
    ),
    environment={"POD_NAMESPACE": "kserve"},
    story="real_inferenceservice.py",
)

LLMISVC: Final = Program(
    "llmisvc-controller-manager",
    _KSERVE,
    "./cmd/llmisvc",
    namespace="kserve",
    charts={
        "charts/kserve-llmisvc-crd": {},
        "charts/kserve-llmisvc-resources": {},
        "charts/kserve-runtime-configs": {"kserve": {"llmisvcConfigs": {"enabled": True}}},
    },
    arguments=(
        "--metrics-addr=0",
        "--webhook-port={webhook}",
        "--health-probe-addr=127.0.0.1:{health}",
    ),
    # So that the namespace can be deleted when a test ends.
    environment={"POD_NAMESPACE": "kserve", "PREVENT_WELL_KNOWN_CONFIG_DELETION": "false"},
    story="real_llminferenceservice.py",
)

LEADERWORKERSET: Final = Program(
    "lws-controller-manager",
    _LWS,
    "./cmd",
    namespace="lws-system",
    charts={"charts/lws": {}},
    arguments=("--config={folder}/config.yaml", "--zap-log-level=info"),
    files={
        "config.yaml": """\
apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
health: {healthProbeBindAddress: "127.0.0.1:{health}"}
metrics: {bindAddress: "0"}
webhook: {port: {webhook}, certDir: "{folder}/k8s-webhook-server/serving-certs"}
"""
    },
    story="real_leaderworkerset.py",
)

KTHENA: Final = Program(
    "kthena-controller-manager",
    Module("github.com/volcano-sh/kthena", "v1.0.0"),
    "./cmd/kthena-controller-manager",
    namespace="kthena-system",
    # Its webhooks require an account that only a pod has.
    charts={
        "charts/kthena": {
            "networking": {"enabled": False},
            "workload": {"controllerManager": {"webhook": {"enabled": False}}},
        }
    },
    arguments=(
        "--kubeconfig={folder}/kubeconfig.yaml",
        "--enable-webhook=false",
        "--controllers=modelserving",
        "--debug-port={health}",
    ),
    ready="/debug/modelserving/cache",
    story="real_modelserving.py",
)

_KEDA: Final = Module("github.com/kedacore/keda/v2", "v2.21.0")

KEDA: Final = Program(
    "keda-operator",
    _KEDA,
    "./cmd/operator",
    namespace="keda-operator",
    crds="config/crd/bases",
    arguments=(
        "--enable-prometheus-metrics=false",
        "--health-probe-bind-address=127.0.0.1:{health}",
        "--metrics-service-bind-address=127.0.0.1:{webhook}",
        "--cert-dir={folder}/k8s-webhook-server/serving-certs",
    ),
    environment={
        "POD_NAMESPACE": "keda-operator",
        "KEDA_CLUSTER_OBJECT_NAMESPACE": "keda-operator",
        "WATCH_NAMESPACE": "",
    },
    story="real_keda.py",
)

KEDA_ADAPTER: Final = Program(
    "keda-metrics-apiserver",
    _KEDA,
    "./cmd/adapter",
    namespace="keda-operator",
    objects="""\
apiVersion: v1
kind: Service
metadata: {name: keda-metrics-apiserver, namespace: keda-operator}
spec: {type: ExternalName, externalName: "{host}"}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.external.metrics.k8s.io}
spec:
  service: {name: keda-metrics-apiserver, namespace: keda-operator, port: {webhook}}
  group: external.metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
""",
    arguments=(
        "--secure-port={webhook}",
        "--port={health}",
        # The operator and it show each other certificates of one authority.
        "--cert-dir={folder}/../keda-operator/k8s-webhook-server/serving-certs",
        "--metrics-service-address=127.0.0.1:{beside}",
        "--authentication-kubeconfig={folder}/kubeconfig.yaml",
        "--authorization-kubeconfig={folder}/kubeconfig.yaml",
        "--lister-kubeconfig={folder}/kubeconfig.yaml",
    ),
    ready="/metrics",
    environment={"POD_NAMESPACE": "keda-operator", "WATCH_NAMESPACE": ""},
)
"""It serves the metrics of ScaledObjects, which the operator computes."""

ENDPOINT_PICKER: Final = Program(
    "endpoint-picker",
    _PICKER,
    "./cmd/epp",
    crds="config/crd/bases",
    arguments=(
        "--metrics-port={health}",
        "--metrics-endpoint-auth=false",
        "--secure-serving=false",
        "--grpc-port={webhook}",
    ),
    ready="/metrics",
    story="real_endpointpicker.py",
)
"""The story brings its own pool and configuration."""

REQUESTS: Final = Program(
    "requests", _PICKER, "./cmd/requests", own=Path(__file__).parent / "requests"
)
"""A client that calls a picker as Envoy does."""

PROGRAMS: Final = (
    LEADERWORKERSET,
    ENDPOINT_PICKER,
    REQUESTS,
    KSERVE,
    LLMISVC,
    KTHENA,
    KEDA,
    KEDA_ADAPTER,
)

CONTROLLER_MANAGER: Final = "kube-controller-manager"
"""Of the Kubernetes that the end-to-end tests pin; it makes pods, collects garbage, and scales."""


def main() -> None:
    """Build what is missing, and print where each is."""
    try:
        for program in PROGRAMS:
            print(f"{program.module.path} {program.module.version}: {program.built()}")
        print(f"{CONTROLLER_MANAGER}: {built(CONTROLLER_MANAGER)}")
    except EnvtestError as error:
        sys.exit(f"controllers: {error}")


if __name__ == "__main__":
    main()
