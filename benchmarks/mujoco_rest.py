"""Robots that drop on their feet and stand, held by a PD law, here and in MuJoCo: resting postures and contact forces.

python benchmarks/mujoco_rest.py FOLDER [ROBOTS...] [--method moreau] [--duration 3]

FOLDER has the URDF files. The feet are spheres, the same ones in both programs, dropped from 2 cm; a PD law, as springs and
dampers at the joints, holds the posture. MuJoCo has elliptic cones, steps of 0.5 ms, contacts with a time constant of 8 ms and
its solver against slip. One line per robot: largest distance of the base and of a foot between both [mm], largest difference of
a joint [mrad], largest difference of the normal forces of a foot as part of the largest force, velocities left, processor times.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.spatial.transform import Rotation

import appell
from appell.model.body import Body

mujoco: Any = import_module("mujoco")
FRICTION, DROP, STEP = 0.8, 0.02, 5e-4


@dataclass(frozen=True)
class Stand:
    """How a robot stands: spheres under each foot, joint angles by the end of their names, gains."""

    feet: Mapping[str, tuple[appell.Point, ...]]
    angles: Mapping[str, float]
    kp: float
    kd: float


class Rest(NamedTuple):
    """A state at rest: q, normal force of every foot [N], largest velocity, processor time [s]."""

    q: np.ndarray
    forces: np.ndarray
    velocity: float
    time: float


def _balls(bodies: str, radius: float, offset: tuple[float, float, float] = (0.0, 0.0, 0.0)):
    return {body: (appell.Point(body, offset, radius),) for body in bodies.split()}


def _soles(bodies: str, x: tuple[float, float], y: float, z: float):
    return {body: tuple(appell.Point(body, (a, b, z), 0.005) for a in x for b in (-y, y)) for body in bodies.split()}


STANDS = {
    "go2": Stand(_balls("FL_foot FR_foot RL_foot RR_foot", 0.022), {"thigh_joint": 0.9, "calf_joint": -1.8}, 100.0, 5.0),
    "solo12": Stand(_balls("FL_FOOT FR_FOOT HL_FOOT HR_FOOT", 0.015), {"HFE": 0.8, "KFE": -1.6}, 10.0, 0.5),
    "anymal_c": Stand(
        _balls("LF_FOOT RF_FOOT LH_FOOT RH_FOOT", 0.03),
        {"LF_HFE": 0.4, "LF_KFE": -0.8, "RF_HFE": 0.4, "RF_KFE": -0.8,
         "LH_HFE": -0.4, "LH_KFE": 0.8, "RH_HFE": -0.4, "RH_KFE": 0.8},
        400.0, 30.0,
    ),
    "hyq": Stand(
        _balls("lf_foot rf_foot lh_foot rh_foot", 0.02),
        {"lf_hfe_joint": 0.75, "lf_kfe_joint": -1.5, "rf_hfe_joint": 0.75, "rf_kfe_joint": -1.5, "lh_hfe_joint": -0.75,
         "lh_kfe_joint": 1.5, "rh_hfe_joint": -0.75, "rh_kfe_joint": 1.5},
        1000.0, 80.0,
    ),
    "g1": Stand(
        _soles("left_ankle_roll_link right_ankle_roll_link", (-0.05, 0.12), 0.03, -0.03),
        {"hip_pitch_joint": -0.3, "knee_joint": 0.6, "ankle_pitch_joint": -0.3}, 500.0, 30.0,
    ),
    "talos_reduced": Stand(
        _soles("left_sole_link right_sole_link", (-0.1, 0.1), 0.06, 0.0),
        {"leg_left_3_joint": -0.4, "leg_left_4_joint": 0.8, "leg_left_5_joint": -0.4,
         "leg_right_3_joint": -0.4, "leg_right_4_joint": 0.8, "leg_right_5_joint": -0.4}, 3000.0, 200.0,
    ),
}  # fmt: skip


def numbers(values) -> str:
    return quoteattr(" ".join(repr(float(value)) for value in values))


def body_text(robot: appell.Robot, body: Body, points: list[appell.Point], place: str, joint: str) -> str:
    """A body and those below it in MJCF, with the spheres of the feet."""
    inertial = ""
    if body.mass:
        Ixx, Ixy, Ixz, Iyy, Iyz, Izz = body.inertia
        full = numbers((Ixx, Iyy, Izz, Ixy, Ixz, Iyz))
        inertial = f'<inertial pos={numbers(body.com)} mass="{body.mass!r}" fullinertia={full}/>'
    spheres = [
        f'<geom name={quoteattr(str(p))} size="{p.radius}" pos={numbers(p.offset)} mass="0"/>'
        for p in points
        if p.body == body.name
    ]
    below = []
    for child in (each for each in robot.joints if each.parent == body.name):
        quaternion = Rotation.from_euler("xyz", child.origin.rpy).as_quat()[[3, 0, 1, 2]]
        own, name = "", quoteattr(child.name)
        if child.kind == "floating":
            own = f"<freejoint name={name}/>"
        elif child.kind != "fixed":
            kind = "slide" if child.kind == "prismatic" else "hinge"
            own = (
                f'<joint name={name} type="{kind}" axis={numbers(child.axis)} armature="{child.armature!r}" '
                f'damping="{child.damping!r}" stiffness="{child.stiffness!r}" springref="{child.springref!r}"/>'
            )
        at = f"pos={numbers(child.origin.xyz)} quat={numbers(quaternion)}"
        below.append(body_text(robot, robot.body(child.child), points, at, own))
    return f"<body name={quoteattr(body.name)} {place}>{joint}{inertial}{''.join(spheres)}{''.join(below)}</body>"


def peer_of(robot: appell.Robot, points: list[appell.Point]) -> Any:
    """The robot in MuJoCo, with spheres as feet on a floor."""
    root = next(joint.child for joint in robot.joints if joint.kind == "floating")
    text = f"""<mujoco><compiler angle="radian" balanceinertia="true" boundmass="1e-9" boundinertia="1e-9"/>
        <option timestep="{STEP}" cone="elliptic" impratio="100" noslip_iterations="20"/>
        <default><geom friction="{FRICTION} 0 0" condim="3" solref="0.008 1"/></default>
        <worldbody><geom name="floor" type="plane" size="5 5 0.1"/>
        {body_text(robot, robot.body(root), points, "", '<freejoint name="free"/>')}</worldbody></mujoco>"""
    return mujoco.MjModel.from_xml_string(text)


def standing(robot: appell.Robot, stand: Stand) -> np.ndarray:
    """The posture, with its lowest foot at the height of the drop."""
    q = robot.neutral_configuration()
    for name, (first, _) in robot.first_coordinates.items():
        for ending, angle in stand.angles.items():
            if name.endswith(ending):
                q[first] = angle
    q[2] = DROP - min(float(_centre(robot, q, p)[2]) - p.radius for foot in stand.feet.values() for p in foot)
    return q


def _centre(robot: appell.Robot, q: np.ndarray, point: appell.Point) -> np.ndarray:
    pose = robot.pose(q, point.body)
    return pose[:3, 3] + pose[:3, :3] @ point.offset


def held(robot: appell.Robot, stand: Stand, q: np.ndarray) -> appell.Robot:
    """The robot with a PD law towards q, as a spring and a damper at every joint."""
    rest = {name: float(q[first]) for name, (first, _) in robot.first_coordinates.items()}
    joints = (
        replace(joint, stiffness=stand.kp, springref=rest[joint.name], damping=stand.kd, friction=0.0)
        if joint in robot.moving_joints and joint.kind != "floating"
        else joint
        for joint in robot.joints
    )
    return replace(robot, joints=tuple(joints))


def own_rest(robot: appell.Robot, stand: Stand, q: np.ndarray, method: str, duration: float) -> Rest:
    """The robot at rest here."""
    points = [p for foot in stand.feet.values() for p in foot]
    contact, floor = appell.ContactOptions(points=points, restitution=0.0), appell.surfaces.Plane(friction=FRICTION)
    simulate: Callable = lambda end: appell.simulate(  # noqa: E731
        robot, q, np.zeros(robot.nv), end, surfaces=floor, contact=contact, method=method, t_eval=0.01
    )
    simulate(0.01)  # compiles
    start = time.process_time()
    motion = simulate(duration)
    forces = [sum(motion.contact_forces[str(p)][-1, 2] for p in foot) for foot in stand.feet.values()]
    return Rest(motion.q[-1], np.array(forces), float(np.abs(motion.qd[-1]).max()), time.process_time() - start)


def peer_rest(robot: appell.Robot, stand: Stand, q: np.ndarray, duration: float) -> Rest:
    """The robot at rest in MuJoCo."""
    points = {str(p): k for k, foot in enumerate(stand.feet.values()) for p in foot}
    model = peer_of(robot, [p for foot in stand.feet.values() for p in foot])
    data = mujoco.MjData(model)
    names = robot.joint_names[1:]
    places = [int(model.jnt_qposadr[model.joint(name).id]) for name in names]
    data.qpos[:7], data.qpos[places] = q[[0, 1, 2, 6, 3, 4, 5]], q[7:]
    start = time.process_time()
    for _ in range(round(duration / STEP)):
        mujoco.mj_step(model, data)
    spent = time.process_time() - start
    forces, force = np.zeros(len(stand.feet)), np.zeros(6)
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, force)
        geom = model.geom(max(data.contact[k].geom1, data.contact[k].geom2)).name
        forces[points[geom]] += force[0]
    found = np.concatenate([data.qpos[[0, 1, 2, 4, 5, 6, 3]], data.qpos[places]])
    return Rest(found, forces, float(np.abs(data.qvel).max()), spent)


def compare(robot: appell.Robot, stand: Stand, method: str, duration: float) -> dict[str, float]:
    """Differences of the states at rest."""
    q = standing(robot, stand)
    robot = held(robot, stand, q)
    own, peer = own_rest(robot, stand, q, method, duration), peer_rest(robot, stand, q, duration)
    points = [p for foot in stand.feet.values() for p in foot]
    feet = max(float(np.linalg.norm(_centre(robot, own.q, p) - _centre(robot, peer.q, p))) for p in points)
    return {
        "base": float(np.linalg.norm(own.q[:3] - peer.q[:3])), "feet": feet,
        "joints": float(np.abs(own.q[7:] - peer.q[7:]).max()),
        "forces": float(np.abs(own.forces - peer.forces).max() / peer.forces.max()),
        "weight": float(own.forces.sum() / (9.81 * sum(body.mass for body in robot.bodies))) - 1.0,
        "velocity": own.velocity, "peer_velocity": peer.velocity, "time": own.time, "peer_time": peer.time,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("robots", nargs="*", default=list(STANDS))
    parser.add_argument("--method", default="moreau")
    parser.add_argument("--duration", type=float, default=3.0)
    options = parser.parse_args()
    print("| robot | base [mm] | feet [mm] | joints [mrad] | foot forces | at rest to [m/s, rad/s] | CPU [s] |")
    print("|---|---|---|---|---|---|---|")
    for name in options.robots:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", appell.ModelWarning)
            robot = appell.load(options.folder / f"{name}.urdf", base="floating")
        found = compare(robot, STANDS[name], options.method, options.duration)
        print(
            f"| {name} | {1e3 * found['base']:.2f} | {1e3 * found['feet']:.2f} | {1e3 * found['joints']:.2f} | "
            f"{100 * found['forces']:.2f} % | {found['velocity']:.0e}, MuJoCo {found['peer_velocity']:.0e} | "
            f"{found['time']:.2f}, MuJoCo {found['peer_time']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
