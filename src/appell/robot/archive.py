"""`save` of compiled robots: the operations of their functions, written to one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from appell.algorithms.laws import LAWS
from appell.algorithms.request import Request
from appell.algorithms.system import System
from appell.compiler.archive import container
from appell.compiler.archive.encode import form_data, listing_data, request_data
from appell.compiler.options import CHOICES
from appell.errors import ArgumentError, CompileError, unknown_name_message
from appell.robot.loaded import RobotFacts, SystemFacts
from appell.version import __version__

if TYPE_CHECKING:
    from os import PathLike

    from appell.robot.compiled import CompiledRobot


PASSIVE = {"with_losses": True, "without_losses": False}
"""Both ways to roll a robot out."""


def save(
    dyn: Any,
    path: str | PathLike,
    functions: Iterable[str | Request],
    frames: Sequence[str],
    rollouts: Sequence[str],
) -> None:
    """Write a compiled robot; documented at `Compiled.save`."""
    from appell.algorithms.request import as_request
    from appell.algorithms.system import find_for, signature
    from appell.compiler.forms import choose
    from appell.compiler.targets.choice import gpu_form

    wanted = [as_request(function) for function in functions]
    wanted += [Request(function, frame=frame) for frame in frames for function in ("pose", "jacobian")]
    if dyn.options.parameters == "runtime":
        wanted = [request if request.frame else replace(request, parameters=True) for request in wanted]
    robot, stored = dyn.robot, []
    system = system_facts(robot)
    if system and rollouts:
        raise ArgumentError(f"rollouts are of trees; {robot.name!r} has closed loops. Leave `rollouts` out.")
    for request in dict.fromkeys(wanted):
        signature(robot.system, request)
        _, method, _ = find_for(robot.system, request.function, request.method)
        form = choose(robot.system, request)
        others = {dtype: gpu_form(robot.system, request, dtype) for dtype in CHOICES["dtype"]}
        gpu = {dtype: form_data(other) for dtype, other in others.items() if type(other) is not type(form)}
        stored.append({"request": request_data(request), "method": method, "form": form_data(form), "gpu": gpu})
    damping, friction = ((), ()) if system else dyn.losses
    free = robot.system.free if system else dyn.quasi_velocity_joints
    facts = RobotFacts(
        robot.name, robot.nq, robot.nv, robot.joint_names, robot.body_names, robot.gravity_vector,
        tuple(float(x) for x in robot.parameters), damping, friction, free, robot.rotors, system,
    )  # fmt: skip
    options = {name: getattr(dyn.options, name) for name in ("dtype", "parameters", "layout")}
    content = {"written_by": f"appell {__version__}", "robot": asdict(facts), "options": options}
    container.write(path, {**content, "functions": stored, "rollouts": [rate_data(dyn, law) for law in rollouts]})


def system_facts(robot: Any) -> SystemFacts | None:
    """What a file keeps of a robot that is no plain tree."""
    tree = robot.system
    if not isinstance(tree, System):
        return None
    if not tree.kind:
        raise CompileError(
            f"{robot.name!r} is of a kind that has no files. Compile it where it runs, or write its functions as C with "
            "appell.export."
        )
    return SystemFacts(tree.kind, dict(tree.sizes), tree.parts, robot.actuator_names)


def rate_data(dyn: CompiledRobot, law: str) -> dict[str, Any]:
    """The rate of the state under a law, with and without the losses of the joints."""
    if law not in LAWS:
        raise ArgumentError(unknown_name_message("control law", law, LAWS))
    runtime = dyn.options.parameters == "runtime"
    rates = {name: listing_data(dyn.state_rate(LAWS[law], passive, runtime)[1]()) for name, passive in PASSIVE.items()}
    return {"law": law, **rates}
