"""The equations of motion of a small robot in symbols, M(q) qdd + C(q, qd) qd + g(q) = tau."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from appell.algebra import ZERO, is_zero
from appell.algorithms.registry import find
from appell.algorithms.system import System
from appell.errors import AppellError, ArgumentError
from appell.model.tree import Link, Tree
from appell.symbolic.harmonic import Space
from appell.symbolic.parameters import Parameters
from appell.symbolic.writing import expression, variables_of

if TYPE_CHECKING:
    import sympy

    from appell.robot.robot import Robot

LARGEST = 4
"""Degrees of freedom beyond which equations fill pages and take minutes."""


@dataclass(frozen=True)
class Equations:
    """M(q) qdd + velocity_forces(q, qd) + gravity(q) = tau.

    Attributes:
        q, qd: coordinates and speeds, (nv, 1).
        M: inertia matrix, (nv, nv).
        velocity_forces: C(q, qd) qd, (nv, 1).
        gravity: g(q), (nv, 1).
        values: the robot's number for every parameter symbol; empty if the equations hold numbers.
    """

    q: sympy.ImmutableMatrix
    qd: sympy.ImmutableMatrix
    M: sympy.ImmutableMatrix
    velocity_forces: sympy.ImmutableMatrix
    gravity: sympy.ImmutableMatrix
    values: dict[sympy.Symbol, float] = field(default_factory=dict)

    def latex(self) -> str:
        """The three terms as an `aligned` block of LaTeX."""
        import sympy

        terms = (
            (r"\mathbf{M}", self.M),
            (r"\mathbf{C}\dot{\mathbf{q}}", self.velocity_forces),
            (r"\mathbf{g}", self.gravity),
        )
        symbols = set().union(*(term.free_symbols for _, term in terms))
        names = {symbol: latex_name(str(symbol)) for symbol in symbols}
        lines = (f"{name} &= {sympy.latex(term, symbol_names=names)}" for name, term in terms)
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def equations(robot: Robot, symbols: bool = False, *, force: bool = False) -> Equations:
    """The equations of motion in closed form, by the same algorithms that compute the numbers.

    Args:
        symbols: True puts a symbol in place of every number of the robot that is not zero: masses `m1`, mass centres `lc1`,
            inertias `I1` about them, lengths `l1`, gravity `g`. False keeps the numbers.
        force: True allows robots of more than four degrees of freedom.

    Returns:
        SymPy matrices in the coordinates `q1, q2, ...` and speeds `qd1, qd2, ...`, as sums of sines and cosines of sums of
        joint angles. They show as formulas in a notebook, and as LaTeX by `.latex()`.

    Example:
        >>> import appell
        >>> arm = appell.equations(appell.load("planar2r"), symbols=True)
        >>> arm.M[1, 0]
        I2 + l1*lc2*m2*cos(q2) + lc2**2*m2
        >>> arm.gravity[1]
        g*lc2*m2*cos(q1 + q2)
    """
    _require_sympy()
    tree = robot.system
    if isinstance(tree, System):
        raise ArgumentError(
            f"{robot.name} has closed loops; closed equations are written for trees. Take its `spanning_tree`."
        )
    if tree.nv > LARGEST and not force:
        raise ArgumentError(
            f"{robot.name} has {tree.nv} degrees of freedom; closed equations of more than {LARGEST} are long and slow. "
            "Pass force=True to get them anyway."
        )
    parameters = Parameters.of(tree) if symbols else None
    space, q, qd = _coordinates(tree, list(parameters.symbols) if parameters else [])
    if parameters:
        tree = parameters.tree(tree, space)
    weightless = replace(tree, gravity=ZERO)
    M = find("mass_matrix", "gibbs_hessian")[2](tree, q)
    forces = find("bias", "mata2002")[2](weightless, q, qd)
    gravity = find("gravity", "mata2002")[2](tree, q)
    return _assembled(space, parameters, tree.nv, M, forces, gravity)


def latex_name(name: str) -> str:
    """LaTeX of a symbol's name: `qd1` is a dotted q, digits and letters after the first are an index."""
    speed = re.fullmatch(r"qd(\d+)", name)
    if speed:
        return rf"\dot{{q}}_{{{speed[1]}}}"
    return re.sub(r"^([A-Za-z])(.+)$", r"\1_{\2}", name)


def _coordinates(tree: Tree, parameters: list[str]) -> tuple[Space, list[Any], list[Any]]:
    """The space of all expressions, and q and qd in it."""
    turning = {link.idx_v: _turns(link) for link in tree.links if link.is_independent}
    for link in tree.links:
        if _turns(link) != turning[link.idx_v]:
            raise ArgumentError(
                f"joint {link.name!r}: closed equations need joints that mimic joints of their own kind. "
                "Load the robot with mimic='ignore' or use its numeric functions."
            )
    names = [f"q{v + 1}" for v in range(tree.nv)]
    speeds = [f"qd{v + 1}" for v in range(tree.nv)]
    angles = [name for v, name in enumerate(names) if turning[v]]
    space = Space(angles, [*(name for name in names if name not in angles), *speeds, *parameters])
    q = [space.angle(name) if name in angles else space.variable(name) for name in names]
    return space, q, [space.variable(name) for name in speeds]


def _turns(link: Link) -> bool:
    """Whether the joint's coordinate is an angle; joints that are neither turns nor slides are refused."""
    units = link.kind.motion_subspace()
    turns = any(not is_zero(x) for unit in units for x in unit.angular)
    slides = any(not is_zero(x) for unit in units for x in unit.linear)
    if len(units) != 1 or turns == slides:
        raise ArgumentError(
            f"joint {link.name!r} is {link.kind.name}: closed equations need revolute, continuous and prismatic joints. "
            "Use the robot's numeric functions."
        )
    return turns


def _assembled(space: Space, parameters: Parameters | None, nv: int, M, forces, gravity) -> Equations:
    import sympy

    used = {name for row in (*M, forces, gravity) for entry in row for name in variables_of(entry)}
    short = parameters.short_names(used) if parameters else {}
    symbols = [sympy.Symbol(short.get(name, name)) for name in space.variables]
    write = partial(expression, symbols=symbols)
    values = parameters.symbols if parameters else {}

    def column(entries: Iterable[Any]) -> sympy.ImmutableMatrix:
        return sympy.ImmutableMatrix([write(entry) for entry in entries])

    return Equations(
        q=sympy.ImmutableMatrix([sympy.Symbol(f"q{v + 1}") for v in range(nv)]),
        qd=sympy.ImmutableMatrix([sympy.Symbol(f"qd{v + 1}") for v in range(nv)]),
        M=sympy.ImmutableMatrix([[write(entry) for entry in row] for row in M]),
        velocity_forces=column(forces),
        gravity=column(gravity),
        values={sympy.Symbol(short.get(name, name)): value for name, value in values.items() if name in used},
    )


def _require_sympy() -> None:
    try:
        import sympy  # noqa: F401
    except ImportError:
        raise AppellError("equations need SymPy, which is not installed. Run: pip install 'appell[symbolic]'") from None
