"""NetworkPolicies: which connections to and from pods a cluster lets through."""

from msgspec import field

from reporter.model.objects import base


class PolicyPort(base.Part, frozen=True):
    """Without a port, all ports of the protocol; a name is that of a container's port."""

    port: int | str | None = None
    end_port: int | None = None
    protocol: str = "TCP"


class AddressBlock(base.Part, frozen=True):
    cidr: str = ""


class PolicyPeer(base.Part, frozen=True):
    """Pods by labels of themselves and of their namespaces, or addresses."""

    pod_selector: base.LabelSelector | None = None
    namespace_selector: base.LabelSelector | None = None
    ip_block: AddressBlock | None = None


class PolicyRule(base.Part, frozen=True):
    """What one rule lets through; without peers, or ports, it is all of them."""

    sources: tuple[PolicyPeer, ...] | None = field(name="from", default=None)
    targets: tuple[PolicyPeer, ...] | None = field(name="to", default=None)
    ports: tuple[PolicyPort, ...] | None = None


class NetworkPolicySpec(base.Part, frozen=True):
    pod_selector: base.LabelSelector = base.LabelSelector()
    policy_types: tuple[str, ...] | None = None
    ingress: tuple[PolicyRule, ...] | None = None
    egress: tuple[PolicyRule, ...] | None = None


class NetworkPolicy(base.KubeObject, frozen=True):
    """networking.k8s.io/v1 NetworkPolicy."""

    spec: NetworkPolicySpec = NetworkPolicySpec()

    @property
    def closes_ingress(self) -> bool:
        """Whether what it selects gets only the connections that a policy lets in."""
        types = self.spec.policy_types
        return types is None or "Ingress" in types

    @property
    def closes_egress(self) -> bool:
        """Whether what it selects makes only the connections that a policy lets out."""
        types = self.spec.policy_types
        return bool(self.spec.egress) if types is None else "Egress" in types
