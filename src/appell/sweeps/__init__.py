"""Functions over many states and simulations over many draws: on one machine or many, into stores that can be continued."""

from appell.sweeps.make_states import grid_states as grid_states
from appell.sweeps.make_states import random_states as random_states
from appell.sweeps.make_states import sobol_states as sobol_states
from appell.sweeps.monte_carlo import monte_carlo as monte_carlo
from appell.sweeps.options import Execution as Execution
from appell.sweeps.options import Labels as Labels
from appell.sweeps.options import Storage as Storage
from appell.sweeps.read import read_states as read_states
from appell.sweeps.result import Sweep as Sweep
from appell.sweeps.states import States as States
from appell.sweeps.study import MonteCarlo as MonteCarlo
from appell.sweeps.sweep import sweep as sweep
