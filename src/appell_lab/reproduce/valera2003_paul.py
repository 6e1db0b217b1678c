"""The vector form of Valera et al. 2003 with frames at the far end of each link: Denavit-Hartenberg under Paul's convention.

With ^{i-1}R_i = Rz(θ) Rx(α), joint i turns about z of frame i-1, and p = [a, d sin α, d cos α] leads from O_{i-1} to O_i:

    ω_i = R^T (ω_{i-1} + z q̇)       ω̇_i = R^T (ω̇_{i-1} + z q̈ + ω_{i-1} x z q̇)       r̈_O = R^T r̈_O + ω̇ x p + ω x (ω x p)
    n_i = α_i + (p + r) x m r̈_G + R n_{i+1} + p x R f_{i+1}                           τ_i = R^T z · n_i

Kept to count its operations; the library's own frames are those at the joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.algebra import ZERO, Scalar, Sym3, Vec3
from appell.algebra.angle import Angle
from appell.algebra.rotation import AxisRotation, Rotation
from appell.algebra.scalar import cos, sin
from appell.algorithms.inverse_dynamics.valera2003 import VectorMotion
from appell.compiler.count import Counts, count_graph
from appell.loading.catalogue.random import random_chain
from appell.robot.robot import Robot
from appell_lab.reproduce.walker_orin import CentralBody

X, Z = 0, 2
AXIS = Vec3(0.0, 0.0, 1.0)
GRAVITY = Vec3(0.0, 0.0, 9.81)
"""Acceleration of the base that stands for gravity."""


class Row(NamedTuple):
    """A row of the table, with the link's mass properties in its frame."""

    alpha: Angle
    p: Vec3
    body: CentralBody


def table(n: int) -> tuple[list[Row], Robot]:
    """A general table of n revolute joints without zeros, and the same robot in the library's own frames."""
    rng = np.random.default_rng(n)
    alpha, a, d = rng.uniform(0.2, 1.2, (3, n))
    bodies = random_chain(n).bodies[1:]
    robot = Robot.from_dh(
        alpha=alpha, a=a, d=d, mass=[body.mass for body in bodies], com=[body.com for body in bodies],
        inertia=[body.inertia for body in bodies], convention="standard",
    )  # fmt: skip
    angles = [Angle.of(each) for each in alpha.tolist()]
    ends = [Vec3(x, z * angle.sin, z * angle.cos) for x, z, angle in zip(a.tolist(), d.tolist(), angles, strict=True)]
    masses = [CentralBody(body.mass, Vec3(*body.com), Sym3(*body.inertia)) for body in bodies]
    return [Row(*each) for each in zip(angles, ends, masses, strict=True)], robot


def inverse_dynamics(
    rows: Sequence[Row], q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> list[Scalar]:
    """Torques of the robot of a table."""
    turns = [
        Rotation(AxisRotation(Z, cos(angle), sin(angle)), AxisRotation.by(X, row.alpha))
        for angle, row in zip(q, rows, strict=True)
    ]
    parent, own = VectorMotion(ZERO, ZERO, GRAVITY), []
    for R, row, speed, acceleration in zip(turns, rows, qd, qdd, strict=True):
        joint = AXIS * speed
        omega = R.T @ (parent.omega + joint)
        omegad = R.T @ (parent.omegad + AXIS * acceleration + parent.omega.cross(joint))
        parent = VectorMotion(omega, omegad, VectorMotion(omega, omegad, R.T @ parent.rdd).acceleration_of(row.p))
        own.append(parent)
    tau: list[Scalar] = []
    force = moment = ZERO  # of everything beyond the link, in its frame and about O_i
    for R, row, motion in reversed([*zip(turns, rows, own, strict=True)]):
        mass, com, inertia = row.body
        F = motion.acceleration_of(com) * mass
        alpha = inertia @ motion.omegad + motion.omega.cross(inertia @ motion.omega)
        n = alpha + com.cross(F) + moment + row.p.cross(F + force)
        tau.append(row.alpha.sin * n.y + row.alpha.cos * n.z)
        force, moment = R @ (F + force), R @ n
    return tau[::-1]


def count(n: int) -> Counts:
    """Operations for a general robot of n joints."""
    import casadi

    rows, _ = table(n)
    inputs: list[Any] = [casadi.SX.sym(name, n) for name in ("q", "qd", "qdd")]
    tau = inverse_dynamics(rows, *([each[i] for i in range(n)] for each in inputs))
    return count_graph(casadi.Function("paul", inputs, [casadi.vertcat(*tau)]))
