"""The call boundary in C, where it was built; `Kernel` is None where it was not."""

from __future__ import annotations

try:
    from appell._native.boundary import (
        Function,
        Kernel,
        Motion,
        Stepper,
        bind,
        mode_accelerations,
        solve_contacts,
        uniform_columns,
    )
except ImportError:
    Kernel = Function = Motion = Stepper = bind = mode_accelerations = solve_contacts = uniform_columns = None

__all__ = ["Function", "Kernel", "Motion", "Stepper", "bind", "mode_accelerations", "solve_contacts", "uniform_columns"]
