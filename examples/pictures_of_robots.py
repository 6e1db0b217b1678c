"""Pictures of robots, trees and closed loops, without a browser; `appell.show(robot)` serves the same on a page."""

import appell

for name in ("puma560", "delta", "stewart", "agile_wrist"):
    appell.draw(appell.load(name), f"{name}.png")
    print(f"written: {name}.png")

# A motion: earlier moments are fainter, the line is the way of the point that moves furthest.
arm = appell.load("planar2r")
motion = appell.simulate(arm, q0=[0.9, -0.6], qd0=[0.0, 0.0], duration=0.45)
appell.draw(arm, "falling_arm.png", motion=motion)
print("written: falling_arm.png")
