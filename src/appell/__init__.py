"""Robot dynamics by the Gibbs-Appell equations: describe a robot, derive its motion, compile it for where it must run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from appell.former_modules import install as _install
from appell.version import __version__ as __version__

if TYPE_CHECKING:
    from appell import control, errors
    from appell.closed_loop import spherical
    from appell.closed_loop.build import close_loops
    from appell.closed_loop.closures import LoopClosure
    from appell.compiler.count import count_operations
    from appell.errors import (
        AppellError,
        ArgumentError,
        CompileError,
        IdentificationError,
        IdentificationWarning,
        ModelError,
        ModelWarning,
        SimulationError,
        SimulationWarning,
    )
    from appell.exporters import export
    from appell.exporters.casadi_function import casadi_function
    from appell.identification.base import base_parameters
    from appell.identification.excitation import excitation
    from appell.identification.identify import identify
    from appell.kinematics import inverse as ik
    from appell.kinematics import trajectories
    from appell.kinematics.inverse import inverse_kinematics
    from appell.loading import catalogue as robots
    from appell.loading.compiled import load_compiled
    from appell.loading.load import check, load
    from appell.model.point import Point
    from appell.model.pose import Pose
    from appell.robot.builder import RobotBuilder
    from appell.robot.compiled import compile
    from appell.robot.directional import jvp, vjp
    from appell.robot.robot import Robot
    from appell.rollouts import RolloutOptions, rollout
    from appell.simulation.contact import surfaces
    from appell.simulation.contact.pairs import ContactOptions
    from appell.simulation.integrators import Integration
    from appell.simulation.simulate import simulate
    from appell.simulation.trajectory import Trajectory
    from appell.sweeps import monte_carlo, sweep
    from appell.symbolic.equations import equations
    from appell.view.page import show
    from appell.view.picture import draw

_HOME = {
    "AppellError": "errors",
    "ArgumentError": "errors",
    "CompileError": "errors",
    "IdentificationError": "errors",
    "ModelError": "errors",
    "IdentificationWarning": "errors",
    "ModelWarning": "errors",
    "SimulationError": "errors",
    "SimulationWarning": "errors",
    "Robot": "robot.robot",
    "RobotBuilder": "robot.builder",
    "Actuator": "model.actuator",
    "Pose": "model.pose",
    "Point": "model.point",
    "load": "loading.load",
    "check": "loading.load",
    "load_compiled": "loading.compiled",
    "compile": "robot.compiled",
    "count_operations": "compiler.count",
    "export": "exporters",
    "casadi_function": "exporters.casadi_function",
    "equations": "symbolic.equations",
    "sweep": "sweeps",
    "monte_carlo": "sweeps",
    "jvp": "robot.directional",
    "vjp": "robot.directional",
    "close_loops": "closed_loop.build",
    "LoopClosure": "closed_loop.closures",
    "inverse_kinematics": "kinematics.inverse",
    "base_parameters": "identification.base",
    "identify": "identification.identify",
    "excitation": "identification.excitation",
    "simulate": "simulation.simulate",
    "Trajectory": "simulation.trajectory",
    "ContactOptions": "simulation.contact.pairs",
    "Integration": "simulation.integrators",
    "rollout": "rollouts",
    "RolloutOptions": "rollouts",
    "draw": "view.picture",
    "show": "view.page",
    "control": "control:",
    "ik": "kinematics.inverse:",
    "errors": "errors:",
    "robots": "loading.catalogue:",
    "spherical": "closed_loop.spherical:",
    "surfaces": "simulation.contact.surfaces:",
    "trajectories": "kinematics.trajectories:",
}
"""Where each public name lives; a trailing colon means the module itself. Nothing is loaded before it is used."""

_RENAMED = {
    "BaseParameters": "appell.identification.base:BaseParameters",
    "Identification": "appell.identification.result:Identification",
    "ClosedLoopRobot": "appell.closed_loop.robot:ClosedLoopRobot",
    "CompiledRobot": "appell.robot.compiled:CompiledRobot",
    "Counts": "appell.compiler.count:Counts",
    "Equations": "appell.symbolic.tree_equations:Equations",
    "Rollout": "appell.rollouts:Rollout",
    "Sweep": "appell.sweeps:Sweep",
    "Impact": "appell.simulation.records:Impact",
    "Contact": "appell.simulation.records:ContactInterval",
    "Circle": "appell.simulation.contact.surfaces:Circle",
    "Cylinder": "appell.simulation.contact.surfaces:Cylinder",
    "Ellipse": "appell.simulation.contact.surfaces:Ellipse",
    "ImplicitSurface": "appell.simulation.contact.surfaces:ImplicitSurface",
    "Plane": "appell.simulation.contact.surfaces:Plane",
    "Sphere": "appell.simulation.contact.surfaces:Sphere",
    "Closure": "appell.closed_loop.closures:LoopClosure",
    "ClosureError": "appell.errors:LoopClosureError",
    "TaskError": "appell.errors:TrajectoryError",
    "tasks": "appell.kinematics.trajectories",
}
"""Former top-level names, with where they are now: `module` or `module:name`."""

_install({"appell.tasks": "appell.kinematics.trajectories", "appell.ik": "appell.kinematics.inverse"})

__all__ = sorted(_HOME)


def __getattr__(name: str):
    home = _HOME.get(name)
    if home is None:
        return import_module("appell.deprecation").renamed_names(__name__, _RENAMED)(name)
    module = import_module(f"appell.{home.rstrip(':')}")
    value = module if home.endswith(":") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
