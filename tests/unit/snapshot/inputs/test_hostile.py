"""Archives may come from anybody: their size is limited, and nothing in them leads outside."""

import gzip
import io
import json
import random
import struct
import tarfile
import tracemalloc
import zipfile

import pytest

from reporter.snapshot.documents import BrokenDocument, Document, read_documents
from reporter.snapshot.inputs.files import DumpError, InputLimits
from tests.tables import rows
from tests.unit.snapshot.inputs.layouts import gzip_of, tar_of, zip_of

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
TEXT = json.dumps(NODE)
PACK = {"tar": tar_of, "zip": zip_of}


@pytest.fixture
def read(tmp_path):
    def read(raw, *, limits=None, name="dump"):
        path = tmp_path / name
        path.write_bytes(raw)
        found = list(read_documents([path], limits or InputLimits()))
        values = [each.value for each in found if isinstance(each, Document)]
        causes = [each.cause for each in found if isinstance(each, BrokenDocument)]
        return values, causes

    return read


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("name", ["../a.json", "/etc/a.json", "x/../../a.json", "..\\a.json"])
def test_no_path_leads_outside(read, pack, name):
    """An entry whose path leads out of the archive is skipped with a note."""
    values, causes = read(PACK[pack]({name: TEXT, "b.json": TEXT}))
    assert values == [NODE]
    assert causes == ["its path leads out of the archive"]


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("/etc/passwd", "a link that leads out of the archive"),
        ("../../etc/passwd", "a link that leads out of the archive"),
        ("missing.json", "a link to a file that is not in the archive"),
        ("loop.json", "a link to a file that is not in the archive"),
    ],
)
def test_no_link_leads_outside(read, pack, target, cause):
    """A link that leads outside, nowhere or in a circle is skipped with a note."""
    links = [("x/a.json", target), ("x/loop.json", "a.json")][: 2 if "loop" in target else 1]
    values, causes = read(PACK[pack]({"b.json": TEXT}, links=links))
    assert values == [NODE]
    assert set(causes) == {cause}


@pytest.mark.parametrize("pack", PACK)
def test_links_inside_are_followed(read, pack):
    links = [
        ("latest", "2026-11-20"),
        ("nodes.json", "latest/nodes.v1"),
        ("again.json", "nodes.json"),
    ]
    values, causes = read(PACK[pack]({"2026-11-20/nodes.v1": TEXT}, links=links))
    assert (values, causes) == ([NODE, NODE], [])


def test_links_of_a_folder(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("kind: Secret")
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "nodes.v1").write_text(TEXT)
    for name, target in (
        ("in.json", "nodes.v1"),
        ("twice.json", "in.json"),
        ("out.yaml", secret),
        ("gone.yaml", "missing"),
    ):
        (folder / name).symlink_to(target)
    found = list(read_documents([folder]))
    assert [each.value for each in found if isinstance(each, Document)] == [NODE, NODE]
    assert {each.cause for each in found if isinstance(each, BrokenDocument)} == {
        "a link that leads out of the folder",
        "a link to a file that is not there",
    }


BOMB = InputLimits(file=10**6, unpacked=2 * 10**6, entries=100, nested=10**6)


@rows(
    "pack",
    {
        "gz": lambda: gzip.compress(b" " * 10**7),
        "tar": lambda: tar_of({"a.json": b" " * 10**7}),
        "tar of a log": lambda: tar_of({"a.log": b" " * 10**7}),
        "zip": lambda: zip_of({"a.json": b" " * 10**7}),
        "zip of many": lambda: zip_of({f"{number}.json": b" " * 10**6 for number in range(9)}),
        "tar entries": lambda: tar_of({f"{number}.log": b"" for number in range(101)}),
        "zip entries": lambda: zip_of({f"{number}.log": b"" for number in range(101)}),
    },
)
def test_bombs_are_refused(read, pack):
    """Input that unpacks to more than the limit ends the evaluation, using little memory."""
    raw = pack()
    tracemalloc.start()
    try:
        with pytest.raises(DumpError, match=r"larger|more than"):
            read(raw, limits=BOMB)
        assert tracemalloc.get_traced_memory()[1] < 7 * 10**6
    finally:
        tracemalloc.stop()


def test_a_size_that_lies_costs_nothing(read):
    """A header may claim any size; nobody skips that many blocks one by one."""
    header = tarfile.TarInfo("a.log")
    header.size = 2**62
    raw = header.tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(DumpError, match="larger than what is read"):
        read(raw + bytes(1024))
    long_name = tarfile.TarInfo("x")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 2**30
    with pytest.raises(DumpError, match="larger than what is read"):
        read(long_name.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def test_an_index_that_is_too_large(read):
    """Python reads the directory of a zip in one go, so its size is checked first."""
    raw = bytearray(zip_of({"a.json": TEXT}))
    struct.pack_into("<L", raw, len(raw) - 22 + 12, 2**31)
    with pytest.raises(DumpError, match="too many entries"):
        read(bytes(raw))


def test_archives_inside_of_archives_are_bounded(read):
    """Up to three nested archives are read; a deeper one is skipped with a note."""
    raw = tar_of({"a.json": TEXT})
    for _ in range(2):
        raw = zip_of({"inner.tgz": raw})
    assert read(raw) == ([NODE], [])
    values, causes = read(zip_of({"inner.zip": raw, "b.json": TEXT}))
    assert values == [NODE]
    assert causes == ["more than 3 archives inside of each other"]
    values, causes = read(gzip_of(gzip_of(gzip_of(gzip_of(TEXT)))))
    assert (values, len(causes)) == ([], 1)


@rows(
    "raw",
    {
        "tgz": tar_of({"a.json": TEXT, "b.json": TEXT * 1000})[:-40],
        "tar in a name": tar_of({"a.json": TEXT, "b.json": TEXT}, compressed=False)[:1024],
        "tar in a text": tar_of({"a.json": TEXT, "b.json": TEXT}, compressed=False)[:1800],
        "zip": zip_of({"a.json": TEXT})[:-30],
        "gz": gzip_of(TEXT * 100)[:-12],
        "empty gz": b"\x1f\x8b\x08" + b"\x00" * 20,
        "empty zip": b"PK\x03\x04" + b"\x00" * 40,
    },
)
def test_an_archive_that_is_cut_off_or_damaged(read, raw):
    """Nobody can tell what is missing from half an archive, so one line refuses it."""
    with pytest.raises(DumpError, match=r"cut off|damaged|has no") as error:
        read(raw)
    assert "\n" not in str(error.value)


def test_a_damaged_archive_inside_of_another_costs_only_itself(read):
    """The user did not name it, and the files beside it count."""
    values, causes = read(zip_of({"a.tgz": tar_of({"a.json": TEXT})[:-30], "b.json": TEXT}))
    assert values == [NODE]
    assert "cut off" in causes[0]


def test_an_encrypted_entry(read):
    """Entries that need a password are skipped with a note."""
    raw = bytearray(zip_of({"a.json": TEXT}))
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    assert read(bytes(raw)) == ([], ["it is encrypted; unpack it and name the folder"])


def test_other_compression_is_left_out(read):
    """Only the compression that zip programs use by default is read."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.json", TEXT)
    assert read(buffer.getvalue())[1] == ["its compression is not read; unpack it yourself"]


@pytest.mark.parametrize("pack", PACK)
def test_names_cannot_write_on_the_terminal(tmp_path, pack):
    """Control characters in the name of an entry do not reach a message."""
    path = tmp_path / "dump"
    path.write_bytes(PACK[pack]({"\x1b[2Ja.json": "5", "\x1b]0;x\x07/../../b.json": TEXT}))
    assert all(each.source.isprintable() for each in read_documents([path]))
    path.write_bytes(PACK[pack]({"\x1b[2Ja.json": "5" * 100}))
    with pytest.raises(DumpError) as error:
        list(read_documents([path], InputLimits(file=10)))
    assert str(error.value).isprintable()


def test_devices_and_hard_links(read):
    """Only files are read; a hard link names its target from the root of the archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, target in (
            ("dev.json", tarfile.CHRTYPE, ""),
            ("fifo.json", tarfile.FIFOTYPE, ""),
        ):
            header = tarfile.TarInfo(name)
            header.type, header.linkname = kind, target
            tar.addfile(header)
        header = tarfile.TarInfo("x/a.v1")
        header.size = len(TEXT)
        tar.addfile(header, io.BytesIO(TEXT.encode()))
        header = tarfile.TarInfo("x/a.json")
        header.type, header.linkname = tarfile.LNKTYPE, "x/a.v1"
        tar.addfile(header)
    values, causes = read(buffer.getvalue())
    assert values == [NODE]
    assert causes == ["a pipe or a device, which is not read"] * 2


def test_an_archive_without_documents(read):
    """An archive that holds something else is a mistake, not an empty cluster."""
    for raw in (tar_of({"README": "x"}), zip_of({"README": "x"})):
        with pytest.raises(DumpError, match=r"has no \.yaml"):
            read(raw)


def test_damage_of_any_kind_is_one_line(read):
    """However an archive was changed, it is read or refused; nothing else happens."""
    inner = tar_of({"x" * 150 + "/a.json": TEXT}, links=[("b.json", "a.json")])
    plain = tar_of({"a.json": TEXT}, compressed=False, links=[("b.json", "a.json")])
    chance = random.Random(15)
    said = []
    for _ in range(400):
        raw = bytearray(chance.choice((inner, plain, zip_of({"a.tgz": inner}), gzip_of(TEXT))))
        for _ in range(chance.choice((1, 3, 20))):
            place = chance.randrange(len(raw))
            raw[place : place + chance.choice((0, 1, 1, 40))] = chance.randbytes(
                chance.choice((1, 8))
            )
        try:
            read(bytes(raw), limits=BOMB)
        except DumpError as error:
            said.append(str(error))
    assert said
    assert all(each.isprintable() for each in said)
