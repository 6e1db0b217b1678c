"""Robot dynamics by the Gibbs-Appell equations: describe a robot, derive its motion, compile it for where it must run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from appell.version import __version__ as __version__

if TYPE_CHECKING:
    from appell import control
    from appell.closed_loop import spherical
    from appell.closed_loop.build import close_loops
    from appell.closed_loop.closure import LoopClosure
    from appell.closed_loop.robot import ClosedLoopRobot
    from appell.compiler.count import Counts, count_operations
    from appell.errors import (
        AppellError,
        ArgumentError,
        CompileError,
        IdentificationError,
        LoopClosureError,
        ModelError,
        ModelWarning,
        SimulationError,
        TrajectoryError,
    )
    from appell.exporters import export
    from appell.identification.base import BaseParameters, base_parameters
    from appell.identification.excitation import excitation
    from appell.identification.identify import identify
    from appell.identification.result import Identification
    from appell.kinematics import inverse as ik
    from appell.kinematics import trajectories
    from appell.kinematics.inverse import inverse_kinematics
    from appell.loading import catalogue as robots
    from appell.loading.check import check
    from appell.loading.compiled import load_compiled
    from appell.loading.load import load
    from appell.model.pose import Pose
    from appell.robot.builder import RobotBuilder
    from appell.robot.compiled import CompiledRobot, compile
    from appell.robot.robot import Robot
    from appell.rollouts import Rollout, RolloutOptions, rollout
    from appell.simulation.contact.surfaces import Circle, Cylinder, Ellipse, ImplicitSurface, Plane, Sphere
    from appell.simulation.options import ContactOptions, Integration
    from appell.simulation.records import ContactInterval, Impact
    from appell.simulation.simulate import simulate
    from appell.simulation.trajectory import Trajectory
    from appell.sweeps import Sweep, sweep
    from appell.symbolic.equations import Equations, equations
    from appell.view.picture import draw
    from appell.view.serve import show

_HOME = {
    "AppellError": "errors",
    "ArgumentError": "errors",
    "LoopClosureError": "errors",
    "CompileError": "errors",
    "IdentificationError": "errors",
    "ModelError": "errors",
    "ModelWarning": "errors",
    "SimulationError": "errors",
    "TrajectoryError": "errors",
    "CompiledRobot": "robot.compiled",
    "compile": "robot.compiled",
    "load_compiled": "loading.compiled",
    "Counts": "compiler.count",
    "count_operations": "compiler.count",
    "export": "exporters",
    "Robot": "robot.robot",
    "RobotBuilder": "robot.builder",
    "check": "loading.check",
    "load": "loading.load",
    "Rollout": "rollouts",
    "RolloutOptions": "rollouts",
    "rollout": "rollouts",
    "Equations": "symbolic.equations",
    "equations": "symbolic.equations",
    "close_loops": "closed_loop.build",
    "LoopClosure": "closed_loop.closure",
    "ClosedLoopRobot": "closed_loop.robot",
    "Pose": "model.pose",
    "inverse_kinematics": "kinematics.inverse",
    "BaseParameters": "identification.base",
    "base_parameters": "identification.base",
    "identify": "identification.identify",
    "Identification": "identification.result",
    "excitation": "identification.excitation",
    "simulate": "simulation.simulate",
    "Trajectory": "simulation.trajectory",
    "ContactInterval": "simulation.records",
    "ContactOptions": "simulation.options",
    "Integration": "simulation.options",
    "Impact": "simulation.records",
    "Circle": "simulation.contact.surfaces",
    "Cylinder": "simulation.contact.surfaces",
    "Ellipse": "simulation.contact.surfaces",
    "ImplicitSurface": "simulation.contact.surfaces",
    "Plane": "simulation.contact.surfaces",
    "Sphere": "simulation.contact.surfaces",
    "draw": "view.picture",
    "show": "view.serve",
    "Sweep": "sweeps",
    "sweep": "sweeps",
    "control": "control:",
    "robots": "loading.catalogue:",
    "spherical": "closed_loop.spherical:",
    "ik": "kinematics.inverse:",
    "trajectories": "kinematics.trajectories:",
}
"""Where each public name lives; a trailing colon means the module itself. Nothing is loaded before it is used."""

_RENAMED = {
    "Closure": "appell.closed_loop.closure:LoopClosure",
    "ClosureError": "appell.errors:LoopClosureError",
    "tasks": "appell.kinematics.trajectories",
    "TaskError": "appell.errors:TrajectoryError",
    "Contact": "appell.simulation.records:ContactInterval",
}
"""Former names, with what they are called now: `module` or `module:name`."""

__all__ = sorted(_HOME)


def __getattr__(name: str):
    home = _HOME.get(name)
    if home is None:
        return import_module("appell.deprecation").renamed_names(__name__, _RENAMED, 4)(name)
    module = import_module(f"appell.{home.rstrip(':')}")
    value = module if home.endswith(":") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
