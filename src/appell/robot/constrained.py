"""Dynamics of robots some of whose points and frames are held at rest, such as feet on the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from appell.algebra import Vec3
from appell.algorithms.constrained_dynamics import ConstrainedSystem, HeldFrame
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.system import SystemOnTree
from appell.arrays import wrenches_by_frame
from appell.checks import require_choice, require_in_range, require_vector
from appell.compiler.directional import DirectionalSystem
from appell.compiler.evaluate import Evaluator
from appell.compiler.provider import TracedProvider
from appell.errors import ArgumentError
from appell.model.point import Point
from appell.model.tree import BASE, Frame
from appell.robot.call_options import CallOptions
from appell.robot.constrained_derivatives import ConstrainedForwardDynamicsDerivatives, derivatives

Contacts = Sequence[str | Point]
"""Names of frames, which are held with their orientation, and points, whose positions alone are held."""


class ConstrainedForwardDynamics(NamedTuple):
    """Accelerations (..., nv) and wrenches of the contacts on the robot, (..., contacts, 6)."""

    qdd: np.ndarray
    forces: np.ndarray


class ConstrainedInverseDynamics(NamedTuple):
    """Generalized forces (..., nv) and wrenches of the contacts on the robot, (..., contacts, 6)."""

    tau: np.ndarray
    forces: np.ndarray


class ConstrainedDynamics:
    """Functions of robots with contacts at rest, for trees and for closed loops."""

    __slots__ = ()

    functions: Evaluator

    def constrained_forward_dynamics(
        self,
        q,
        qd,
        tau,
        contacts: Contacts,
        *,
        baumgarte: Sequence[float] = (0.0, 0.0),
        reference=None,
        gravity=None,
        external_forces=None,
        parameters=None,
        check=True,
    ) -> ConstrainedForwardDynamics:
        """Accelerations and contact forces with some frames or points held at rest: named tuple (qdd, forces).

        M qdd + bias = tau + J^T f with J qdd + J̇ qd = 0, where J qd are the velocities of the contacts, which should be zero.
        Contacts are bilateral: f may also pull. Forces of redundant contacts are not determined by rigid bodies; the shortest
        ones are given, in float64 (`appell.algorithms.constrained_dynamics` has the rule where moments are among them).

        Args:
            contacts: names of frames, held with position and orientation (6 rows of J), and points (`appell.Point`), whose
                positions are held (3 rows; a radius has no effect).
            baumgarte: gains (k_p, k_d) of J qdd + J̇ qd = -k_p e - k_d J qd, which removes errors of position and velocity of a
                simulation. [1/s², 1/s]
            reference: configuration (..., nq) at which the contacts are where they are held; needed with k_p.

        Returns:
            qdd (..., nv) and forces (..., contacts, 6): force, then moment about the contact (zero for points), on the robot
            along the world's axes. [N, N m]

        Example:
            >>> import appell
            >>> robot = appell.load("planar2r")
            >>> q, qd, tau = [0.3, 0.5], [0.0, 0.0], [1.0, 2.0]
            >>> found = robot.constrained_forward_dynamics(q, qd, tau, [appell.Point("link2", (1.0, 0.0, 0.0))])
            >>> bool(abs(found.qdd).max() < 1e-9), found.forces.shape
            (True, (1, 6))
        """
        gains = _gains(baumgarte, reference)
        inputs = (q, qd, tau, reference) if gains[0] else (q, qd, tau)
        call = _constrained(self, "constrained_forward_dynamics", contacts, gains)
        return ConstrainedForwardDynamics(*call(inputs, gravity, external_forces, parameters, check))

    def constrained_forward_dynamics_derivatives(
        self,
        q,
        qd,
        tau,
        contacts: Contacts,
        *,
        baumgarte: Sequence[float] = (0.0, 0.0),
        reference=None,
        gravity=None,
        external_forces=None,
        parameters=None,
        check=True,
    ) -> ConstrainedForwardDynamicsDerivatives:
        """Derivatives of `constrained_forward_dynamics` by q, qd and tau: named tuple (qdd, forces) of (dq, dqd, dtau) each.

        Those by q are in the tangent space, as those of `forward_dynamics_derivatives`. Arguments are as in
        `constrained_forward_dynamics`; the configuration `reference` is held.

        Returns:
            qdd (..., nv, nv or actuators) and forces (..., contacts, 6, nv or actuators).

        Example:
            >>> import appell
            >>> robot = appell.load("planar2r")
            >>> hand = appell.Point("link2", (1.0, 0.0, 0.0))
            >>> d = robot.constrained_forward_dynamics_derivatives([0.3, 0.5], [0.0, 0.0], [1.0, 2.0], [hand])
            >>> d.qdd.dq.shape, d.forces.dtau.shape
            ((2, 2), (1, 6, 2))
        """
        own, gains = self.functions, _gains(baumgarte, reference)
        base, key = _contact_system(self, "constrained_forward_dynamics_derivatives", contacts)

        def build() -> tuple[Evaluator, ConstrainedSystem]:
            system = ConstrainedSystem(base, tuple(held_frame(base, contact) for contact in key), gains)
            directional = DirectionalSystem(system, FunctionSpec("constrained_forward_dynamics"))
            plain = replace(own.options, layout="rows", parameters="baked")
            return Evaluator(TracedProvider(directional), plain), system

        evaluator, system = own.program(("constrained derivatives", key, gains), build)
        named = {"q": q, "qd": qd, "tau": tau, **({"reference": reference} if gains[0] else {})}
        inputs = {name: own.owner.vector(name, value) for name, value in named.items()}
        options = CallOptions(gravity, wrenches_by_frame(external_forces), parameters)
        return derivatives(evaluator, system, inputs, options, own.options.layout == "columns", check)

    def constrained_inverse_dynamics(
        self, q, qd, qdd, contacts: Contacts, *, gravity=None, external_forces=None, parameters=None, check=True
    ) -> ConstrainedInverseDynamics:
        """Joint forces and contact forces of a motion of a floating tree: named tuple (tau, forces).

        M qdd + bias = tau + J^T f. Floating joints have no actuator: f are the shortest forces (moments count as forces at 1 m)
        with tau = 0 there. What the contacts cannot carry remains in tau of the floating joints, so that it is zero for possible
        motions. Without floating joints f = 0.

        Args:
            contacts: as in `constrained_forward_dynamics`, of which this is the inverse if qdd keeps the contacts at rest.

        Returns:
            tau (..., nv) and forces (..., contacts, 6), as in `constrained_forward_dynamics`. [N m, N]

        Example:
            >>> import appell
            >>> robot = appell.RobotBuilder("block").body("block", 2.0, inertia=(0.1, 0.1, 0.1)).body("world")
            >>> robot = robot.floating("base", "world", "block").build()
            >>> q, rest = robot.neutral_configuration(), [0.0] * 6
            >>> corners = [appell.Point("block", (x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
            >>> tau, forces = robot.constrained_inverse_dynamics(q, rest, rest, corners)
            >>> bool(abs(tau).max() < 1e-6), forces[:, 2].round(6).tolist()
            (True, [4.905, 4.905, 4.905, 4.905])
        """
        call = _constrained(self, "constrained_inverse_dynamics", contacts, (0.0, 0.0))
        return ConstrainedInverseDynamics(*call((q, qd, qdd), gravity, external_forces, parameters, check))


def held_frame(system: SystemOnTree, contact: str | Point) -> HeldFrame:
    """The frame of a contact, and how many rows it has."""
    if isinstance(contact, Point):
        body = _moving(contact.body, system.frames[require_choice("body of a point", contact.body, system.frames)])
        return HeldFrame(Frame(body.link, body.R, body.p + body.R @ Vec3(*contact.offset)), 3)
    if not isinstance(contact, str):
        raise ArgumentError(
            f"a contact is a {type(contact).__name__}, expected the name of a frame or an appell.Point."
        )
    return HeldFrame(_moving(contact, system.frames[require_choice("frame", contact, system.frames)]), 6)


def _moving(name: str, frame: Frame) -> Frame:
    """The frame, which a joint moves."""
    if frame.link == BASE:
        raise ArgumentError(f"contact {name!r} is fixed to the world. Name frames and points of moving bodies.")
    return frame


def _gains(baumgarte: Sequence[float], reference: Any) -> tuple[float, float]:
    kp, kd = require_vector("baumgarte", baumgarte, 2)
    if kp and reference is None:
        raise ArgumentError("baumgarte has a gain of positions: give the configuration `reference` of the contacts.")
    return require_in_range("k_p of baumgarte", kp), require_in_range("k_d of baumgarte", kd)


def _contact_system(
    robot: ConstrainedDynamics, function: str, contacts: Contacts
) -> tuple[Any, tuple[str | Point, ...]]:
    """The system of a robot whose contacts are held, and the contacts."""
    if not isinstance(robot.functions.provider, TracedProvider):
        raise ArgumentError(f"{function} is not in files of compiled robots. Use the robot it was made of.")
    base: Any = robot.functions.provider.system
    trees_only = function == "constrained_inverse_dynamics"
    if not isinstance(base, SystemOnTree) or (trees_only and base.recursion is None):
        kinds = "trees" if trees_only else "trees and closed loops"
        raise ArgumentError(f"{function} is of {kinds}, got a {type(robot).__name__}.")
    if isinstance(contacts, (str, Point)) or not contacts:
        raise ArgumentError(f"contacts is {contacts!r}, expected names of frames and points, as in ['foot'].")
    return base, tuple(contacts)


def _constrained(robot: ConstrainedDynamics, function: str, contacts: Contacts, gains: tuple[float, float]) -> Any:
    """A function of the robot with contacts, whose results are split."""
    own = robot.functions
    base, key = _contact_system(robot, function, contacts)

    def build() -> Evaluator:
        held = tuple(held_frame(base, contact) for contact in key)
        return Evaluator(TracedProvider(ConstrainedSystem(base, held, gains)), own.options, own.owner)

    evaluator = own.program(("constrained", key, gains), build)
    columns = own.options.layout == "columns"

    def call(inputs, gravity, external_forces, parameters, check) -> tuple[Any, Any]:
        result = evaluator[function, None](inputs, gravity, external_forces, parameters, None, check)
        n = base.sizes["v"]
        if columns:
            return result[:n], result[n:].reshape((len(key), 6, *result.shape[1:]))
        return result[..., :n], result[..., n:].reshape((*result.shape[:-1], len(key), 6))

    return call
