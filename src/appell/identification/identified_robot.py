"""A robot with identified parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import IdentificationError
from appell.identification.pseudo_inertia import is_consistent
from appell.model.body import Body
from appell.model.joint import Joint
from appell.robot.regressor_terms import Coulomb, RegressorTerm, Rotor, Viscous

if TYPE_CHECKING:
    from appell.robot.robot import Robot


def identified_robot(robot: Robot, terms: Sequence[RegressorTerm], parameters: np.ndarray) -> Robot:
    """The robot with these parameters of links, rotors and friction; a description has no place for offsets and custom terms.

    The mass of bodies fixed to a moving body is part of that body.
    """
    links = robot.tree.links
    link_parameters = parameters[: 10 * len(links)].reshape(-1, 10)
    inconsistent = [link.body for link, ok in zip(links, is_consistent(link_parameters), strict=True) if not ok]
    if inconsistent:
        raise IdentificationError(
            f"the parameters of {', '.join(inconsistent)} are not physically consistent: their pseudo-inertias are not positive "
            "definite. Motion and torque determine combinations only; identify with physical=True to get consistent links."
        )
    moving = {name for name, frame in robot.tree.frames.items() if frame.link >= 0}
    bodies = {body.name: _massless(body) if body.name in moving else body for body in robot.bodies}
    for link, values in zip(links, link_parameters, strict=True):
        bodies[link.body] = _with_parameters(robot.body(link.body), values)
    return replace(robot, bodies=tuple(bodies.values()), joints=_joints(robot, terms, parameters[10 * len(links) :]))


def _with_parameters(body: Body, values: np.ndarray) -> Body:
    """A body with ten parameters at its origin."""
    m, *first = (float(x) for x in values[:4])
    com = np.array(first) / m
    xx, xy, yy, xz, yz, zz = values[4:]
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (com @ com * np.eye(3) - np.outer(com, com))
    inertia = tuple(float(central[i, j]) for i in range(3) for j in range(i, 3))
    return replace(body, mass=m, com=tuple(float(x) for x in com), inertia=inertia)


def _massless(body: Body) -> Body:
    return replace(body, mass=0.0, com=(0.0, 0.0, 0.0), inertia=(0.0,) * 6)


def _joints(robot: Robot, terms: Sequence[RegressorTerm], values: np.ndarray) -> tuple[Joint, ...]:
    """Joints with the rotor inertia and friction of the terms."""
    by_type: dict[type, np.ndarray] = {}
    for term in terms:
        size = len(term.names(robot))
        by_type[type(term)], values = values[:size], values[size:]
    joints = []
    for joint in robot.joints:
        changes: dict[str, float] = {}
        if joint.name in robot.first_coordinates:
            k = robot.first_coordinates[joint.name][1]
            if Rotor in by_type:
                changes["rotor_inertia"] = float(by_type[Rotor][k]) / joint.gear_ratio**2
            if Viscous in by_type:
                changes["damping"] = max(float(by_type[Viscous][k]), 0.0)
            if Coulomb in by_type:
                changes["friction"] = max(float(by_type[Coulomb][k]), 0.0)
        joints.append(replace(joint, **changes) if changes else joint)
    return tuple(joints)
