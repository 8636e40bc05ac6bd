"""What is imported of kubernetes_asyncio."""

import subprocess
import sys

import pytest

LOADED = "sorted(name for name in sys.modules if name.startswith('kubernetes_asyncio'))"


def run(code):
    command = [sys.executable, "-c", f"import sys\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_generated_client_is_not_imported():
    """It would cost each replica 32 MB."""
    code = "from reporter.kube.library import library\nlibrary()\nprint(len(sys.modules))"
    whole = "import kubernetes_asyncio\nprint(len(sys.modules))"
    assert int(run(whole)) - int(run(code)) > 700


@pytest.mark.parametrize("order", ["before", "after"])
def test_the_whole_library_can_be_imported_beside_it(order):
    """Whoever uses the generated client in the same process gets the real one."""
    ours = "from reporter.kube.library import library\nlibrary()"
    theirs = "import kubernetes_asyncio.client as client\nclient.CoreV1Api"
    first, then = (theirs, ours) if order == "before" else (ours, theirs)
    assert run(f"{first}\n{then}\nimport kubernetes_asyncio.client as c\nprint(c.CoreV1Api)")


def test_nothing_is_left_behind():
    """No bare package stands in for the real one."""
    assert run(f"from reporter.kube.library import library\nlibrary()\nprint({LOADED})") == "[]"
