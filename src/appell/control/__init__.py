"""Control: laws as controllers, their C code, and the hardware they run against.

    controller = appell.control.ComputedTorque(robot, reference, kp=400.0, kd=40.0, period=1e-3)
    motion = appell.simulate(robot, q0, qd0, 8.6, controller=controller)

`docs/howto/control.md` and `docs/howto/hardware.md` show how.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from appell.deprecation import renamed_names

if TYPE_CHECKING:
    from appell.control.code import export
    from appell.control.controller import (
        PD,
        ComputedTorque,
        ComputedTorqueIntegral,
        Controller,
        PDGravity,
        PointToPoint,
    )
    from appell.control.hardware.axes import PUMA, Axes
    from appell.control.hardware.card import Card, Commands, Readings
    from appell.control.hardware.client import SimulatedCard
    from appell.control.hardware.clock import RealClock, StepClock
    from appell.control.hardware.record import Run
    from appell.control.hardware.runtime import RunOptions, run
    from appell.control.hardware.safety import SafetyLimits
    from appell.control.models import scaled_masses
    from appell.control.references import Hold

_HOME = {
    **dict.fromkeys(
        ("PD", "PDGravity", "PointToPoint", "ComputedTorque", "ComputedTorqueIntegral", "Controller"), "controller"
    ),
    "Hold": "references",
    "scaled_masses": "models",
    **dict.fromkeys(("RunOptions", "run"), "hardware.runtime"),
    "Run": "hardware.record",
    "SafetyLimits": "hardware.safety",
    **dict.fromkeys(("Axes", "PUMA"), "hardware.axes"),
    **dict.fromkeys(("Card", "Commands", "Readings"), "hardware.card"),
    "SimulatedCard": "hardware.client",
    **dict.fromkeys(("RealClock", "StepClock"), "hardware.clock"),
    "export": "code",
}
"""Modules of the public names, imported on first use."""

_RENAMED = {
    "Tracking": f"{__name__}:ComputedTorque",
    "IntegralTracking": f"{__name__}:ComputedTorqueIntegral",
    "Limits": f"{__name__}:SafetyLimits",
}
"""Former names."""

__all__ = [
    "PD", "PUMA", "Axes", "Card", "Commands", "ComputedTorque", "ComputedTorqueIntegral", "Controller", "Hold",
    "PDGravity", "PointToPoint", "Readings", "RealClock", "Run", "RunOptions", "SafetyLimits", "SimulatedCard", "StepClock",
    "export", "run", "scaled_masses",
]  # fmt: skip


def __getattr__(name: str):
    if name not in _HOME:
        return renamed_names(__name__, _RENAMED, 4)(name)
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
