"""`appell.load_compiled`: robots that `save` of a compiled robot has written, checked as a whole before use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from os import PathLike
from typing import Any

from appell.algorithms.coordinate_rates import QuasiVelocityJoint, quaternions
from appell.algorithms.function_spec import REFERENCE_FRAMES, FunctionSpec, Signature
from appell.algorithms.laws import LAWS
from appell.algorithms.registry import Quantity, letters
from appell.algorithms.system import signature_of, tree_sizes
from appell.compiler.archive import container
from appell.compiler.archive.decode import (
    MOST,
    field,
    flag,
    items,
    number,
    read_lowered,
    read_operations,
    require,
    text,
    whole,
)
from appell.compiler.archive.store import FunctionStore, StoredFunction
from appell.compiler.fingerprint import digest
from appell.compiler.operations import OperationList
from appell.compiler.options import CHOICES, Options
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.stages import STAGED, Stages
from appell.errors import CompileError
from appell.model.joint_friction import JointFriction, Spring
from appell.model.joints import KINDS
from appell.robot.compiled import FRICTION, CompiledRobot, RobotMetadata

SYSTEMS = {
    "": "appell.algorithms.registry",
    "closed_loop": "appell.closed_loop.system",
    "spherical": "appell.closed_loop.spherical.system",
}
"""Module with the `QUANTITIES` of each kind of system."""

FORMER = {
    "joint_speeds": "joint_velocities", "speed_map": "joint_velocity_jacobian", "residual": "closure_residual",
    "torques": "tau",
}  # fmt: skip
"""Names of functions and inputs in files of version 0.1, and what they are called now."""

MAX_SIZE = 10**6
"""Entries of an input or a dimension."""


def load_compiled(
    path: str | PathLike,
    target: str = "cpu",
    dtype: str | None = None,
    threads: int | None = None,
    layout: str | None = None,
) -> CompiledRobot:
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
        robot = read_metadata(field(content, "robot"))
        chosen = {name: read_choice(field(content, "options"), name) for name in ("dtype", "parameters", "layout")}
        functions = items(
            field(content, "functions"), lambda data: read_function(data, robot), "functions", most=10_000
        )
        runtime = chosen["parameters"] == "runtime"
        rates = items(
            field(content, "rollouts"), lambda data: tuple(read_rates(data, robot, runtime)), "rollouts", most=1000
        )
    except CompileError as error:
        raise CompileError(f"{path}: {error}") from None
    options = Options(target, dtype or chosen["dtype"], threads, chosen["parameters"], layout or chosen["layout"])
    store = FunctionStore(
        path, functions, robot.parameters, quaternions(robot.free), runtime,
        dict(rate for law in rates for rate in law), bool(robot.kind),
    )  # fmt: skip
    return CompiledRobot(robot, options, store)


def quantities(kind: str) -> Mapping[str, Quantity]:
    """The functions of systems of a kind."""
    return import_module(SYSTEMS[kind]).QUANTITIES


def read_metadata(data: Any) -> RobotMetadata:
    """What is known of the robot, without contradictions."""
    gravity = items(field(data, "gravity_vector"), lambda x: number(x, "gravity"), "gravity", most=3)
    require(len(gravity) == 3, "gravity has no three entries")
    parameters = items(field(data, "parameters"), lambda x: number(x, "a parameter"), "parameters")
    nq, nv = (whole(field(data, name), 0, MOST, name) for name in ("nq", "nv"))
    joint_names, body_names = names(data, "joint_names"), names(data, "body_names")
    damping, friction = (
        items(field(data, name), lambda x: number(x, "a coefficient"), name) for name in ("damping", "friction")
    )
    system, sizes = data.get("system"), tree_sizes(nq, nv, len(parameters))
    kind, parts, actuators, velocities = "", (), joint_names, joint_names
    if system is not None:
        kind = text(field(system, "kind"), "the kind of a robot")
        require(kind in SYSTEMS and kind, f"robots of the kind {kind!r} are unknown")
        sizes = read_sizes(field(system, "sizes"), kind)
        fits = (sizes["q"], sizes["v"], sizes["p"]) == (nq, nv, len(parameters))
        require(fits, "sizes are not those of the coordinates, speeds and parameters")
        parts, actuators, velocities = names(system, "parts"), names(system, "actuator_names"), ()
    count = 0 if kind else nv
    require(len(damping) == len(friction) == count, "damping or friction has not an entry for every speed")
    passive = JointFriction(damping, friction, read_springs(data.get("springs", []), nq, nv))
    return RobotMetadata(
        name=text(field(data, "name"), "name"), nq=nq, nv=nv, joint_names=joint_names, body_names=body_names,
        gravity_vector=gravity, parameters=parameters, friction=None if kind else passive,
        free=read_free(field(data, "free"), nq, sizes.get("n", nv)),
        rotors=whole(data.get("rotors", 0), 0, len(parameters) + 1, "the number of rotors"),
        kind=kind, sizes=sizes, closure_names=parts, actuator_names=actuators, qd_names=velocities,
    )  # fmt: skip


def read_springs(data: Any, nq: int, nv: int) -> tuple[Spring, ...]:
    """Springs of the joints."""

    def read(entry: Any) -> Spring:
        require(isinstance(entry, list) and len(entry) == 5, "a spring has no five entries")
        numbers = (number(x, "a number of a spring") for x in entry[2:])
        return Spring(whole(entry[0], 0, nq, "a coordinate"), whole(entry[1], 0, nv, "a speed"), *numbers)

    return items(data, read, "springs", most=MAX_SIZE)


def names(data: Any, name: str) -> tuple[str, ...]:
    """A list of names."""
    return items(field(data, name), lambda entry: text(entry, name), name, most=MAX_SIZE)


def read_sizes(data: Any, kind: str) -> dict[str, int]:
    """Entries of every input, and of every letter in the shapes of the functions of a kind."""
    require(isinstance(data, dict) and len(data) <= 100, "sizes are no table of sensible length")
    sizes = {
        FORMER.get(name, name): whole(size, 0, MAX_SIZE, "a size")
        for name, size in ((text(name, "the name of a size"), size) for name, size in data.items())
    }
    needed = {"q", "v", "p"}
    for quantity in quantities(kind).values():
        needed |= {*quantity.inputs, *(letter for size in quantity.shape for letter in letters(size))}
    require(needed <= set(sizes), "a size is missing")
    return sizes


def read_free(data: Any, nq: int, nv: int) -> tuple[QuasiVelocityJoint, ...]:
    """Free joints of known kinds, side by side, that explain how many more coordinates than speeds there are."""

    def read(entry: Any) -> QuasiVelocityJoint:
        require(isinstance(entry, list) and len(entry) == 4, "a free joint has no four entries")
        name, kind = text(entry[0], "the name of a joint"), text(entry[1], "the kind of a joint")
        require(kind in KINDS and KINDS[kind].has_quasi_velocities, f"{kind!r} is no kind of free joint")
        return QuasiVelocityJoint(name, kind, whole(entry[2], 0, nq, "a coordinate"), whole(entry[3], 0, nv, "a speed"))

    free, q, v = items(data, read, "free", most=nv), 0, 0
    for joint in free:
        require(joint.idx_q >= q and joint.idx_q - joint.idx_v == q - v, "free joints do not lie side by side")
        q, v = joint.idx_q + KINDS[joint.kind].nq, joint.idx_v + KINDS[joint.kind].nv
    require(q <= nq and q - v == nq - nv, "free joints do not fit the numbers of coordinates and speeds")
    return free


def read_choice(data: Any, name: str) -> str:
    chosen = text(field(data, name), name)
    require(chosen in CHOICES[name], f"{name} is {chosen!r}")
    return chosen


def read_rates(
    data: Any, robot: RobotMetadata, runtime: bool
) -> Iterator[tuple[tuple[str, bool], tuple[str, OperationList]]]:
    """The rates of the state under one law, named by law and friction."""
    law = text(field(data, "law"), "a control law")
    require(law in LAWS, f"the control law {law!r} is unknown")
    nq, n, memory = robot.nq, robot.nv, len(LAWS[law].memory)
    sizes = (nq, *[n] * (1 + memory + len(LAWS[law].signals) + len(LAWS[law].gains)))
    sizes += (len(robot.parameters),) if runtime else ()
    for name, passive in FRICTION.items():
        listed = read_operations(field(data, name))
        fits = listed.sizes == sizes and len(listed.outputs) == 2 * nq + (1 + memory) * n
        require(fits, f"the rate under {law} has a wrong size")
        yield (law, passive), (digest(json.dumps(data[name])), listed)


def read_function(data: Any, robot: RobotMetadata) -> StoredFunction:
    """A function whose operations take and give what its name promises."""
    spec, expected = read_spec(field(data, "request"), robot)
    form, other = read_lowered(field(data, "form")), field(data, "gpu")
    require(isinstance(other, dict) and set(other) <= set(CHOICES["dtype"]), "forms for a GPU are of an unknown type")
    gpu = {dtype: read_lowered(given) for dtype, given in other.items()}
    links = read_links(data["links"]) if "links" in data else None
    for each in (form, *gpu.values()):
        require(not (isinstance(each, Rolled) and each.masses), "links that are not side by side cannot be solved for")
    sizes = tuple(size for _, size in expected.inputs)
    for each in (form, *gpu.values(), *([] if links is None else [links])):
        require(each.sizes == sizes, f"{spec.function} takes inputs of {each.sizes} entries, not {sizes}")
        fits = each.size_out == expected.entries
        require(fits, f"{spec.function} gives {each.size_out} numbers, not {expected.entries}")
    stages = read_stages(data["stages"], robot.nv) if "stages" in data else None
    require(stages is None or spec.function == STAGED, f"{spec.function} has no stages")
    method = text(field(data, "method"), "method")
    key = digest(json.dumps([data["form"], other, data.get("links"), data.get("stages")]))
    return StoredFunction(spec, method, expected, form, gpu, key, links, stages)


def read_stages(data: Any, n: int) -> Stages:
    """Stages of a robot with n degrees of freedom."""
    factors, solution = (read_operations(field(data, name)) for name in ("factors", "solution"))
    fits = (len(solution.outputs), factors.sizes, solution.sizes) == (n, (n * n,), (len(factors.outputs), n))
    require(fits, "stages do not fit each other")
    return Stages(factors, solution)


def read_links(data: Any) -> LinkParallel:
    """Loops over links that can be distributed."""
    rolled = read_lowered(data)
    links = LinkParallel.of(rolled) if isinstance(rolled, Rolled) else None
    require(links is not None, "links that are computed side by side wait for each other")
    return links  # type: ignore[return-value]


def read_spec(data: Any, robot: RobotMetadata) -> tuple[FunctionSpec, Signature]:
    """A spec that this library could have made, and what it takes and gives."""
    function = text(field(data, "function"), "the name of a function")
    function, known = FORMER.get(function, function), quantities(robot.kind)
    require(function in known, f"the function {function!r} is unknown")
    quantity = known[function]
    method, frame = (
        None if field(data, name) is None else text(data[name], f"the {name} of {function}")
        for name in ("method", "frame")
    )
    require((frame is not None) == quantity.needs_frame, f"{function} has a frame where it should have none, or none")
    reference = text(field(data, "reference"), "a reference frame")
    require(reference in REFERENCE_FRAMES, f"the reference frame {reference!r} is unknown")
    gravity, parameters = (flag(field(data, name), name) for name in ("gravity", "parameters"))
    forces = items(field(data, "forces"), lambda name: text(name, "the frame of a force"), "forces", most=1000)
    spec = FunctionSpec(function, method, gravity, forces, frame, reference, parameters)
    return spec, signature_of(quantity, spec, robot.sizes)
