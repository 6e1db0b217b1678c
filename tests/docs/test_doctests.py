"""Every example in a docstring runs, in the package that is installed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import appell

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(appell.__path__, "appell.")
    if not module.name.endswith("__main__") and not module.name.startswith("appell._native")
)


@pytest.mark.parametrize("name", ["appell", *MODULES])
def test_examples_of_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("appell"):
            raise
        pytest.skip(f"{error.name} is not installed")
    failed, _ = doctest.testmod(module)
    assert failed == 0
