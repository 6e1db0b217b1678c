"""Settings and fixtures of all tests."""

import shutil

import pytest
from hypothesis import settings

settings.register_profile("library", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("library")


@pytest.fixture(scope="session")
def own_cache(tmp_path_factory):
    """An empty cache of kernels, and no APPELL_NATIVE."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPELL_CACHE_DIR", str(tmp_path_factory.mktemp("kernels") / "cache"))
        patch.delenv("APPELL_NATIVE", raising=False)
        yield


@pytest.fixture
def compiler():
    """The command of a C compiler, for what is exported as C."""
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        pytest.skip("no C compiler on this machine")
    return found
