import pytest

from image.check.dockerfile import Dockerfile


@pytest.fixture(scope="session")
def dockerfile():
    """The Dockerfile as it stands."""
    return Dockerfile.read()
