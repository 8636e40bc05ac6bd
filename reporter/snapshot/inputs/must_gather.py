"""Folders that `oc adm must-gather` and `oc adm inspect` write.

The layout is that of openshift/oc, pkg/cli/admin/inspect (resource.go, util.go, namespace.go, pod.go;
release-4.16): `namespaces/<namespace>/<group>/<plural>.yaml` holds a list,
`namespaces/<namespace>/<group>/<plural>/<name>.yaml` an object, with `core` for the core group;
`cluster-scoped-resources/` is alike without namespaces; `namespaces/<namespace>/<namespace>.yaml` is the
namespace, and `namespaces/<namespace>/pods/<pod>/<pod>.yaml` a pod that ran. What else is below `pods/` is
what containers answered, and logs.
"""

from pathlib import PurePosixPath
from typing import Final

_CLUSTER: Final = "cluster-scoped-resources"
_NAMESPACES: Final = "namespaces"


def is_gathered(path: PurePosixPath) -> bool:
    """Tell whether a file has the place of an object or a list in such a folder."""
    parts = path.with_suffix("").parts
    for folder, depths in ((_CLUSTER, (2, 3)), (_NAMESPACES, (3, 4))):
        if folder in parts:
            rest = parts[parts.index(folder) + 1 :]
            return (len(rest) in depths and not _is_of_pod(rest)) or _is_named_twice(rest)
    return False


def _is_of_pod(rest: tuple[str, ...]) -> bool:
    return len(rest) > 1 and rest[1] == "pods"


def _is_named_twice(rest: tuple[str, ...]) -> bool:
    match rest:
        case (namespace, again):
            return namespace == again
        case (_, "pods", pod, again):
            return pod == again
    return False
