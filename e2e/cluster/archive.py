"""Images of one static program, as the archives that `docker save` writes.

The format is that of github.com/moby/docker-image-spec, spec.md, "Combined Image JSON + Filesystem
Changeset Format".
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(
    path: Path,
    name: str,
    files: Mapping[str, Path],
    *,
    links: Mapping[str, str],
    command: Sequence[str],
) -> Path:
    """Write an image and return its path.

    Args:
        path: of the archive.
        name: of the image, with its tag.
        files: programs by their path in the image.
        links: symbolic links in the image: what they are, and where they lead to.
        command: what is started.
    """
    layer = _tar(
        [(_member(to), of.read_bytes()) for to, of in files.items()]
        + [(_link(to, target), b"") for to, target in links.items()]
    )
    config = json.dumps(
        {
            "architecture": _ARCHITECTURES[platform.machine()],
            "os": "linux",
            "config": {"Entrypoint": list(command), "Env": ["PATH=/bin"]},
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"],
            },
        }
    ).encode()
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    parts = {
        "layer.tar": layer,
        "config.json": config,
        "manifest.json": json.dumps(manifest).encode(),
    }
    path.write_bytes(_tar([(tarfile.TarInfo(each), text) for each, text in parts.items()]))
    return path


def _member(path: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.mode = 0o755
    return member


def _link(path: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type = tarfile.SYMTYPE
    member.linkname = target
    return member


def _tar(members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()
