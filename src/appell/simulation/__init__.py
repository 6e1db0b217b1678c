"""Simulation over time: `appell.simulate` and the `Trajectory` it returns."""
