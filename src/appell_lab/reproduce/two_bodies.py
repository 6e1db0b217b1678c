"""Table 5 of Mata et al. 2002: forward dynamics of two very unequal bodies in single precision.

The second body is put at 180 angles, 2 degrees apart; velocities and joint forces are zero, gravity acts along -y. Each method
is run in double and in single precision and the accelerations are compared. M is inverted by Gauss-Jordan elimination, as
in the paper.

Rounding errors need more than one set of numbers. All masses and inertias times one factor leave the accelerations
unchanged but round differently, so the study is repeated with 40 factors between 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from appell.algebra import Scalar
from appell.algorithms.registry import find
from appell.loading.catalogue.mata_two_body import LENGTHS, MASSES, mata_two_body
from appell.model.tree import Tree
from appell.robot.robot import Robot
from appell.table import Table
from appell_lab.reproduce.precision import all_of, lanes, rounded, rounded_tree
from appell_lab.reproduce.walker_orin import CentralBody, central_bodies, mass_matrix

PAPER = {"ABA": (0.497600, 0.013240), "CRBA": (1.292200, 0.2750630), "GA": (0.5340020, 0.0087611)}
"""Table 5 as printed: largest and average difference. [rad/s²]"""

ANGLES = np.radians(np.arange(2, 362, 2))
DRAWS = 40
JOINT = 1
"""Index of the compared acceleration: the second joint, as in the rows of the paper; its caption has the first."""


@dataclass(frozen=True)
class Study:
    """One run: what each method computes from, in one precision."""

    tree: Tree
    bodies: list[CentralBody]
    q: list[np.ndarray]
    still: list[np.ndarray]

    @classmethod
    def of(cls, robot: Robot, dtype) -> Study:
        bodies = [CentralBody(*(rounded(part, dtype) for part in body)) for body in central_bodies(robot.tree)]
        q = lanes(dtype, np.zeros_like(ANGLES), ANGLES)
        return cls(rounded_tree(robot.tree, dtype), bodies, q, lanes(dtype, *np.zeros((2, len(ANGLES)))))


@dataclass(frozen=True)
class Difference:
    """Double less single precision over all positions: largest magnitude, mean magnitude, mean. [rad/s²]"""

    largest: float
    mean: float
    signed: float


def articulated(study: Study) -> list[Scalar]:
    """Articulated bodies; what is zero along a freed direction is exactly zero."""
    return find("forward_dynamics", "articulated")[2](study.tree, study.q, study.still, study.still)


def articulated_as_computed(study: Study) -> list[Scalar]:
    """Articulated bodies that keep the rounding residue of I - U U^T/d along the freed direction.

    A rotor inertia whose zero is a value, not a structure, makes the algorithm compute those entries.
    """
    zero = np.zeros(1, study.q[0].dtype)
    links = tuple(replace(link, armature=zero) for link in study.tree.links)
    return articulated(replace(study, tree=replace(study.tree, links=links)))


def composite_about_centers(study: Study) -> list[Scalar]:
    """Walker and Orin's composite bodies about centres of mass, Newton-Euler bias."""
    return _solved(study, mass_matrix(study.tree, study.bodies, study.q), "newton_euler")


def composite_about_joints(study: Study) -> list[Scalar]:
    """The library's composite bodies about the joints, Newton-Euler bias."""
    return _solved(study, find("mass_matrix", "composite")[2](study.tree, study.q), "newton_euler")


def gibbs_appell(study: Study) -> list[Scalar]:
    """Hessian of the Gibbs function, bias of the tensor form."""
    return _solved(study, find("mass_matrix", "gibbs_hessian")[2](study.tree, study.q), "mata2002")


METHODS: dict[str, Callable[[Study], list[Scalar]]] = {
    "ABA": articulated,
    "ABA, residues kept": articulated_as_computed,
    "CRBA": composite_about_centers,
    "CRBA, about joints": composite_about_joints,
    "GA": gibbs_appell,
}


def accelerations(robot: Robot, method: str, dtype, joint: int = JOINT) -> np.ndarray:
    """Accelerations of a joint at all angles by one method in one precision. [rad/s²]"""
    return all_of(dtype, METHODS[method](Study.of(robot, dtype)))[joint]


def condition_numbers(robot: Robot) -> np.ndarray:
    """Condition number of the mass matrix at all angles."""
    return np.linalg.cond(robot.mass_matrix(np.stack([np.zeros_like(ANGLES), ANGLES], axis=1)))


def differences(robot: Robot) -> dict[str, Difference]:
    """Every method in single against double precision."""
    differences = {}
    for name in METHODS:
        error = accelerations(robot, name, np.float64) - accelerations(robot, name, np.float32)
        differences[name] = Difference(float(abs(error).max()), float(abs(error).mean()), float(error.mean()))
    return differences


def table_5() -> Table:
    """Printed and computed differences."""
    robot = mata_two_body()
    here = differences(robot)
    factors = np.random.default_rng(0).uniform(1.0, 2.0, DRAWS)
    draws = [differences(heavier(robot, float(factor))) for factor in factors]
    rows = [(f"{name}, printed", largest, average, None, "", "") for name, (largest, average) in PAPER.items()]
    rows += [
        (
            name, here[name].largest, here[name].mean, here[name].signed,
            _range([draw[name].largest for draw in draws]), _range([draw[name].signed for draw in draws]),
        )
        for name in METHODS
    ]  # fmt: skip
    columns = ("method", "max |d|", "mean |d|", "mean d", f"max |d|, {DRAWS} roundings", f"mean d, {DRAWS} roundings")
    title = (
        "Table 5. Joint acceleration in double less single precision, d [rad/s²], 180 positions of the two-body system"
    )
    return Table(title, columns, tuple(rows), tuple(_notes(here, draws)))


def heavier(robot: Robot, factor: float) -> Robot:
    """The robot with all masses and inertias times a factor."""
    bodies = tuple(
        replace(body, mass=body.mass * factor, inertia=tuple(entry * factor for entry in body.inertia))
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies)


def gauss_jordan(M: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> list[Scalar]:
    """x with M x = b, by elimination above and below the diagonal, without exchanging rows."""
    rows = [[*row, right] for row, right in zip(M, b, strict=True)]
    for k, pivot in enumerate(rows):
        rows[k] = pivot = [entry / pivot[k] for entry in pivot]
        for i, row in enumerate(rows):
            if i != k:
                rows[i] = [entry - row[k] * top for entry, top in zip(row, pivot, strict=True)]
    return [row[-1] for row in rows]


def _solved(study: Study, M: list[list[Scalar]], bias: str) -> list[Scalar]:
    forces = find("bias", bias)[2](study.tree, study.q, study.still)
    return gauss_jordan(M, [-force for force in forces])


def _range(values: list[float]) -> str:
    return f"{min(values):.2g} .. {max(values):.2g}"


def _notes(here: dict[str, Difference], draws: list[dict[str, Difference]]) -> list[str]:
    """Where print and computation differ and why, with the measured numbers."""
    return [
        _note_on_order(here),
        _note_on_composites(draws),
        _note_on_aba(here, draws),
        _note_on_average(draws),
        _note_on_mass(),
    ]


def _note_on_mass() -> str:
    (short, long), (light, heavy) = LENGTHS, MASSES
    return (
        f"The mass of the second body is garbled in print; {heavy:g} kg follows from equal density: {light:g} kg times {long:g} "
        f"m / {short:g} m = {light * long / short:g} kg."
    )


def _note_on_order(here: dict[str, Difference]) -> str:
    measured = " < ".join(sorted(PAPER, key=lambda name: here[name].largest))
    paper = " < ".join(sorted(PAPER, key=lambda name: PAPER[name][0]))
    return f"Order of the largest differences: {measured}, {'as' if measured == paper else paper + ' is'} printed."


def _note_on_composites(draws: list[dict[str, Difference]]) -> str:
    centers, joints, hessian = (
        _range([draw[name].largest for draw in draws]) for name in ("CRBA", "CRBA, about joints", "GA")
    )
    return (
        f"CRBA with composite bodies about their centres of mass, as Walker and Orin write them, has {centers} (printed "
        f"{PAPER['CRBA'][0]:.4g}); about the joints it has {joints}, and GA, which takes them about the joints too, "
        f"{hessian}. What costs digits is moving inertias from centre of mass to centre of mass."
    )


def _note_on_aba(here: dict[str, Difference], draws: list[dict[str, Difference]]) -> str:
    largest, average = PAPER["ABA"]
    kept = [draw["ABA, residues kept"] for draw in draws]
    like_printed = [each for each in kept if each.largest > largest / 2]
    residue = (
        f"{max(each.largest for each in kept):.2g} in {len(like_printed)} of {DRAWS} roundings, with a mean magnitude of "
        f"{_range([each.mean for each in like_printed])}: the printed maximum is possible, the printed average "
        f"{average:.2g} beside it was not found."
        if like_printed
        else f"{max(each.largest for each in kept):.2g} at most."
    )
    return (
        f"ABA has {here['ABA'].largest:.2g} (printed {largest:.4g}), because entries of I - U U^T/d that are zero by theory "
        f"are exactly zero here. Kept as computed, a residue of one rounding leads to {residue}"
    )


def _note_on_average(draws: list[dict[str, Difference]]) -> str:
    average = PAPER["GA"][1]
    magnitude, signed = [draw["GA"].mean for draw in draws], [draw["GA"].signed for draw in draws]
    verdict = "can be" if min(signed) <= average <= max(signed) else "is not found as"
    return (
        f"GA: the printed average {average:.2g} is far below the mean magnitude, {_range(magnitude)} here; it {verdict} a "
        f"mean with sign, {_range(signed)}. The paper's conclusions call GA a little worse than ABA, which agrees with its "
        "maxima and not with its averages."
    )
