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


def identified_robot(robot: Robot, blocks: Sequence[RegressorTerm], parameters: np.ndarray) -> Robot:
    """The robot with these parameters: links, rotors and friction; offsets and columns of one's own have no place in it.

    What is fixed to a moving body gives its mass to that body.

    Raises:
        IdentificationError: a link with these parameters cannot exist.
    """
    links = robot.tree.links
    ten = parameters[: 10 * len(links)].reshape(-1, 10)
    impossible = [link.body for link, ok in zip(links, is_consistent(ten), strict=True) if not ok]
    if impossible:
        raise IdentificationError(
            f"no body has the parameters found for {', '.join(impossible)}: their pseudo-inertias are not positive definite. "
            "Motion and torque tell combinations only; identify with physical=True to get links that exist."
        )
    own = {link.body: body_of(robot.body(link.body), values) for link, values in zip(links, ten, strict=True)}
    moving = {name for name, frame in robot.tree.frames.items() if frame.link >= 0}
    bodies = tuple(own.get(body.name, _massless(body) if body.name in moving else body) for body in robot.bodies)
    return replace(robot, bodies=bodies, joints=_joints(robot, blocks, parameters[10 * len(links) :]))


def body_of(body: Body, values: np.ndarray) -> Body:
    """A body with ten parameters at its origin."""
    m, *first = (float(x) for x in values[:4])
    com = np.array(first) / m
    xx, xy, yy, xz, yz, zz = values[4:]
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (com @ com * np.eye(3) - np.outer(com, com))
    inertia = tuple(float(central[i, j]) for i in range(3) for j in range(i, 3))
    return replace(body, mass=m, com=tuple(float(x) for x in com), inertia=inertia)


def _massless(body: Body) -> Body:
    return replace(body, mass=0.0, com=(0.0, 0.0, 0.0), inertia=(0.0,) * 6)


def _joints(robot: Robot, blocks: Sequence[RegressorTerm], values: np.ndarray) -> tuple[Joint, ...]:
    """Joints with the rotors and the friction of the blocks that have a place in a description."""
    found: dict[type, np.ndarray] = {}
    for block in blocks:
        size = len(block.names(robot))
        found[type(block)], values = values[:size], values[size:]
    joints = []
    for joint in robot.joints:
        if joint.name in robot.first_coordinates:
            k = robot.first_coordinates[joint.name][1]
            changes: dict[str, float] = {}
            if Rotor in found:
                changes["rotor_inertia"] = float(found[Rotor][k]) / joint.gear_ratio**2
            if Viscous in found:
                changes["damping"] = max(float(found[Viscous][k]), 0.0)
            if Coulomb in found:
                changes["friction"] = max(float(found[Coulomb][k]), 0.0)
            joint = replace(joint, **changes)
        joints.append(joint)
    return tuple(joints)
