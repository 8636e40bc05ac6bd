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
        links: symbolic links in the image, with their targets.
        command: that is started.
    """
    layer = layer_of({to: of.read_bytes() for to, of in files.items()}, links)
    config = config_of([digest_of(layer)], Entrypoint=list(command), Env=["PATH=/bin"])
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    parts = {
        "layer.tar": layer,
        "config.json": config,
        "manifest.json": json.dumps(manifest).encode(),
    }
    path.write_bytes(_tar([(tarfile.TarInfo(each), text) for each, text in parts.items()]))
    return path


def layer_of(files: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    """Return a layer of programs and symbolic links, by their path in the image."""
    return _tar(
        [(_member(to), content) for to, content in files.items()]
        + [(_link(to, target), b"") for to, target in links.items()]
    )


def config_of(layers: Sequence[str], **config: object) -> bytes:
    """Return the configuration of an image whose layers have these digests."""
    return json.dumps(
        {
            "architecture": _ARCHITECTURES[platform.machine()],
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": list(layers)},
        }
    ).encode()


def digest_of(content: bytes) -> str:
    """Return the digest by which a registry identifies a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


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
