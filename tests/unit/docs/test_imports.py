"""What the tree says is what the imports do; the contracts in pyproject.toml hold the rest."""

from itertools import chain

import grimp


def test_no_modules_import_each_other():
    """Lazily neither: whoever reads one of a circle has to read all."""
    graph = grimp.build_graph("reporter", cache_dir=None)
    left = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    while ends := [each for each, others in left.items() if not others & left.keys()]:
        for each in ends:
            del left[each]
    imported = set(chain.from_iterable(left.values()))
    assert sorted(each for each in left if each in imported) == []
