"""Kernels of these tests are built afresh, in a cache of their own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def fresh_kernels(own_cache):
    """Kernels of these tests are built afresh."""
