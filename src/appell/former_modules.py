"""Former names of public packages as modules: `from appell.tasks import line` works for one release and warns."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from appell.errors import warn_at_caller


class FormerModules:
    """A finder and loader that puts the present module under its former name; `names` maps former packages to present ones."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        known = any(f"{name}.".startswith(f"{former}.") for former in self.names)
        return ModuleSpec(name, self) if known else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        former = next(former for former in self.names if f"{module.__name__}.".startswith(f"{former}."))
        present = self.names[former] + module.__name__.removeprefix(former)
        text = f"{module.__name__} is now {present}; the former name goes with the next release."
        warn_at_caller(text, DeprecationWarning)
        sys.modules[module.__name__] = import_module(present)


def install(names: Mapping[str, str]) -> None:
    """Let former packages be imported."""
    sys.meta_path.append(FormerModules(names))  # type: ignore[arg-type]
