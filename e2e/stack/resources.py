"""The resources of an API server, from aggregated discovery."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lab.sandbox.objects import Object

DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The content type of aggregated discovery: two requests return everything."""

ROOTS: Final = ("/api", "/apis")
"""The core group, and the others."""


@dataclass(frozen=True, slots=True)
class Resource:
    """How the objects of a kind are addressed.

    Attributes:
        group: empty for the core group.
        version: the one in URLs.
        plural: the name in URLs.
        kind: the name in documents.
        namespaced: whether the objects live in namespaces.
        verbs: what may be done, such as `deletecollection`.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def name(self) -> str:
        """`plural.group`, or the plural alone in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """`group/version`, or `version` alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection, an object, or a subresource."""
        root = "/apis" if self.group else "/api"
        place = ["namespaces", namespace] if self.namespaced and namespace else []
        parts = [root, self.api_version, *place, self.plural, name, subresource]
        return "/".join(part for part in parts if part)


def discovered(document: Object) -> Iterator[Resource]:
    """Yield the resources of an aggregated discovery document, preferred versions first."""
    for group in document["items"]:
        name = group.get("metadata", {}).get("name", "")
        for version in group["versions"]:
            for each in version.get("resources") or ():
                yield Resource(
                    group=name,
                    version=version["version"],
                    plural=each["resource"],
                    kind=each["responseKind"]["kind"],
                    namespaced=each["scope"] == "Namespaced",
                    verbs=frozenset(each["verbs"]),
                )
