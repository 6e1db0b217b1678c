"""Functions of a robot at many states: `appell.sweep`."""

from appell.sweeps.run import Sweep, sweep
from appell.sweeps.states import States, grid_states, random_states, read_states

__all__ = ["States", "Sweep", "grid_states", "random_states", "read_states", "sweep"]
