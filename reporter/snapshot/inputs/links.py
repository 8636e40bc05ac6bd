"""Paths and links of the entries of an archive: none leads out of it.

Real support bundles have links: troubleshoot.sh writes `cluster-resources/custom-resources/<crd>/<ns>.json`
and links `<ns>.yaml` to it (replicatedhq/troubleshoot, pkg/collect/cluster_resources.go, v0.133.0).
"""

import posixpath
from collections.abc import Mapping


def path_inside(name: str) -> str | None:
    """Return the path of an entry without `.` and `..`, None if it leads out of the archive."""
    path = posixpath.normpath(name.replace("\\", "/").replace("\0", ""))
    if path == ".." or path.startswith(("/", "../")):
        return None
    return path


def target_inside(link: str, target: str) -> str | None:
    """Return where a symbolic link of an archive points, None if it leads out of the archive."""
    if target.startswith("/"):
        return None
    return path_inside(posixpath.join(posixpath.dirname(link), target))


def followed(path: str, links: Mapping[str, str], most: int) -> str | None:
    """Return the path behind links of files and folders, None if they go on for ever.

    Args:
        path: to begin with.
        links: where each link of the archive points.
        most: how many links are followed.

    """
    for _ in range(most):
        step = _one_step(path, links)
        if step is None:
            return path
        path = step
    return None


def _one_step(path: str, links: Mapping[str, str]) -> str | None:
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        target = links.get("/".join(parts[:count]))
        if target is not None:
            return posixpath.normpath(posixpath.join(target, *parts[count:]))
    return None
