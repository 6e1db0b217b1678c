"""The agile wrist of Abedloo 2014: torques along a motion, all assembly modes at one set of angles, a map of its workspace.

    python examples/wrist.py

Writes `wrist_workspace.png` if matplotlib is installed.
"""

from __future__ import annotations

import numpy as np

import appell


def main() -> None:
    wrist = appell.robots.agile_wrist(platform_com=(0.0, 0.0, 0.05))
    print(wrist)

    t = np.linspace(0.0, 4.0, 401)[:, None]
    amplitude, frequency = np.radians([10.0, 30.0, 20.0]), np.pi * np.array([1.0, 0.5, 1.5])
    q = amplitude * np.sin(frequency * t)
    qd = amplitude * frequency * np.cos(frequency * t)
    qdd = -(frequency**2) * q
    tau = wrist.inverse_dynamics(q, qd, qdd)
    print(f"largest torques {np.abs(tau).max(axis=0).round(3)} N m along {len(t)} states")

    theta = wrist.joint_angles(q[100])[list(wrist.actuated)]
    print(f"at actuator angles {np.degrees(theta).round(1)} deg the orientations of the platform are")
    for orientation, working_modes in wrist.forward_kinematics(theta):
        print(f"  {np.degrees(orientation).round(1)} deg, legs {' '.join(working_modes)}")

    print(
        "status of three configurations:",
        wrist.singularity([[0.0, 0.0, 0.0], [0.0, 0.0, -1.5], [0.3, np.pi / 2, 0.1]]).status,
    )
    try:
        wrist.forward_dynamics([0.0, 0.0, -1.5], [0.0] * 3, [0.0] * 3)
    except appell.errors.LoopClosureError as error:
        print(error)

    try:
        wrist.workspace_map(span=(-1.7, 1.7), points=201).plot("wrist_workspace.png")
    except appell.AppellError as error:
        print(error)


if __name__ == "__main__":
    main()
