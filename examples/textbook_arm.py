"""The equations of the planar arm with two joints, as the textbooks have them, and the same in LaTeX."""

import appell

arm = appell.equations(appell.load("planar2r"), symbols=True)
print("M =", arm.M)
print("C qd =", arm.velocity_forces)
print("g =", arm.gravity)
print(arm.latex())
