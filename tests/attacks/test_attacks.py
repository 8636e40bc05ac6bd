"""The quick attacks, most of them in `make test-long`; `make attacks` carries out all."""

import pytest

from tests.attacks.attack import all_attacks

QUICK = {str(each): each for each in all_attacks() if each.quick}


def test_names_are_told_apart():
    """An attack is repeated by its name."""
    names = [str(each) for each in all_attacks()]
    assert len(names) == len(set(names))


def _starts_the_program(name: str) -> bool:
    """True if it takes seconds: it starts `check`, or tries every pattern there is."""
    return not name.startswith("patterns: ") or "everything" in name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=[pytest.mark.long] if _starts_the_program(each) else [])
        for each in QUICK
    ],
)
def test_attack(name):
    """It is held."""
    outcome = QUICK[name].outcome()
    assert outcome.held, outcome.figure
