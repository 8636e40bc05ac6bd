"""What an engine sees of the repository."""

import pytest

from image.check.context import Allowed


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The build context, copied."""
    folder = tmp_path_factory.mktemp("context")
    Allowed.read().copy(folder)
    return folder


def names(seen):
    return {str(path.relative_to(seen)) for path in seen.rglob("*") if path.is_file()}


def test_context_has_what_the_wheel_is_made_of(seen):
    """Sources, packaging, licence and locks."""
    assert names(seen) >= {
        "LICENSE", "README.md", "pyproject.toml", "requirements.lock",
        "image/__main__.py", "image/build-requirements.lock",
        "reporter/cli/main.py", "reporter/py.typed",
    }  # fmt: skip


def test_context_has_nothing_else(seen):
    """No tests, no history, no environments, nothing that was built."""
    assert {path.name for path in seen.iterdir()} == {
        "LICENSE", "README.md", "pyproject.toml", "requirements.lock",
        "image", "locks", "reporter",
    }  # fmt: skip
    assert [name for name in names(seen) if "__pycache__" in name or "check/" in name] == []


def test_list_that_lets_everything_through_is_refused(tmp_path):
    """A list of what to leave out forgets what comes later."""
    path = tmp_path / ".dockerignore"
    path.write_text("tests\n.git\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"must begin with \*"):
        Allowed.read(path)
