"""The robot with identified parameters, and what its URDF text has no place for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from appell.errors import IdentificationError
from appell.identification.physical import is_consistent
from appell.model.body import Body, inertia_entries
from appell.model.joint import Joint
from appell.model.pose import triple
from appell.robot.regressor_terms import Coulomb, RegressorTerm, Rotor, Viscous
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
    massless = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": (0.0,) * 6}
    bodies = {body.name: replace(body, **massless) if body.name in moving else body for body in robot.bodies}
    for link, values in zip(links, link_parameters, strict=True):
        bodies[link.body] = _with_parameters(robot.body(link.body), values)
    return replace(robot, bodies=tuple(bodies.values()), joints=_joints(robot, terms, parameters[10 * len(links) :]))


def _with_parameters(body: Body, values: np.ndarray) -> Body:
    """A body with ten parameters at its origin."""
    m, *first = (float(x) for x in values[:4])
    com = np.array(first) / m
    xx, xy, yy, xz, yz, zz = values[4:]
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (com @ com * np.eye(3) - np.outer(com, com))
    return replace(body, mass=m, com=triple(com), inertia=inertia_entries(central))


def _joints(robot: Robot, terms: Sequence[RegressorTerm], values: np.ndarray) -> tuple[Joint, ...]:
    """Joints with the rotor inertia and friction of the terms."""
    by_type: dict[type, np.ndarray] = {}
    for term in terms:
        size = len(term.names(robot))
        by_type[type(term)], values = values[:size], values[size:]
    fields = {"damping": Viscous, "friction": Coulomb, "rotor_inertia": Rotor}
    identified = [field for field, kind in fields.items() if kind in by_type]
    joints = {}
    for joint in robot.joints:
        own = robot.first_coordinates.get(joint.name)
        if joint.mimic is not None:  # its leader has the friction of both
            joints[joint.name] = replace(joint, **dict.fromkeys(identified, 0.0))
        elif own is None:
            joints[joint.name] = joint
        else:
            values_here = {field: max(float(by_type[fields[field]][own[1]]), 0.0) for field in identified}
            if "rotor_inertia" in values_here:
                values_here["rotor_inertia"] /= joint.gear_ratio**2
            joints[joint.name] = replace(joint, **values_here)
    return tuple(joints.values())


def urdf_comment(names: Sequence[str], parameters: np.ndarray, first: int) -> str:
    """A comment with the parameters from `first` on that are not damping or friction; empty if there are none."""
    values = zip(names[first:], parameters[first:], strict=True)
    kept = {name: value for name, value in values if name.partition("[")[0] not in ("fv", "fc")}
    lines = [f"  {name} = {value:.9g}".replace("--", "- -") for name, value in kept.items()]
    head = [
        "<!-- Identified parameters besides masses, damping and friction of this file. Ia are rotor inertias (armature),",
        "     which Pinocchio and MuJoCo take apart from URDF; forces are inverse dynamics + friction + these terms:",
    ]
    return "\n".join(["", *head, *lines, "-->", ""]) if lines else ""
