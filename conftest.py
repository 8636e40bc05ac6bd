"""What holds for every test.

Nothing of the program and no library of the tests is imported here: a test file of its own starts
with what it needs itself.
"""

import asyncio
import os
import sys

import pytest

from tests.collection_order import CollectionOrder, orders_of

_PROPERTY_LIMIT_SECONDS = 1200
"""A property is a hundred tests: what takes seconds on one machine takes minutes on a busy one."""

# Python 3.11 makes an event loop for whoever asks for one before any was set, and nobody closes
# it: its warning would hit whichever test runs when it is collected.
asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def _logging_as_imported():
    """A command that ran in the process leaves no log that writes to its closed streams."""
    yield
    if "structlog" in sys.modules:
        sys.modules["structlog"].reset_defaults()


def pytest_pycollect_makemodule(module_path):
    """Choose how many examples there are before a module makes its properties."""
    if b"hypothesis" in module_path.read_bytes():
        from tests import hypothesis_profiles

        hypothesis_profiles.load()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One more than there are processors: tests wait for sockets and processes too."""
    processors = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    return len(processors) + 1


def pytest_configure(config):
    """Watch the order of the workers, where they are started from."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CollectionOrder())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Tell the order before anybody sorts; give properties their time when all are marked."""
    if hasattr(config, "workeroutput"):
        config.workeroutput["orders"] = orders_of(items, config.rootpath)
    yield
    hundreds = int(os.environ.get("PROPERTY_EXAMPLES") or 0) // 100
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.timeout(_PROPERTY_LIMIT_SECONDS * max(1, hundreds)))


def pytest_sessionfinish(session):
    """Spare a run without properties their library, which its plugin imports for the summary."""
    plugins = session.config.pluginmanager
    if "hypothesis" not in sys.modules and plugins.has_plugin("hypothesispytest"):
        plugins.unregister(name="hypothesispytest")
