"""Inverse kinematics: all eight configurations of the PUMA for one pose, and a robot without closed form."""

import numpy as np

import appell

puma = appell.load("puma560")
pose = puma.pose([0.4, -1.0, 2.8, 0.3, 0.8, 0.2], "link6")
solution = appell.inverse_kinematics(puma, pose, branch="all")
for branch, q, status in zip(solution.branch, solution.q, solution.status, strict=True):
    print(f"{branch:22} {status}  {np.degrees(q).round(1)}")
print(f"largest difference from the pose: {np.abs(puma.pose(solution.q, 'link6') - pose).max():.1e}")

# Seven joints: no closed form, so damped least squares, for a hundred poses at once.
chain = appell.robots.random_chain(7, seed=1)
print("why no closed form:", appell.ik.why_not_closed_form(chain))
rng = np.random.default_rng(0)
poses = chain.pose(np.array([chain.random_configuration(rng) for _ in range(100)]), chain.body_names[-1])
solution = appell.inverse_kinematics(chain, poses, chain.body_names[-1])
print(solution, f"in {solution.iterations.mean():.0f} steps on average, errors below {solution.error.max():.0e}")
