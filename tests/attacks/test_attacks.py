"""The quick attacks; `make attacks` carries out all."""

import pytest

from tests.attacks.attack import all_attacks

QUICK = {str(each): each for each in all_attacks() if each.quick}


def test_names_are_told_apart():
    """An attack is repeated by its name."""
    names = [str(each) for each in all_attacks()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", QUICK)
def test_attack(name):
    """It is held."""
    outcome = QUICK[name].outcome()
    assert outcome.held, outcome.figure
