"""A table that is made from a set is noticed, whatever sorts the tests afterwards."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.collection_order import CollectionOrder, orders_of

ROOT = Path(__file__).parents[2]
FROM_A_SET = """
import pytest

@pytest.mark.parametrize("word", {"a", "b", "c", "d", "e", "f", "g", "h"})
def test_word(word):
    pass
"""


def item(path: str, name: str):
    return SimpleNamespace(path=ROOT / path, nodeid=f"{path}::{name}")


def compared(*collections) -> set[str]:
    order = CollectionOrder()
    for items in collections:
        order.pytest_testnodedown(SimpleNamespace(workeroutput={"orders": orders_of(items, ROOT)}))
    return order.torn


def test_the_file_is_named_whose_order_differs():
    same, one, other = item("x/test_a.py", "t"), item("x/test_b.py", "1"), item("x/test_b.py", "2")
    assert compared([same, one, other], [same, one, other]) == set()
    assert compared([same, one, other], [same, other, one]) == {"x/test_b.py"}
    assert compared([same, one, other], [same, one]) == {"x/test_b.py"}


def test_a_worker_that_died_tells_nothing():
    order = CollectionOrder()
    order.pytest_testnodedown(SimpleNamespace())
    assert order.torn == set()


@pytest.mark.long
def test_a_run_fails_for_a_table_made_from_a_set(tmp_path):
    """Eight words, two workers: both have one order by chance once in 40,000 runs."""
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (tmp_path / "test_words.py").write_text(FROM_A_SET)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cov", "-p", "no:respx"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout
    assert "FAILED test_words.py is collected in another order each time" in done.stdout
