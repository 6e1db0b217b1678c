"""Motion over time: `appell.simulate` and the `Trajectory` it gives."""
