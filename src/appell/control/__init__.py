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
    from appell.control.adaptive import Adaptation, AdaptiveComputedTorque
    from appell.control.code import export
    from appell.control.controller import (
        PD,
        ComputedTorque,
        ComputedTorqueIntegral,
        Controller,
        PDGravity,
        PointToPoint,
        default_gains,
        scaled_masses,
    )
    from appell.control.hardware.card import PUMA, Axes, Card, Commands, Readings
    from appell.control.hardware.clock import RealClock, StepClock
    from appell.control.hardware.comedi import ComediCard, ComediChannel, ComediWiring
    from appell.control.hardware.plant import SimulatedCard
    from appell.control.hardware.record import Run
    from appell.control.hardware.runtime import RunOptions, run
    from appell.control.hardware.safety import SafetyLimits
    from appell.control.hardware.watchdog import WatchdogCard
    from appell.control.observer import FaultAlarm, FaultDetector, MomentumObserver, thresholds
    from appell.control.references import Hold

_MODULES = {
    "adaptive": ("Adaptation", "AdaptiveComputedTorque"),
    "code": ("export",),
    "controller": (
        "PD", "ComputedTorque", "ComputedTorqueIntegral", "Controller", "PDGravity", "PointToPoint", "default_gains",
        "scaled_masses",
    ),
    "hardware.card": ("PUMA", "Axes", "Card", "Commands", "Readings"),
    "hardware.clock": ("RealClock", "StepClock"),
    "hardware.comedi": ("ComediCard", "ComediChannel", "ComediWiring"),
    "hardware.plant": ("SimulatedCard",),
    "hardware.record": ("Run",),
    "hardware.runtime": ("RunOptions", "run"),
    "hardware.safety": ("SafetyLimits",),
    "hardware.watchdog": ("WatchdogCard",),
    "observer": ("FaultAlarm", "FaultDetector", "MomentumObserver", "thresholds"),
    "references": ("Hold",),
}  # fmt: skip
"""Public names by module; a module is imported when one of its names is used."""
_HOME = {name: module for module, names in _MODULES.items() for name in names}
_RENAMED = {
    "Tracking": f"{__name__}:ComputedTorque",
    "IntegralTracking": f"{__name__}:ComputedTorqueIntegral",
    "Limits": f"{__name__}:SafetyLimits",
}
"""Former names."""

__all__ = [
    "PD", "PUMA", "Adaptation", "AdaptiveComputedTorque", "Axes", "Card", "ComediCard", "ComediChannel", "ComediWiring",
    "Commands", "ComputedTorque", "ComputedTorqueIntegral", "Controller", "FaultAlarm", "FaultDetector", "Hold",
    "MomentumObserver", "PDGravity", "PointToPoint", "Readings", "RealClock", "Run", "RunOptions", "SafetyLimits",
    "SimulatedCard", "StepClock", "WatchdogCard", "default_gains", "export", "run", "scaled_masses", "thresholds",
]  # fmt: skip


def __getattr__(name: str):
    if name not in _HOME:
        return renamed_names(__name__, _RENAMED)(name)
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
