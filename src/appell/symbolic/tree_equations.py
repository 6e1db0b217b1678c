"""The equations of motion of a small robot in closed form, M(q) qdd + C(q, qd) qd + g(q) = tau.

Symbols may replace the robot's numbers. Link i has mass `m{i}`, centre of mass `lc{i}` and inertia `I{i}` about it, and rotor
inertia `Ir{i}`; `l{i}` is the vector from its joint to the next one, and gravity is `g`. Components get a suffix, `lc1x`, `I1zz`,
which is dropped where only one of them is used. Only nonzero numbers become symbols. Angles and the pitch of screws stay numbers:
multiples of a right angle are exact.

Equations with a joint that has a quaternion hold for unit quaternions. Equations of closed loops are in
`appell.symbolic.closed_loops`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.algebra import ZERO, Inertia, Scalar, Sym3, Vec3
from appell.algorithms.registry import find
from appell.errors import ArgumentError
from appell.model.tree import Link, Tree, require_tree
from appell.robot.robot import Robot
from appell.symbolic.harmonic import HarmonicRing, to_sympy, variable_names

if TYPE_CHECKING:
    import sympy

AXES = ("x", "y", "z")
PRODUCTS = ("xx", "xy", "xz", "yy", "yz", "zz")
ROUNDING_TOL = 1e-12
"""Components smaller than this, relative to the largest of their vector or tensor, are rounding errors."""
MAX_DOF = 4
"""Equations of robots with more degrees of freedom fill pages and take minutes."""


@dataclass(frozen=True)
class SymbolGroup:
    """The nonzero components of one vector, tensor or number, by suffix."""

    name: str
    components: dict[str, float]

    @classmethod
    def of(cls, name: str, suffixes: Iterable[str], values: Iterable[float]) -> SymbolGroup:
        numbers = dict(zip(suffixes, values, strict=True))
        size = max(abs(value) for value in numbers.values())
        return cls(name, {suffix: value for suffix, value in numbers.items() if abs(value) > ROUNDING_TOL * size})

    @property
    def values(self) -> dict[str, float]:
        """The number of each symbol."""
        return {self.name + suffix: value for suffix, value in self.components.items()}

    def scalar(self, ring: HarmonicRing, suffix: str = "") -> Scalar:
        """A component as a variable of the ring, or zero."""
        return ring.variable(self.name + suffix) if suffix in self.components else 0.0

    def vector(self, ring: HarmonicRing) -> Vec3:
        return Vec3(*(self.scalar(ring, suffix) for suffix in AXES))


@dataclass(frozen=True)
class TreeSymbols:
    """The symbols of every link by kind, and those of gravity: magnitudes, with a sign for each component."""

    links: tuple[dict[str, SymbolGroup], ...]
    gravity: SymbolGroup
    gravity_signs: tuple[float, ...]

    @classmethod
    def of(cls, tree: Tree) -> TreeSymbols:
        gravity = SymbolGroup.of("g", AXES, (abs(value) for value in tree.gravity))
        signs = tuple(-1.0 if value < 0 else 1.0 for value in tree.gravity)
        return cls(tuple(_link_symbols(tree, i) for i in range(len(tree.links))), gravity, signs)

    @property
    def groups(self) -> list[SymbolGroup]:
        return [self.gravity, *(group for link in self.links for group in link.values())]

    @property
    def values(self) -> dict[str, float]:
        """The number of each symbol."""
        return {name: value for group in self.groups for name, value in group.values.items()}

    def substitute(self, tree: Tree, ring: HarmonicRing) -> Tree:
        """The tree with variables for its numbers."""
        links = tuple(_substituted(link, symbols, ring) for link, symbols in zip(tree.links, self.links, strict=True))
        components = zip(self.gravity.vector(ring), self.gravity_signs, strict=True)
        return replace(tree, links=links, gravity=Vec3(*(size * sign for size, sign in components)))

    def short_names(self, used: set[str]) -> dict[str, str]:
        """Names without a suffix for the symbols that are the only ones of their group in use."""
        used_names = {group.name: [name for name in group.values if name in used] for group in self.groups}
        return {names[0]: short for short, names in used_names.items() if len(names) == 1}


def _link_symbols(tree: Tree, i: int) -> dict[str, SymbolGroup]:
    link, number = tree.links[i], i + 1
    siblings = sum(other.parent == link.parent for other in tree.links)
    return {
        "mass": SymbolGroup.of(f"m{number}", ("",), (link.inertia.mass,)),
        "com": SymbolGroup.of(f"lc{number}", AXES, link.inertia.com),
        "inertia": SymbolGroup.of(f"I{number}", PRODUCTS, link.inertia.inertia),
        "rotor": SymbolGroup.of(f"Ir{number}", ("",), (link.armature,)),
        "origin": SymbolGroup.of(f"l{link.parent + 1}{f'_{number}' * (siblings > 1)}", AXES, link.origin),
    }


def _substituted(link: Link, symbols: dict[str, SymbolGroup], ring: HarmonicRing) -> Link:
    mass, com = symbols["mass"].scalar(ring), symbols["com"].vector(ring)
    inertia = Inertia.at_center(mass, com, Sym3(*(symbols["inertia"].scalar(ring, suffix) for suffix in PRODUCTS)))
    armature, origin = symbols["rotor"].scalar(ring), symbols["origin"].vector(ring)
    return replace(link, inertia=inertia, armature=armature, origin=origin)


class SymbolicTree(NamedTuple):
    """A tree over symbols: its coordinates and velocities, and the SymPy symbols of the ring's variables."""

    tree: Tree
    q: list[Any]
    qd: list[Any]
    variables: list[Any]


@dataclass(frozen=True)
class Equations:
    """M(q) qdd + velocity_forces(q, qd) + gravity(q) = tau.

    Attributes:
        q, qd: coordinates (nq, 1) and velocities (nv, 1).
        M: mass matrix, (nv, nv).
        velocity_forces: C(q, qd) qd, (nv, 1).
        gravity: g(q), (nv, 1).
        values: the robot's number for every parameter symbol; empty if the equations have numbers.
    """

    q: sympy.ImmutableMatrix
    qd: sympy.ImmutableMatrix
    M: sympy.ImmutableMatrix
    velocity_forces: sympy.ImmutableMatrix
    gravity: sympy.ImmutableMatrix
    values: dict[sympy.Symbol, float] = field(default_factory=dict)

    def latex(self, *more: tuple[str, sympy.ImmutableMatrix]) -> str:
        """The three terms, and further named ones, as an `aligned` block of LaTeX."""
        import sympy

        terms = (
            (r"\mathbf{M}", self.M),
            (r"\mathbf{C}\dot{\mathbf{q}}", self.velocity_forces),
            (r"\mathbf{g}", self.gravity),
            *more,
        )
        symbols = set().union(*(term.free_symbols for _, term in terms))
        names = {symbol: latex_name(str(symbol)) for symbol in symbols}
        lines = (f"{name} &= {sympy.latex(term, symbol_names=names)}" for name, term in terms)
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def tree_equations(
    robot: Robot, symbols: bool, force: bool, more: Callable[[Tree, list[Any]], Iterable[Scalar]] = lambda tree, q: ()
) -> tuple[Equations, SymbolicTree]:
    """The equations of a tree, and the tree over symbols that they come from; `more` has other scalars to be named."""
    import sympy

    tree = require_tree("robot", robot)
    if tree.nv > MAX_DOF and not force:
        raise ArgumentError(
            f"{robot.name} has {tree.nv} degrees of freedom; closed equations of more than {MAX_DOF} are long and slow. "
            "Pass force=True to get them anyway."
        )
    tree.require_mass("equations")
    parameters = TreeSymbols.of(tree) if symbols else None
    ring, q, qd = _coordinates(tree, list(parameters.values) if parameters else [])
    if parameters:
        tree = parameters.substitute(tree, ring)
    M = find("mass_matrix", "gibbs_hessian")[2](tree, q)
    forces = find("bias", "mata2002")[2](replace(tree, gravity=ZERO), q, qd)
    gravity = find("gravity", "mata2002")[2](tree, q)
    used = {name for row in (*M, forces, gravity, more(tree, q)) for entry in row for name in variable_names(entry)}
    short = parameters.short_names(used) if parameters else {}
    variables = [sympy.Symbol(short.get(name, name)) for name in ring.variables]
    values = parameters.values if parameters else {}

    def matrix(rows: Iterable[Iterable[Any]]) -> sympy.ImmutableMatrix:
        return sympy.ImmutableMatrix([[to_sympy(entry, variables) for entry in row] for row in rows])

    found = Equations(
        q=sympy.ImmutableMatrix([sympy.Symbol(f"q{k + 1}") for k in range(tree.nq)]),
        qd=sympy.ImmutableMatrix([sympy.Symbol(f"qd{v + 1}") for v in range(tree.nv)]),
        M=matrix(M),
        velocity_forces=matrix([entry] for entry in forces),
        gravity=matrix([entry] for entry in gravity),
        values={sympy.Symbol(short.get(name, name)): value for name, value in values.items() if name in used},
    )
    return found, SymbolicTree(tree, q, qd, variables)


def latex_name(name: str) -> str:
    """LaTeX of a symbol's name: `qd1` is a dotted q, digits and letters after the first are an index."""
    velocity = re.fullmatch(r"qd(\d+)", name)
    if velocity:
        return rf"\dot{{q}}_{{{velocity[1]}}}"
    return re.sub(r"^([A-Za-z])(.+)$", r"\1_{\2}", name)


def _coordinates(tree: Tree, parameters: list[str]) -> tuple[HarmonicRing, list[Any], list[Any]]:
    """The ring of all expressions, and q and qd in it."""
    names = [f"q{k + 1}" for k in range(tree.nq)]
    velocities = [f"qd{v + 1}" for v in range(tree.nv)]
    angles = [names[k] for k in tree.angles]
    ring = HarmonicRing(angles, [*(name for name in names if name not in angles), *velocities, *parameters])
    q = [ring.angle(name) if name in angles else ring.variable(name) for name in names]
    return ring, q, [ring.variable(name) for name in velocities]
