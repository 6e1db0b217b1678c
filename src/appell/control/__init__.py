"""Control: laws as controllers, their C code, and the hardware they run against.

    controller = appell.control.Tracking(robot, reference, kp=400.0, kd=40.0, period=1e-3)
    motion = appell.simulate(robot, q0, qd0, 8.6, control=controller)

`docs/howto/control.md` and `docs/howto/hardware.md` show how.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appell.control.code import export
    from appell.control.controller import PD, Controller, IntegralTracking, PDGravity, PointToPoint, Tracking
    from appell.control.hardware.axes import PUMA, Axes
    from appell.control.hardware.card import Card
    from appell.control.hardware.client import SimulatedCard
    from appell.control.hardware.clock import RealClock, StepClock
    from appell.control.hardware.record import Run
    from appell.control.hardware.runtime import run
    from appell.control.hardware.safety import Limits
    from appell.control.hardware.signals import Commands, Readings
    from appell.control.models import scaled_masses
    from appell.control.references import Hold

_HOME = {
    **dict.fromkeys(
        ("PD", "PDGravity", "PointToPoint", "Tracking", "IntegralTracking", "Controller"), "appell.control.controller"
    ),
    "Hold": "appell.control.references",
    "scaled_masses": "appell.control.models",
    "run": "appell.control.hardware.runtime",
    "Run": "appell.control.hardware.record",
    "Limits": "appell.control.hardware.safety",
    "Axes": "appell.control.hardware.axes",
    "PUMA": "appell.control.hardware.axes",
    "Card": "appell.control.hardware.card",
    "SimulatedCard": "appell.control.hardware.client",
    **dict.fromkeys(("Readings", "Commands"), "appell.control.hardware.signals"),
    **dict.fromkeys(("RealClock", "StepClock"), "appell.control.hardware.clock"),
    "export": "appell.control.code",
}
"""Where each name lives. Rollouts use the laws alone, which should not load the rest."""

__all__ = [
    "PD", "PUMA", "Axes", "Card", "Commands", "Controller", "Hold", "IntegralTracking", "Limits", "PDGravity",
    "PointToPoint", "Readings", "RealClock", "Run", "SimulatedCard", "StepClock", "Tracking", "export",
    "run", "scaled_masses",
]  # fmt: skip


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'appell.control' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
