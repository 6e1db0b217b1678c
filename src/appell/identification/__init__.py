"""Identification: from recorded motion to the parameters of a robot, with their uncertainty (docs/theory/identification.md).

The functions are `appell.identify`, `appell.base_parameters` and `appell.excitation`; here is what they take.
"""

from appell.identification.transmission import Transmission
from appell.robot.columns import Block, Columns, Coulomb, Coupling, Offset, Rotor, Viscous

__all__ = ["Block", "Columns", "Coulomb", "Coupling", "Offset", "Rotor", "Transmission", "Viscous"]
