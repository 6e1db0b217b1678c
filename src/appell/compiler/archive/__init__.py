"""A compiled robot as one file: written by `save` of a compiled robot, read by `appell.load_compiled`.

The file holds the operations of every function, not machine code: kernels for this processor or GPU are made where it is
loaded. Neither CasADi nor the robot's description is needed there, and nothing of a file is used before it was checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import appell
from appell.algorithms.coordinate_rates import FreeJoint
from appell.compiler.archive import container
from appell.compiler.archive.checks import field, items, number, require, text, whole
from appell.compiler.archive.decode import MOST, read_form, read_listing
from appell.compiler.archive.encode import form_data, listing_data, request_data
from appell.compiler.archive.loaded import LoadedRobot, RobotFacts, Store, Stored
from appell.compiler.archive.requests import read_request
from appell.compiler.archive.systems import SYSTEMS, SystemFacts, read_system
from appell.compiler.fingerprint import digest
from appell.compiler.options import CHOICES, Options
from appell.compiler.request import Request
from appell.compiler.system import System
from appell.control.laws import LAWS
from appell.errors import ArgumentError, CompileError, choices
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from os import PathLike

    from appell.compiler.api import CompiledRobot
    from appell.compiler.listing import Listing

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
    from appell.algorithms.registry import find_for
    from appell.compiler.forms import choose
    from appell.compiler.targets import gpu_form
    from appell.compiler.trace import signature
    from appell.exporters.selection import as_request

    wanted = [as_request(function) for function in functions]
    wanted += [Request(function, frame=frame) for frame in frames for function in ("pose", "jacobian")]
    if dyn.options.parameters == "runtime":
        wanted = [request if request.frame else replace(request, parameters=True) for request in wanted]
    robot, stored = dyn.robot, []
    system = system_facts(robot)
    if system and rollouts:
        raise ArgumentError(f"rollouts are of trees; {robot.name!r} has closed loops. Leave `rollouts` out.")
    for request in dict.fromkeys(wanted):
        signature(robot.tree, request)
        _, method, _ = find_for(robot.tree, request.function, request.method)
        form = choose(robot.tree, request)
        others = {dtype: gpu_form(robot.tree, request, dtype) for dtype in CHOICES["dtype"]}
        gpu = {dtype: form_data(other) for dtype, other in others.items() if type(other) is not type(form)}
        stored.append({"request": request_data(request), "method": method, "form": form_data(form), "gpu": gpu})
    damping, friction = ((), ()) if system else dyn.losses
    free = robot.tree.free if system else dyn.free_joints
    facts = RobotFacts(
        robot.name, robot.nq, robot.nv, robot.joint_names, robot.body_names, robot.gravity_vector,
        tuple(float(x) for x in robot.parameters), damping, friction, free, robot.rotors, system,
    )  # fmt: skip
    options = {name: getattr(dyn.options, name) for name in ("dtype", "parameters", "layout")}
    content = {"written_by": f"appell {appell.__version__}", "robot": asdict(facts), "options": options}
    container.write(path, {**content, "functions": stored, "rollouts": [rate_data(dyn, law) for law in rollouts]})


def system_facts(robot: Any) -> SystemFacts | None:
    """What a file keeps of a robot that is no plain tree."""
    tree = robot.tree
    if not isinstance(tree, System):
        return None
    if tree.kind not in SYSTEMS:
        raise CompileError(
            f"{robot.name!r} is of a kind that has no files. Compile it where it runs, or write its functions as C with "
            "appell.export."
        )
    return SystemFacts(tree.kind, dict(tree.sizes), tree.parts, robot.actuator_names)


def rate_data(dyn: CompiledRobot, law: str) -> dict[str, Any]:
    """The rate of the state under a law, with and without the losses of the joints."""
    if law not in LAWS:
        raise ArgumentError(choices("control law", law, LAWS))
    runtime = dyn.options.parameters == "runtime"
    rates = {name: listing_data(dyn.state_rate(LAWS[law], passive, runtime)[1]()) for name, passive in PASSIVE.items()}
    return {"law": law, **rates}


def load_compiled(
    path: str | PathLike,
    target: str = "cpu",
    dtype: str | None = None,
    threads: int | None = None,
    layout: str | None = None,
) -> LoadedRobot:
    """A robot that `save` of a compiled robot has written. Needs neither CasADi nor a reader of robot descriptions.

    The file is checked as a whole before any of it is used: foreign, damaged and meaningless files raise `CompileError`.

    Args:
        target: `"cpu"` or `"cuda"`; every file runs on both.
        dtype, layout: as in `appell.compile`; those of the robot that was saved by default.
        threads: as in `appell.compile`.

    Example:
        >>> import appell, tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "puma.appell")
        >>> appell.compile(appell.load("puma560")).save(file, functions=["gravity"], frames=["link6"])
        >>> appell.load_compiled(file).held
        ('gravity', 'pose:link6', 'jacobian:link6')
    """
    content = container.read(path)
    try:
        facts = read_facts(field(content, "robot"))
        chosen = {name: read_choice(field(content, "options"), name) for name in ("dtype", "parameters", "layout")}
        read = items(field(content, "functions"), lambda data: read_function(data, facts), "functions", most=10_000)
        runtime = chosen["parameters"] == "runtime"
        rates = items(
            field(content, "rollouts"), lambda data: tuple(read_rates(data, facts, runtime)), "rollouts", most=1000
        )
    except CompileError as error:
        raise CompileError(f"{path}: {error}") from None
    options = Options(target, dtype or chosen["dtype"], threads, chosen["parameters"], layout or chosen["layout"])
    robot = LoadedRobot if facts.system is None else facts.system.robot_class
    return robot(facts, Store(path, read, dict(rate for each in rates for rate in each)), options)


def read_facts(data: Any) -> RobotFacts:
    def names(name: str) -> tuple[str, ...]:
        return items(field(data, name), lambda entry: text(entry, name), name)

    gravity = items(field(data, "gravity_vector"), lambda x: number(x, "gravity"), "gravity", most=3)
    require(len(gravity) == 3, "gravity has no three entries")
    parameters = items(field(data, "parameters"), lambda x: number(x, "a parameter"), "parameters")
    nq, nv = (whole(field(data, name), 0, MOST, name) for name in ("nq", "nv"))
    damping, friction = (
        items(field(data, name), lambda x: number(x, "a loss"), name) for name in ("damping", "friction")
    )
    system = read_system(data.get("system"), nq, nv, len(parameters))
    losses = nv if system is None else 0
    require(len(damping) == len(friction) == losses, "damping or friction has not an entry for every speed")
    rotors = whole(data.get("rotors", 0), 0, len(parameters) + 1, "the number of rotors")
    free = read_free(field(data, "free"), nq, nv if system is None else system.sizes.get("n", nv))
    return RobotFacts(
        text(field(data, "name"), "name"), nq, nv, names("joint_names"), names("body_names"), gravity, parameters,
        damping, friction, free, rotors, system,
    )  # fmt: skip


def read_free(data: Any, nq: int, nv: int) -> tuple[FreeJoint, ...]:
    """Free joints of known kinds, side by side, that explain how many more coordinates than speeds there are."""

    def read(entry: Any) -> FreeJoint:
        require(isinstance(entry, list) and len(entry) == 4, "a free joint has no four entries")
        name, kind = text(entry[0], "the name of a joint"), text(entry[1], "the kind of a joint")
        require(kind in KINDS and KINDS[kind].free, f"{kind!r} is no kind of free joint")
        return FreeJoint(name, kind, whole(entry[2], 0, nq, "a coordinate"), whole(entry[3], 0, nv, "a speed"))

    free, q, v = items(data, read, "free", most=nv), 0, 0
    for joint in free:
        require(joint.q >= q and joint.q - joint.v == q - v, "free joints do not lie side by side")
        q, v = joint.q + KINDS[joint.kind].nq, joint.v + KINDS[joint.kind].nv
    require(q <= nq and q - v == nq - nv, "free joints do not fit the numbers of coordinates and speeds")
    return free


def read_rates(data: Any, facts: RobotFacts, runtime: bool) -> Iterator[tuple[tuple[str, bool], tuple[str, Listing]]]:
    """The rates of the state under one law, named by law and losses."""
    law = text(field(data, "law"), "a control law")
    require(law in LAWS, f"the control law {law!r} is unknown")
    nq, n, memory = facts.nq, facts.nv, len(LAWS[law].memory)
    sizes = (nq, *[n] * (1 + memory + len(LAWS[law].signals) + len(LAWS[law].gains)))
    sizes += (len(facts.parameters),) if runtime else ()
    for name, passive in PASSIVE.items():
        listed = read_listing(field(data, name))
        fits = listed.sizes == sizes and len(listed.outputs) == 2 * nq + (1 + memory) * n
        require(fits, f"the rate under {law} has a wrong size")
        yield (law, passive), (digest(json.dumps(data[name])), listed)


def read_choice(data: Any, name: str) -> str:
    chosen = text(field(data, name), name)
    require(chosen in CHOICES[name], f"{name} is {chosen!r}")
    return chosen


def read_function(data: Any, facts: RobotFacts) -> Stored:
    """A function whose operations take and give what its name promises."""
    request, expected = read_request(field(data, "request"), facts)
    form, other = read_form(field(data, "form")), field(data, "gpu")
    require(isinstance(other, dict) and set(other) <= set(CHOICES["dtype"]), "forms for a GPU are of an unknown type")
    gpu = {dtype: read_form(given) for dtype, given in other.items()}
    sizes = tuple(size for _, size in expected.inputs)
    for each in (form, *gpu.values()):
        require(each.sizes == sizes, f"{request.function} takes inputs of {each.sizes} entries, not {sizes}")
        fits = each.size_out == expected.entries
        require(fits, f"{request.function} gives {each.size_out} numbers, not {expected.entries}")
    method = text(field(data, "method"), "method")
    return Stored(request, method, expected, form, gpu, digest(json.dumps([data["form"], other])))
