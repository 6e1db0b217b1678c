"""The agile wrist by the equations of Abedloo 2014 as corrected, written out with plain matrices, and what the library has."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest

from appell.algebra import Vec3
from appell.closed_loop.spherical.jacobians import body_jacobian_rates, halves, true_rate
from appell.loading.catalogue.agile_wrist import ARCS, BETA, GAMMA
from helpers.spherical_robots import wrist

LAMBDA = ETA = np.radians([0.0, 120.0, 240.0])
ALPHA1, ALPHA2 = ARCS
Z = np.array([0.0, 0.0, 1.0])
G = np.array([0.0, 0.0, -9.81])
LEGS = range(3)
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
STEP = 1e-3


def rx(a: float) -> np.ndarray:
    return np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])


def ry(a: float) -> np.ndarray:
    return np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])


def rz(a: float) -> np.ndarray:
    return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])


def skew(v: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def in_time(function) -> np.ndarray:
    """The derivative of a function of time at 0."""
    return sum(w * (function(k * STEP) - function(-k * STEP)) for k, w in WEIGHTS.items()) / STEP


class Case:
    """The wrist in one state, by the paper's equations as corrected."""

    def __init__(self, q, qd, qdd) -> None:
        self.q, self.qd, self.qdd = np.array(q), np.array(qd), np.array(qdd)
        self.robot = wrist("plus", (0.003, -0.004, 0.05))
        masses = self.robot.system
        self.inertias = [
            [np.array(list(each.at_origin.full())).reshape(3, 3) for each in leg.inertias] for leg in masses.legs
        ]
        self.moments = [[np.array(list(each.gamma)) for each in leg.inertias] for leg in masses.legs]  # m ρ
        self.platform = (
            np.array(list(masses.platform.at_origin.full())).reshape(3, 3),
            np.array(list(masses.platform.gamma)),
        )

    def at(self, t: float) -> Case:
        """The same motion a little later."""
        return Case(self.q + t * self.qd + 0.5 * t * t * self.qdd, self.qd + t * self.qdd, self.qdd)

    @cached_property
    def R(self) -> np.ndarray:
        """(25)"""
        return rz(self.q[0]) @ ry(self.q[1]) @ rx(self.q[2])

    @cached_property
    def E(self) -> np.ndarray:
        """(26)"""
        c, s = np.cos(self.q), np.sin(self.q)
        return np.array([[0, -s[0], c[0] * c[1]], [0, c[0], s[0] * c[1]], [1, 0, -s[1]]])

    @cached_property
    def Ed(self) -> np.ndarray:
        return in_time(lambda t: self.at(t).E)

    @cached_property
    def Omega(self) -> np.ndarray:
        return self.E @ self.qd

    @cached_property
    def u(self) -> np.ndarray:
        """(29)"""
        return np.array([rz(angle) @ rx(GAMMA - np.pi) @ Z for angle in LAMBDA])

    @cached_property
    def v(self) -> np.ndarray:
        """(28), (29)"""
        return np.array([self.R @ rz(angle) @ rx(-BETA) @ Z for angle in ETA])

    @cached_property
    def w(self) -> np.ndarray:
        """(29)"""
        return np.array([self.R1(i) @ rx(ALPHA1) @ Z for i in LEGS])

    @cached_property
    def abc(self) -> np.ndarray:
        """(32), (33): a, b, c of every leg."""
        found = []
        for i in LEGS:
            C = (
                np.diag([np.sin(ALPHA1), -np.sin(ALPHA1), np.cos(ALPHA1)])
                @ rx(GAMMA - np.pi).T
                @ rz(LAMBDA[i]).T
                @ self.v[i]
            )
            found.append((C[1], C[0], np.cos(ALPHA2) - C[2]))
        return np.array(found)

    @cached_property
    def theta(self) -> np.ndarray:
        """(34), the root +"""
        a, b, c = self.abc.T
        return np.arctan2(b, a) + np.arctan2(np.sqrt(a * a + b * b - c * c), c)

    @cached_property
    def psi(self) -> np.ndarray:
        """(35), (36) with its sign"""
        n1 = np.cross(self.u, self.w) / abs(np.sin(ALPHA1))
        n2 = np.cross(self.w, self.v) / abs(np.sin(ALPHA2))
        return np.arctan2((self.w * np.cross(n1, n2)).sum(axis=1), (n1 * n2).sum(axis=1))

    def R1(self, i: int) -> np.ndarray:
        """(27)"""
        return rz(LAMBDA[i]) @ rx(GAMMA - np.pi) @ rz(self.theta[i])

    def R2(self, i: int) -> np.ndarray:
        """(27), from the base"""
        return self.R1(i) @ rx(ALPHA1) @ rz(self.psi[i])

    @cached_property
    def p1(self) -> np.ndarray:
        """(39)"""
        return np.cross(self.v, self.w)

    @cached_property
    def p2(self) -> np.ndarray:
        return np.cross(self.u, self.v)

    @cached_property
    def h(self) -> np.ndarray:
        return (self.p1 * self.u).sum(axis=1)

    @cached_property
    def thetad(self) -> np.ndarray:
        """(40)"""
        return self.p1 @ self.Omega / self.h

    @cached_property
    def psid(self) -> np.ndarray:
        return self.p2 @ self.Omega / self.h

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """∂θ̇/∂q̇ and ∂ψ̇/∂q̇, by rows (3, 3)."""
        return (self.p1 / self.h[:, None]) @ self.E, (self.p2 / self.h[:, None]) @ self.E

    @cached_property
    def row_rates(self) -> tuple[np.ndarray, np.ndarray]:
        return in_time(lambda t: np.array(self.at(t).rows))  # type: ignore[return-value]

    def J(self, i: int, j: int) -> np.ndarray:
        """(44), (46)"""
        if j == 0:
            return np.outer(Z, self.rows[0][i])
        return np.outer(self.R2(i).T @ self.R1(i) @ Z, self.rows[0][i]) + np.outer(Z, self.rows[1][i])

    def Jd(self, i: int, j: int, share: float = 0.5) -> np.ndarray:
        """(47), with the halves of the Coriolis term or another share"""
        if j == 0:
            return np.outer(Z, self.row_rates[0][i])
        a = self.R2(i).T @ self.R1(i) @ Z
        coriolis = np.outer(np.cross(a, Z), self.rows[0][i] * self.psid[i] + self.rows[1][i] * self.thetad[i])
        return np.outer(a, self.row_rates[0][i]) + np.outer(Z, self.row_rates[1][i]) + share * coriolis

    @cached_property
    def bodies(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Inertia, m ρ, J, J̇ and R of all bodies; (48) for the platform."""
        found = [(*self.platform, self.R.T @ self.E, self.R.T @ self.Ed, self.R)]
        for i in LEGS:
            for j, R in enumerate((self.R1(i), self.R2(i))):
                found.append((self.inertias[i][j], self.moments[i][j], self.J(i, j), self.Jd(i, j), R))
        return found

    @cached_property
    def M(self) -> np.ndarray:
        """(20), (21)"""
        return sum(J.T @ inertia @ J for inertia, _, J, _, _ in self.bodies)

    @cached_property
    def C(self) -> np.ndarray:
        return sum(J.T @ inertia @ Jd + J.T @ skew(J @ self.qd) @ inertia @ J for inertia, _, J, Jd, _ in self.bodies)

    @cached_property
    def gravity(self) -> np.ndarray:
        return sum((skew(moment) @ J).T @ (R.T @ G) for _, moment, J, _, R in self.bodies)

    @cached_property
    def Jact(self) -> np.ndarray:
        """(50)"""
        return self.rows[0]


CASES = [
    Case([0.1, 0.2, 0.3], [0.7, -0.4, 0.9], [1.0, -2.0, 1.5]),
    Case([-0.15, 0.35, -0.3], [-0.5, 0.8, 1.1], [-3.0, 0.4, 2.0]),
]
over_cases = pytest.mark.parametrize("case", CASES, ids=["first", "second"])


class LibraryBody:
    """A body of the wrist as the library has it: J, J̇ (with the paper's halves, or the true one), ω, σ as arrays."""

    def __init__(self, body, name: str) -> None:
        self.name, self.inertia = name, np.array(list(body.inertia.at_origin.full())).reshape(3, 3)
        self.mass, self.moment = float(body.inertia.mass), _array(body.inertia.gamma)
        self.J, self.Jd = (np.stack([_array(column) for column in columns], axis=1) for columns in (body.J, body.Jd))
        self.omega, self.sigma = _array(body.omega), _array(body.sigma)


def library_bodies(case: Case, qd: np.ndarray | None = None, paper: bool = True) -> list[LibraryBody]:
    """All bodies: the platform, then each leg from the base."""
    system = case.robot.system
    rates = body_jacobian_rates(
        system, case.q.tolist(), (case.qd if qd is None else qd).tolist(), halves if paper else true_rate
    )
    return [LibraryBody(body, name) for (name, _), body in zip(system.names, rates, strict=True)]


def _array(v: Vec3) -> np.ndarray:
    return np.array([float(x) for x in v])
