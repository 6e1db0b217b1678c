"""`save` of compiled robots: the operations of their functions, written to one file (`appell.loading.compiled` reads it)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from appell.algorithms.function_spec import FunctionSpec, as_function_spec
from appell.algorithms.laws import LAWS
from appell.compiler.archive import container
from appell.compiler.archive.encode import lowered_data, operations_data, spec_data
from appell.compiler.options import CHOICES
from appell.errors import ArgumentError, CompileError, unknown_name_message
from appell.version import __version__

if TYPE_CHECKING:
    from os import PathLike

    from appell.robot.compiled import CompiledRobot
    from appell.robot.protocol import AnyRobot

FRICTION = {"with_losses": True, "without_losses": False}
"""Names in files of rates with and without damping and friction of the joints."""


def save(
    dyn: CompiledRobot,
    path: str | PathLike,
    functions: Iterable[str | FunctionSpec] | None,
    frames: Sequence[str],
    rollouts: Sequence[str],
) -> None:
    """Write a compiled robot; documented at `CompiledRobot.save`."""
    if dyn.store is not None:
        raise ArgumentError(f"{dyn.robot.name!r} was loaded from {dyn.store.path}. Copy that file instead.")
    robot, provider = dyn.robot, dyn.functions.provider
    wanted = [as_function_spec(function) for function in (robot.system.main if functions is None else functions)]
    wanted += [FunctionSpec(function, frame=frame) for frame in frames for function in ("pose", "jacobian")]
    if dyn.options.parameters == "runtime":
        wanted = [spec if spec.frame else replace(spec, parameter_input=True) for spec in wanted]
    data = robot_data(robot)
    if rollouts and robot.system.recursion is None:
        raise ArgumentError(f"rollouts are of trees; {robot.name!r} has closed loops. Leave `rollouts` out.")
    stored = []
    for spec in dict.fromkeys(wanted):
        provider.signature(spec)
        _, method, _ = robot.system.find(spec.function, spec.method)
        lowered = provider.lowered(spec, "cpu", "float64")
        others = {dtype: provider.lowered(spec, "cuda", dtype) for dtype in CHOICES["dtype"]}
        gpu = {dtype: lowered_data(other) for dtype, other in others.items() if type(other) is not type(lowered)}
        stored.append({"request": spec_data(spec), "method": method, "form": lowered_data(lowered), "gpu": gpu})
    options = {name: getattr(dyn.options, name) for name in ("dtype", "parameters", "layout")}
    content = {"written_by": f"appell {__version__}", "robot": data, "options": options}
    container.write(path, {**content, "functions": stored, "rollouts": [rate_data(dyn, law) for law in rollouts]})


def robot_data(robot: AnyRobot) -> dict[str, Any]:
    """What a file holds of a robot besides its functions."""
    system = robot.system
    if system.kind is None:
        raise CompileError(
            f"{robot.name!r} is of a kind that has no files. Compile it where it runs, or write its functions as C with "
            "appell.export."
        )
    loops = system.recursion is None
    damping, friction = ((), ()) if system.friction is None else system.friction
    own = {
        "kind": system.kind, "sizes": dict(system.sizes), "parts": system.parts, "actuator_names": robot.actuator_names,
    }  # fmt: skip
    return {
        "name": robot.name, "nq": robot.nq, "nv": robot.nv, "joint_names": robot.joint_names,
        "body_names": robot.body_names, "gravity_vector": robot.gravity_vector,
        "parameters": tuple(float(x) for x in robot.parameters), "damping": damping, "friction": friction,
        "free": system.free, "rotors": robot.rotors, "system": own if loops else None,
    }  # fmt: skip


def rate_data(dyn: CompiledRobot, law: str) -> dict[str, Any]:
    """The rate of the state under a law, with and without damping and friction of the joints."""
    if law not in LAWS:
        raise ArgumentError(unknown_name_message("control law", law, LAWS))
    runtime = dyn.options.parameters == "runtime"
    rates = {name: operations_data(dyn.state_rate(LAWS[law], with_, runtime)[1]()) for name, with_ in FRICTION.items()}
    return {"law": law, **rates}
