"""Every example in a docstring runs, in the packages that are installed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import appell
import appell_lab

MODULES = sorted(
    module.name
    for package in (appell, appell_lab)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__") and not module.name.startswith("appell._native")
)


@pytest.mark.parametrize("name", ["appell", "appell_lab", *MODULES])
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
