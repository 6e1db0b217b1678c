"""Robot dynamics by the Gibbs-Appell equations: describe a robot, derive its motion, compile it for where it must run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from appell import control, ik, tasks
    from appell.closed_loop import spherical
    from appell.closed_loop.build import close_loops
    from appell.closed_loop.closure import Closure
    from appell.closed_loop.robot import ClosedLoopRobot
    from appell.compiler.api import CompiledRobot, compile
    from appell.compiler.archive import load_compiled
    from appell.compiler.count import Counts, count_operations
    from appell.errors import (
        AppellError,
        ArgumentError,
        ClosureError,
        CompileError,
        IdentificationError,
        ModelError,
        ModelWarning,
        SimulationError,
        TaskError,
    )
    from appell.exporters import export
    from appell.identification.base import BaseParameters, base_parameters
    from appell.identification.excitation import excitation
    from appell.identification.identify import identify
    from appell.identification.result import Identification
    from appell.ik import inverse_kinematics
    from appell.impact.record import Contact, Impact
    from appell.impact.surfaces import Circle, Cylinder, Ellipse, ImplicitSurface, Plane, Sphere
    from appell.model import catalogue as robots
    from appell.model.builder import RobotBuilder
    from appell.model.check import check
    from appell.model.loaders import load
    from appell.model.pose import Pose
    from appell.model.robot import Robot
    from appell.rollouts import Rollout, rollout
    from appell.simulation.simulate import simulate
    from appell.simulation.trajectory import Trajectory
    from appell.sweeps import Sweep, sweep
    from appell.symbolic.equations import Equations, equations
    from appell.view.picture import draw
    from appell.view.serve import show

_HOME = {
    "AppellError": "errors", "ArgumentError": "errors", "CompileError": "errors", "IdentificationError": "errors",
    "ClosureError": "errors", "ModelError": "errors", "ModelWarning": "errors", "SimulationError": "errors",
    "TaskError": "errors",
    "CompiledRobot": "compiler.api", "compile": "compiler.api", "load_compiled": "compiler.archive",
    "Counts": "compiler.count", "count_operations": "compiler.count", "export": "exporters",
    "Robot": "model.robot", "RobotBuilder": "model.builder", "check": "model.check", "load": "model.loaders",
    "Rollout": "rollouts", "rollout": "rollouts",
    "control": "control:", "robots": "model.catalogue:", "equations": "symbolic.equations", "Equations": "symbolic.equations",
    "spherical": "closed_loop.spherical:", "close_loops": "closed_loop.build", "Closure": "closed_loop.closure",
    "ClosedLoopRobot": "closed_loop.robot", "Pose": "model.pose",
    "ik": "ik:", "inverse_kinematics": "ik", "tasks": "tasks:",
    "base_parameters": "identification.base", "BaseParameters": "identification.base",
    "identify": "identification.identify", "Identification": "identification.result",
    "excitation": "identification.excitation",
    "simulate": "simulation.simulate", "Trajectory": "simulation.trajectory",
    "Contact": "impact.record", "Impact": "impact.record", "Circle": "impact.surfaces", "Cylinder": "impact.surfaces",
    "Ellipse": "impact.surfaces", "ImplicitSurface": "impact.surfaces", "Plane": "impact.surfaces",
    "Sphere": "impact.surfaces",
    "draw": "view.picture", "show": "view.serve", "Sweep": "sweeps", "sweep": "sweeps",
}  # fmt: skip
"""Where each public name lives; a trailing colon means the module itself. Nothing is loaded before it is used."""

__all__ = sorted(_HOME)


def __getattr__(name: str):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'appell' has no attribute {name!r}")
    module = import_module(f"appell.{home.rstrip(':')}")
    value = module if home.endswith(":") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
