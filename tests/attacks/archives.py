"""Archives and folders that a stranger sends."""

import gzip
import io
import json
import os
import struct
import tarfile
import zipfile

from reporter.snapshot.documents import BrokenDocument, Document, read_documents
from tests.attacks.attack import Outcome, attack, attacks, program
from tests.unit.snapshot.inputs.layouts import gzip_of, zip_of

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
TEXT = json.dumps(NODE)


def _entries(*headers, pack=tarfile.GNU_FORMAT):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=pack) as tar:
        for name, kind, target, size in headers:
            header = tarfile.TarInfo(name)
            header.type, header.linkname, header.size = kind, target, size
            tar.addfile(header, io.BytesIO(b" " * size))
        header = tarfile.TarInfo("good.json")
        header.size = len(TEXT)
        tar.addfile(header, io.BytesIO(TEXT.encode()))
    return buffer.getvalue()


def _zip(*names, mode=0):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in (*names, "good.json"):
            info = zipfile.ZipInfo(name or "x")
            info.filename = name
            info.external_attr = (mode if name in names else 0) << 16
            archive.writestr(info, TEXT)
    return buffer.getvalue()


LEFT_OUT = {
    "a tar with a device of blocks": _entries(("a.yaml", tarfile.BLKTYPE, "", 0)),
    "a tar with a hard link that leads out": _entries(("a.json", tarfile.LNKTYPE, "/etc/passwd", 0)),
    "a zip with an empty name": _zip(""),
    "a zip with a pipe": _zip("a.json", mode=0o010644),
    "a zip with a device": _zip("a.json", mode=0o020644),
}  # fmt: skip
"""The others are tried in tests/unit/snapshot/inputs/test_hostile.py, and changes at random too."""


@attacks(LEFT_OUT)
def _(folder, raw):
    path = folder / "dump"
    path.write_bytes(raw)
    found = list(read_documents([path]))
    values = [each.value for each in found if isinstance(each, Document)]
    causes = [each.cause for each in found if isinstance(each, BrokenDocument)]
    return Outcome(held=values == [NODE] and len(causes) == 1, figure=f"skipped: {causes}")


def _with_size(header, size):
    header.size = size
    return header.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def _typed(name, kind):
    header = tarfile.TarInfo(name)
    header.type = kind
    return header


def _pax(values, then=b""):
    body = b"".join(
        b"%d %s=%s\n"
        % (len(key) + len(value) + 3 + len(str(len(key) + len(value) + 5)), key, value)
        for key, value in values
    )
    header = _typed("x", tarfile.XHDTYPE)
    header.size = len(body)
    return header.tobuf(tarfile.GNU_FORMAT) + body + bytes(-len(body) % 512) + then


def _sparse(count):
    """A sparse file whose map has `count` entries, which stand in front of its data."""
    entries = f"{count}\n".encode() + b"0\n0\n" * count
    entries += bytes(-len(entries) % 512)
    header = tarfile.TarInfo("a.json")
    header.size = len(entries)
    sparse = [
        (b"GNU.sparse.major", b"1"),
        (b"GNU.sparse.minor", b"0"),
        (b"GNU.sparse.realsize", b"1"),
    ]
    return _pax(sparse, header.tobuf(tarfile.GNU_FORMAT) + entries + bytes(1024))


def _lying_zip():
    raw = bytearray(zip_of({"a.json": TEXT}))
    struct.pack_into("<L", raw, len(raw) - 10, 2**31)
    return bytes(raw)


def _many(count):
    block = tarfile.TarInfo("a.log").tobuf(tarfile.GNU_FORMAT)
    return block * count + bytes(1024)


REFUSED = {
    "a tar of a sparse file with a long map": lambda: _sparse(2_000_000),
    "a tar that lies about a size": lambda: _with_size(tarfile.TarInfo("a.log"), 2**62),
    "a tar with attributes of a GiB": lambda: _with_size(_typed("x", tarfile.XHDTYPE), 2**30),
    "a zip whose index has 2 GiB": _lying_zip,
}


SLOWLY = {
    "a gz of 600 MiB of blanks": lambda: gzip_of(b" " * (600 << 20)),
    "a tar of 250,000 entries": lambda: gzip.compress(_many(250_000)),
}


@attacks(SLOWLY, quick=False)
def _(folder, make):
    return _refused(folder, make)


@attacks(REFUSED)
def _(folder, make):
    return _refused(folder, make)


def _refused(folder, make):
    (folder / "dump").write_bytes(make())
    ran = program("check", folder / "dump", seconds=20)
    held = ran.status == 2 and not ran.failed and ran.mebibytes < 1024
    return Outcome(
        held=held, figure=f"{ran.seconds:.1f} s, {ran.mebibytes:.0f} MiB: {ran.err[-150:].strip()}"
    )


@attack("a folder with a pipe, a socket's name and a link to a device")
def _(folder):
    os.mkfifo(folder / "a.json")
    os.mkfifo(folder / "b.yaml.gz")
    (folder / "c.yaml").symlink_to("/dev/zero")
    (folder / "good.json").write_text(TEXT)
    ran = program("check", folder, seconds=5)
    words = ("a.json: a pipe or a device", "b.yaml.gz: a pipe or a device", "c.yaml: a link that")
    said = [each for each in words if each in ran.err]
    held = len(said) == len(words) and not ran.failed
    return Outcome(held=held, figure=f"status {ran.status}, said: {said}")


@attacks({"a device that never ends": "/dev/zero", "a device of random bytes": "/dev/urandom"})
def _(folder, path):
    ran = program("check", path, seconds=5)
    held = ran.status == 2 and not ran.failed and ran.mebibytes < 200
    return Outcome(
        held=held, figure=f"status {ran.status}, {ran.mebibytes:.0f} MiB: {ran.err.strip()[-100:]}"
    )
