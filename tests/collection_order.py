"""Workers collect the same tests in the same order, each with hashes of its own.

pytest-xdist compares what is left after pytest-randomly has sorted it, so that a table which is
made from a set is not seen, and without that plugin ends the run. Here each worker tells the order
of each file as it was collected; where two differ the run fails, and names the file.
"""

import itertools
import zlib

import pytest


def orders_of(items, root):
    """Return a sum of the names of each file's tests, in their order."""
    return {
        str(path.relative_to(root)): zlib.crc32("\n".join(each.nodeid for each in found).encode())
        for path, found in itertools.groupby(items, lambda item: item.path)
    }


class CollectionOrder:
    """Compares the workers; a plugin of the process that starts them."""

    def __init__(self):
        self.orders = {}
        self.torn = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Compare a worker that ends with those before it."""
        for path, order in getattr(node, "workeroutput", {}).get("orders", {}).items():
            if self.orders.setdefault(path, order) != order:
                self.torn.add(path)

    def pytest_sessionfinish(self, session):
        """Fail the run."""
        if self.torn:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        """Name the files."""
        for path in sorted(self.torn):
            terminalreporter.write_line(
                f"FAILED {path} is collected in another order each time: sort what it goes over",
                red=True,
            )
