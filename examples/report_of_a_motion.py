"""A motion as one HTML page: table, picture, and the versions it was made with."""

import numpy as np

import appell
from appell.report import Picture, Report
from appell.table import Table

robot = appell.load("puma560")
motion = appell.simulate(robot, q0=[0.0, -1.0, 1.2, 0.0, 0.4, 0.0], qd0=[0.0] * 6, duration=0.6)
ranges = np.ptp(motion.q, axis=0).tolist()
report = Report(
    "A PUMA falls",
    notes=(f"Energy changes by {np.ptp(motion.energy):.1e} J.",),
    tables=(
        Table("How far its joints move", ("joint", "range [rad]"), tuple(zip(robot.joint_names, ranges, strict=True))),
    ),
    pictures=(Picture.from_drawing(motion.plot, "Coordinates, speeds and energy"),),
)
print("written:", report.write("fall.html"))
