"""A Stewart platform: leg forces along a motion, what the joints carry, and ten seconds on springs with all loops closed.

    python examples/stewart_platform.py

Writes `stewart_legs.png` if matplotlib is installed.
"""

from __future__ import annotations

import numpy as np

import appell


def main() -> None:
    robot = appell.load("stewart")
    print(robot)

    t = np.linspace(0.0, 4.0, 401)
    w, heave = 2 * np.pi / 4.0, 0.2
    still = np.zeros_like(t)
    pose = np.column_stack([still, still, 2.0 + heave * np.sin(w * t), still, still, still, still + 1.0])
    q = robot.solve_loop_closure({"platform": pose}).q  # all 25 coordinates: plate, feet and lengths of the legs
    twist, rate = np.zeros((len(t), 6)), np.zeros((len(t), 6))
    twist[:, 2], rate[:, 2] = heave * w * np.cos(w * t), -heave * w**2 * np.sin(w * t)
    legs = robot.inverse_dynamics(q, twist, rate)
    print(f"leg forces from {legs.min() / 1e3:.2f} to {legs.max() / 1e3:.2f} kN while it heaves")
    ball = robot.constraint_forces(q[0], twist[0], legs[0])["head1"]
    print(f"the first ball joint carries {np.linalg.norm(ball[:3]) / 1e3:.2f} kN")

    tilted = robot.solve_loop_closure({"platform": [0.0, 0.0, 2.0, np.sin(0.1), 0.0, 0.0, np.cos(0.1)]}).q
    lengths = [robot.spanning_tree.first_coordinates[name][0] for name in robot.actuated]
    rest, hold = q[0][lengths], legs[0]

    def springs(time, q, qd):
        return hold - 3e4 * (q[lengths] - rest)

    motion = appell.simulate(robot, tilted, np.zeros(6), 10.0, tau=springs, t_eval=0.01)
    lost = np.ptp(motion.energy - motion.work.actuators) / np.ptp(motion.energy)
    print(f"on springs: loops open by {robot.closure_error(motion.q).max():.1e} m, energy off by {lost:.0e} of it")

    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    _, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(motion.t, motion.q[:, lengths], lw=1, label=robot.actuated)
    axes.set(xlabel="time [s]", ylabel="length of a leg [m]", xlim=(0, 4))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    plt.savefig("stewart_legs.png", dpi=150)


if __name__ == "__main__":
    main()
