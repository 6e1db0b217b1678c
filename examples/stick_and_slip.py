"""An arm with dry friction under slowly varying torques: joints stick and slip, with the energy balance.

    python examples/stick_and_slip.py

Writes `stick_and_slip.png` if matplotlib is installed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import appell


def main() -> None:
    arm = appell.load("planar2r")
    arm = replace(arm, joints=tuple(replace(joint, friction=1.5, damping=0.2) for joint in arm.joints))

    def torques(t, q, qd):
        """Gravity compensation plus a slow sine at the elbow."""
        return arm.gravity(q) + np.array([0.0, 2.0 * np.sin(2.0 * t)])

    def elbow_turns(t, q, qd):
        return qd[1]

    motion = appell.simulate(arm, [0.3, 0.5], [0.0, 0.0], 8.0, tau=torques, events=[elbow_turns], t_eval=0.01)
    still = (motion.qd == 0.0).mean(axis=0)
    for name, share, end in zip(motion.joint_names, still, motion.q[-1], strict=True):
        print(f"{name}: at rest for {share:.0%} of the time, ends at {end:.4f} rad")
    print(
        f"work of the actuators {motion.work.actuators[-1]:.4f} J, lost in the joints {-motion.work.passive[-1]:.4f} J"
    )
    print(f"energy unaccounted for: {np.abs(motion.balance).max():.1e} J")
    try:
        motion.plot("stick_and_slip.png")
    except appell.AppellError as error:
        print(error)


if __name__ == "__main__":
    main()
