"""Identification of robot parameters from recorded motion, with their uncertainty (docs/theory/identification.md).

The functions are `appell.identify`, `appell.base_parameters` and `appell.excitation`; this package has their option types.
"""

from appell.deprecation import renamed_names
from appell.identification.excitation import MotionLimits
from appell.identification.options import Estimator, Filtering, Holdout, Transmission
from appell.robot.regressor_terms import Coulomb, Coupling, CustomTerm, Offset, RegressorTerm, Rotor, Viscous

__all__ = [
    "Coulomb", "Coupling", "CustomTerm", "Estimator", "Filtering", "Holdout", "MotionLimits", "Offset", "RegressorTerm",
    "Rotor", "Transmission", "Viscous",
]  # fmt: skip

__getattr__ = renamed_names(
    __name__,
    {"Block": "appell.robot.regressor_terms:RegressorTerm", "Columns": "appell.robot.regressor_terms:CustomTerm"},
)
