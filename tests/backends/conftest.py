"""Kernels of these tests are built afresh, in a cache of their own."""

import pytest

from appell.compiler.targets.c import toolchain


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPELL_CACHE_DIR", str(tmp_path_factory.mktemp("kernels") / "cache"))
        patch.delenv("APPELL_NATIVE", raising=False)
        yield


@pytest.fixture
def compiler():
    found = toolchain.find_compiler()
    if found is None:
        pytest.skip("no C compiler on this machine")
    return found
