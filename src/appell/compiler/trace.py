"""From an algorithm to a graph: run it once on symbols.

A `Trace` is the graph of one function of one robot, a `casadi.Function` over SX scalars with one vector per input and one
vector for the result (entries by rows). It is the definition of what every compile target must compute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from appell.algebra import Mat3, Vec3
from appell.algorithms.registry import Quantity, find_for
from appell.compiler.request import REFERENCE_FRAMES, Request
from appell.compiler.system import System
from appell.errors import ArgumentError, choices
from appell.model.lumping import lumped
from appell.model.parameters import parameter_count, with_parameters
from appell.model.tree import BASE, Tree, Wrench

if TYPE_CHECKING:
    import casadi


@dataclass(frozen=True)
class Signature:
    """What a kernel takes and gives.

    Attributes:
        inputs: name and number of entries of each input, in order.
        shape: of one result.
    """

    inputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]

    @property
    def entries(self) -> int:
        """Numbers in one result."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Trace:
    """The graph of one function.

    Attributes:
        inputs, shape: as in `Signature`; the graph's output is the result's entries by rows.
        graph: `casadi.Function` with those inputs as columns and one output column.
    """

    request: Request
    inputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    graph: casadi.Function = field(compare=False)


def signature(tree: Tree | System, request: Request) -> Signature:
    """What a request takes and gives, without tracing it. Refuses what the robot or the quantity does not have."""
    quantity, _, _ = find_for(tree, request.function, request.method)
    validate(tree, quantity, request)
    if isinstance(tree, System):
        sizes, parameters = tree.sizes, len(tree.parameters)
    else:
        parameters = parameter_count(tree)
        sizes = {name: tree.nq if name == "q" else tree.nv for name in (*quantity.inputs, "v")} | {"p": parameters}
    inputs = [(name, sizes[name]) for name in quantity.inputs]
    if request.gravity:
        inputs.append(("gravity", 3))
    if request.forces:
        inputs.append(("external_forces", 6 * len(request.forces)))
    if request.parameters:
        inputs.append(("parameters", parameters))
    return Signature(tuple(inputs), tuple(sizes[size] if isinstance(size, str) else size for size in quantity.shape))


def trace(tree: Tree | System, request: Request, *, plain: bool = False) -> Trace:
    """Run the algorithm on symbols.

    `plain` keeps the robot's own mass properties and repeated sub-expressions, as an algorithm is written in its paper;
    otherwise mass is lumped where the method allows it and common sub-expressions are shared.
    """
    import casadi

    expected = signature(tree, request)
    quantity, method, algorithm = find_for(tree, request.function, request.method)
    symbols = {name: casadi.SX.sym(name, size) for name, size in expected.inputs}
    entries = {name: [vector[i] for i in range(vector.numel())] for name, vector in symbols.items()}
    if isinstance(tree, System):
        tree = tree.given(request, entries)
    else:
        tree = given(tree, request, entries, lump=method in quantity.lumpable and not plain)
    arguments: list[Any] = [entries[name] for name in quantity.inputs]
    if quantity.frame:
        arguments += [tree.frames[request.frame or ""], request.reference]
    result = algorithm(tree, *arguments)
    output = casadi.vertcat(*(casadi.SX(entry) for entry in flat(result)))
    if not plain:
        output = casadi.cse(output)
    graph = casadi.Function(
        request.function, list(symbols.values()), [casadi.densify(output)], list(symbols), ["result"]
    )
    return Trace(request, expected.inputs, expected.shape, graph)


def given(tree: Tree, request: Request, entries: Mapping[str, list[Any]], lump: bool) -> Tree:
    """The tree with what a request makes an input; otherwise its mass is lumped where that is allowed."""
    if request.parameters:
        tree = with_parameters(tree, entries["parameters"])
    elif lump:
        tree = lumped(tree)
    if request.gravity:
        tree = replace(tree, gravity=tree.base.T @ Vec3(*entries["gravity"]))
    if request.forces:
        tree = replace(tree, external=external_wrenches(tree, request.forces, entries["external_forces"]))
    return tree


def validate(tree: Tree | System, quantity: Quantity, request: Request) -> None:
    """Refuse what the quantity does not take, naming what it does."""
    if request.gravity and not quantity.gravity:
        raise ArgumentError(f"{quantity.name} does not depend on gravity; leave `gravity` out.")
    if request.forces and not quantity.forces:
        raise ArgumentError(f"{quantity.name} does not depend on external forces; leave `external_forces` out.")
    if request.parameters and quantity.frame:
        raise ArgumentError(f"{quantity.name} does not depend on inertial parameters; leave `parameters` out.")
    for name in (*request.forces, *((request.frame,) if quantity.frame else ())):
        if name not in tree.frames:
            raise ArgumentError(choices("frame", name, tree.frames))
    if quantity.frame and request.reference not in REFERENCE_FRAMES:
        raise ArgumentError(choices("reference frame", request.reference, REFERENCE_FRAMES))


def external_wrenches(tree: Tree, names: tuple[str, ...], entries: list[Any]) -> dict[int, Wrench]:
    """Wrenches given in named frames, summed at the origins of the links that carry those frames."""
    total: dict[int, Wrench] = {}
    for k, name in enumerate(names):
        frame = tree.frames[name]
        if frame.link == BASE:
            continue
        force = frame.R @ Vec3(*entries[6 * k : 6 * k + 3])
        moment = frame.R @ Vec3(*entries[6 * k + 3 : 6 * k + 6]) + frame.p.cross(force)
        before = total.get(frame.link)
        total[frame.link] = (
            Wrench(force, moment) if before is None else Wrench(before.force + force, before.moment + moment)
        )
    return total


def flat(result: Any) -> Iterator[Any]:
    """The scalars of a nested result, by rows."""
    if isinstance(result, (list, tuple, Vec3, Mat3)):
        for entry in result:
            yield from flat(entry)
    else:
        yield result
