"""A serial robot in the papers' own notation, over plain NumPy, read from the description alone.

Frames are those of the papers: frame i is fixed in body i, its origin O_i and its axis z_i lie on joint i. Bodies are
counted from 0 here. A left superscript of the papers (the frame in which components are given) is the first index:
`chain.R(i, j)` is ^iR_j, `chain.s(k, j, i)` is ^i s_k,j.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import appell
from appell.robot.robot import Robot
from helpers.random_trees import triple
from helpers.states import random_states

Z = np.array([0.0, 0.0, 1.0])
BASE = -1


def chain_along_z(n: int, seed: int, joints: str = "R") -> Robot:
    """A general chain whose joint axes are the z axes of its bodies; `joints` such as "RPR" is repeated."""
    robot = appell.robots.random_chain(n, seed=seed)
    kinds = {"R": "revolute", "P": "prismatic"}
    letters = (joints * n)[:n]
    return replace(
        robot,
        name=f"{letters}-{seed}",
        joints=tuple(
            replace(joint, axis=triple(Z), kind=kinds[letter])
            for joint, letter in zip(robot.joints, letters, strict=True)
        ),
    )


class Motion(NamedTuple):
    """ω, ω̇, s̈ (acceleration of O_i), r̈ (of the mass centre) of one body, in its own frame."""

    omega: np.ndarray
    omegad: np.ndarray
    sdd: np.ndarray
    rdd: np.ndarray


def tilde(v: np.ndarray) -> np.ndarray:
    """v~, with v~ a = v x a."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def untilde(A: np.ndarray) -> np.ndarray:
    """The vector of a skew tensor."""
    return np.array([A[2, 1], A[0, 2], A[1, 0]])


class PaperChain:
    """One state of a serial robot, and the quantities that the papers define for its bodies."""

    def __init__(self, robot: Robot, seed: int) -> None:
        self.robot = robot
        self.state = random_states(robot, count=1, seed=seed)
        self.q, self.qd, self.qdd = (array[0] for array in self.state)
        self.bodies = range(robot.nv)
        self.g = np.array(robot.gravity_vector)
        self.revolute = [joint.kind != "prismatic" for joint in robot.joints]
        bodies = robot.bodies[1:]
        self.m = [body.mass for body in bodies]
        self.r = [np.array(body.com) for body in bodies]
        self.I = [np.array(body.inertia)[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]] for body in bodies]
        self.places = [self._place(joint, x) for joint, x in zip(robot.joints, self.q, strict=True)]
        self.worlds = self._worlds()
        self.motions = self.motion_of(self.qd, self.qdd, -self.g)

    @property
    def tau(self) -> np.ndarray:
        """Generalised forces as the library computes them."""
        return self.robot.inverse_dynamics(*self.state)[0]

    @staticmethod
    def _place(joint, q: float) -> tuple[np.ndarray, np.ndarray]:
        """^{i-1}R_i and ^{i-1}s_{i-1,i}."""
        R0 = Rotation.from_euler("xyz", joint.origin.rpy).as_matrix()
        if joint.kind == "prismatic":
            return R0, np.array(joint.origin.xyz) + R0 @ Z * q
        return R0 @ Rotation.from_rotvec(Z * q).as_matrix(), np.array(joint.origin.xyz)

    def _worlds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rotation and origin of every frame in the base frame; the last entry, index BASE, is the base itself."""
        R, p, found = np.eye(3), np.zeros(3), []
        for Ri, si in self.places:
            R, p = R @ Ri, p + R @ si
            found.append((R, p))
        return [*found, (np.eye(3), np.zeros(3))]

    def R(self, i: int, j: int) -> np.ndarray:
        """^iR_j."""
        return self.worlds[i][0].T @ self.worlds[j][0]

    def s(self, k: int, j: int, i: int) -> np.ndarray:
        """^i s_k,j: from O_k to O_j in frame i."""
        return self.worlds[i][0].T @ (self.worlds[j][1] - self.worlds[k][1])

    def to_center(self, k: int, i: int) -> np.ndarray:
        """^i r_k,i: from O_k to the mass centre of body i, in frame i."""
        return self.s(k, i, i) + self.r[i]

    def motion_of(self, qd, qdd, base: np.ndarray) -> list[Motion]:
        """Motion of every body by differentiating the position in the base frame; `base` is the base's acceleration."""
        omega, omegad, sdd = np.zeros(3), np.zeros(3), base
        motions = []
        for i in self.bodies:
            R, arm = self.worlds[i][0], self.worlds[i][1] - self.worlds[i - 1][1]
            z = R @ Z
            sdd = sdd + np.cross(omegad, arm) + np.cross(omega, np.cross(omega, arm))
            if self.revolute[i]:
                omegad = omegad + z * qdd[i] + np.cross(omega, z * qd[i])
                omega = omega + z * qd[i]
            else:
                sdd = sdd + z * qdd[i] + 2 * np.cross(omega, z * qd[i])
            r = R @ self.r[i]
            rdd = sdd + np.cross(omegad, r) + np.cross(omega, np.cross(omega, r))
            motions.append(Motion(*(R.T @ x for x in (omega, omegad, sdd, rdd))))
        return motions

    def partial(self, k: int) -> list[Motion]:
        """∂(ω̇, s̈, r̈)_i/∂q̈_k of every body i: motions are affine in q̈, so this is the motion from rest of q̈ = e_k."""
        n = self.robot.nv
        return self.motion_of(np.zeros(n), np.eye(n)[k], np.zeros(3))

    def gibbs(self, i: int, qdd=None) -> float:
        """G_i: Mata 2002 (3), Valera 2003 (4); with other accelerations where given."""
        motion = self.motions[i] if qdd is None else self.motion_of(self.qd, qdd, -self.g)[i]
        return (
            0.5 * self.m[i] * motion.rdd @ motion.rdd
            + 0.5 * motion.omegad @ self.I[i] @ motion.omegad
            + motion.omegad @ np.cross(motion.omega, self.I[i] @ motion.omega)
        )

    def force(self, i: int) -> np.ndarray:
        """f_i = m_i r̈_i: Mata 2002 (9), gravity in the base's acceleration."""
        return self.m[i] * self.motions[i].rdd

    def Omega(self, i: int) -> np.ndarray:
        """Ω_i: Mata 2002 (12)."""
        motion = self.motions[i]
        return tilde(motion.omegad) + tilde(motion.omega) @ tilde(motion.omega)

    def moment(self, i: int) -> np.ndarray:
        """t_i = I ω̇ + ω x I ω, Euler's equation."""
        motion, inertia = self.motions[i], self.I[i]
        return inertia @ motion.omegad + np.cross(motion.omega, inertia @ motion.omega)
