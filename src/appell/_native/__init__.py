"""The call boundary in C, where it was built; `Kernel` is None where it was not."""

from __future__ import annotations

try:
    from appell._native.boundary import Function, Kernel, bind, cpu_features
except ImportError:
    Kernel = Function = bind = cpu_features = None

__all__ = ["Function", "Kernel", "bind", "cpu_features"]
