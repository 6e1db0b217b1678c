"""Which function a stored form computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appell.algorithms.registry import QUANTITIES
from appell.compiler.archive.checks import field, flag, items, require, text
from appell.compiler.request import REFERENCE_FRAMES, Request
from appell.compiler.trace import Signature

if TYPE_CHECKING:
    from appell.compiler.archive.loaded import RobotFacts


def read_request(data: Any, facts: RobotFacts) -> tuple[Request, Signature]:
    """A request that this library could have made, and what it takes and gives."""
    function = text(field(data, "function"), "the name of a function")
    known = QUANTITIES if facts.system is None else facts.system.quantities
    require(function in known, f"the function {function!r} is unknown")
    quantity = known[function]
    method, frame = (
        None if field(data, name) is None else text(data[name], f"the {name} of {function}")
        for name in ("method", "frame")
    )
    require((frame is not None) == quantity.frame, f"{function} has a frame where it should have none, or none")
    reference = text(field(data, "reference"), "a reference frame")
    require(reference in REFERENCE_FRAMES, f"the reference frame {reference!r} is unknown")
    gravity, parameters = (flag(field(data, name), name) for name in ("gravity", "parameters"))
    forces = items(field(data, "forces"), lambda name: text(name, "the frame of a force"), "forces", most=1000)
    tree = {name: facts.nq if name == "q" else facts.nv for name in (*quantity.inputs, "v")} | {
        "p": len(facts.parameters)
    }
    sizes = tree if facts.system is None else facts.system.sizes
    inputs = [(name, sizes[name]) for name in quantity.inputs]
    inputs += [("gravity", 3)] * gravity
    inputs += [("external_forces", 6 * len(forces))] * bool(forces)
    inputs += [("parameters", len(facts.parameters))] * parameters
    request = Request(function, method, gravity, forces, frame, reference, parameters)
    shape = tuple(sizes[size] if isinstance(size, str) else size for size in quantity.shape)
    return request, Signature(tuple(inputs), shape)
