"""Control laws of robots with floating joints, which have no actuator: the laws act on all other joints.

With b the velocities of floating joints and a the others, a law that compensates the inertia prescribes q̈_a = v. Floating joints
carry no force, which determines their accelerations and the forces τ of the actuators (collocated partial feedback
linearization; M. Spong, Partial feedback linearization of underactuated mechanical systems, IROS 1994):

    (1)  M_bb q̈_b + M_ba v + b_b = 0        (2)  τ = M_ab q̈_b + M_aa v + b_a

It is exact in free flight. Contact forces are not in (1): feet on the ground disturb it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from appell.algebra import Scalar
from appell.algorithms.coordinate_rates import QuasiVelocityJoint
from appell.algorithms.laws import Law, LawModel, Signals, Vector
from appell.algorithms.linear import dot, solve
from appell.model.joints import KINDS


class ActuatedJoints(NamedTuple):
    """Indices in q and in qd of the joints with an actuator, and in qd of floating joints."""

    q: tuple[int, ...]
    v: tuple[int, ...]
    floating: tuple[int, ...]

    @classmethod
    def of(cls, nq: int, nv: int, joints: Sequence[QuasiVelocityJoint]) -> ActuatedJoints:
        """From the numbers of coordinates and velocities of a robot, and its quasi-velocity joints."""
        free = [(joint, KINDS[joint.kind]) for joint in joints if not KINDS[joint.kind].actuated]
        coordinates = {joint.idx_q + k for joint, kind in free for k in range(kind.nq)}
        floating = tuple(joint.idx_v + k for joint, kind in free for k in range(kind.nv))
        q, v = (tuple(k for k in range(n) if k not in taken) for n, taken in ((nq, coordinates), (nv, floating)))
        return cls(q, v, floating)

    def size(self, law: Law) -> int:
        """Entries of each signal, gain and vector of memory of a law: torques act on all velocities."""
        return len(self.v) if law.is_feedback else len(self.v) + len(self.floating)

    def applied(self, law: Law) -> Law:
        """The law for whole states: it has the entries of actuated joints and gives no forces to floating ones."""
        if not self.floating or not law.is_feedback:
            return law

        def torque(model: LawModel, q: Vector, qd: Vector, signals: Signals, gains: Signals, memory: Signals) -> Vector:
            own = law.torque(FloatingModel(model, self, q, qd), *self.select(q, qd), signals, gains, memory)
            return self.scattered(own)

        def rates(q: Vector, qd: Vector, signals: Signals) -> Signals:
            return law.rates(*self.select(q, qd), signals)

        return replace(law, torque=torque, rates=rates)

    def select(self, q: Vector, qd: Vector) -> tuple[Vector, Vector]:
        """Coordinates and velocities of the actuated joints."""
        return [q[k] for k in self.q], [qd[k] for k in self.v]

    def scattered(self, values: Vector) -> Vector:
        """Values of the actuated joints among all velocities, zero for floating joints."""
        result: Vector = [0.0 * values[0] if values else 0.0] * (len(self.v) + len(self.floating))
        for k, value in zip(self.v, values, strict=True):
            result[k] = value
        return result


@dataclass(frozen=True)
class FloatingModel:
    """Dynamics of the actuated joints in a state of the whole robot; arguments are of the actuated joints."""

    model: LawModel
    joints: ActuatedJoints
    state_q: Vector
    state_qd: Vector

    def gravity(self, q: Vector) -> Vector:
        """Forces that hold the joints against gravity while floating joints do not move."""
        forces = self.model.gravity(self.state_q)
        return [forces[k] for k in self.joints.v]

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        """τ of (1) and (2)."""
        forces = self.model.inverse_dynamics(self.state_q, self.state_qd, self.joints.scattered(qdd))
        M, free = self.model.mass_matrix(self.state_q), self.joints.floating
        block = [[M[i][k] for k in free] for i in free]
        accelerations = solve(block, [-forces[k] for k in free], range(len(free)))
        return [forces[k] + dot([M[k][i] for i in free], accelerations) for k in self.joints.v]

    def mass_matrix(self, q: Vector) -> list[list[Scalar]]:
        """M_aa."""
        M = self.model.mass_matrix(self.state_q)
        return [[M[i][k] for k in self.joints.v] for i in self.joints.v]
