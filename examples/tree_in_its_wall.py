"""Free motion and impacts of Shafei and Shafei 2018: a tree of ten rods falls inside a circle.

    python examples/tree_in_its_wall.py [restitution]

Prints every impact and writes `tree_in_its_wall.png` (if matplotlib is installed) and `tree_in_its_wall.npz`.
"""

from __future__ import annotations

import sys

import numpy as np

import appell


def main() -> None:
    restitution = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    tree = appell.load("shafei_tree")
    wall = appell.surfaces.Circle(radius=2.5)
    motion = appell.simulate(
        tree,
        *tree.initial_state,
        duration=1.5,
        surfaces=[wall],
        contact=appell.ContactOptions(restitution=restitution),
        method=appell.Integration(max_step=0.01),
    )
    print(motion)
    for impact in motion.impacts:
        shares = ", ".join(
            f"{point} {impulse:.3f} N s" for point, impulse in zip(impact.points, impact.impulses, strict=True)
        )
        lost = impact.energy_before - impact.energy_after
        print(f"  {impact.time:.6f} s  {np.degrees(impact.incidence[0]):6.2f} deg  {shares}  ({lost:.3g} J lost)")
    for contact in motion.contacts:
        print(f"  {contact.point} stays on the circle from {contact.start:.6f} s to {contact.end:.6f} s")
    motion.save("tree_in_its_wall.npz")
    try:
        motion.plot("tree_in_its_wall.png")
    except appell.AppellError as error:
        print(error)


if __name__ == "__main__":
    main()
