import json

import pytest

from reporter.snapshot.dump import load_dump
from reporter.stacks import BUILT_IN


@pytest.fixture
def load(tmp_path, request):
    """Load a dump of these documents, by the `CATALOGUE` of the test's module or the built-in one."""
    catalogue = getattr(request.module, "CATALOGUE", BUILT_IN)

    def load(*documents, complete=False):
        path = tmp_path / "dump.json"
        path.write_text("\n".join(map(json.dumps, documents)))
        return load_dump([path], catalogue, complete=complete)

    return load
