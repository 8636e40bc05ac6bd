"""The index of `make fresh-check` has a newer release of each package, and notes who takes one."""

import hashlib
import re
from urllib.request import urlopen

import pytest

from locks.index import Index, _empty, serving

LOCKED = "some_tool-1.4.2-py3-none-any.whl"
NEWER = "some_tool-2.0-py3-none-any.whl"


@pytest.fixture
def wheels(tmp_path):
    """A folder with one locked wheel."""
    (tmp_path / LOCKED).write_bytes(_empty(LOCKED))
    return tmp_path


def test_both_are_offered_with_their_hashes(wheels):
    """Under the name as it is compared, over HTTP as pip asks."""
    with serving(wheels) as index, urlopen(f"{index.url}/some-tool/") as answer:
        links = dict(re.findall(r'href="/files/([^#"]+)#sha256=(\w+)"', answer.read().decode()))
    assert links.keys() == {LOCKED, NEWER}
    assert links[LOCKED] == hashlib.sha256((wheels / LOCKED).read_bytes()).hexdigest()
    assert index.strange == set()


@pytest.mark.parametrize(
    ("path", "strange"),
    [
        (f"/files/{LOCKED}", set()),
        (f"/files/{NEWER}", {NEWER}),
        ("/simple/Some.Tool/", set()),
        ("/simple/another/", {"another"}),
        ("/simple/pip/", set()),
    ],
)
def test_what_a_resolver_asks_for_is_noted(wheels, path, strange):
    """A newer release, and what no lock names; pip itself looks whether it is the newest."""
    index = Index(wheels)
    index.answer(path)
    assert index.strange == strange
